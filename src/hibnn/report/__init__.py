"""Pictures and tables from results."""
