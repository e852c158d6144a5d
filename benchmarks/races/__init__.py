"""Two commands at once: honest exit codes, and a store in order."""
