"""Commands: each module is one command, started by its console script."""
