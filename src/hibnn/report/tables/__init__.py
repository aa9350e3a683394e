"""Tables: values made from results, written as Markdown, LaTeX or CSV."""
