"""Other programs' memories: for each its own commands, on the one engine."""
