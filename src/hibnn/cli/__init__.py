"""The command line: one module a command, what a person sees while it works, and nothing else imports from here."""
