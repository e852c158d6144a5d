"""What programs with a memory of their own ask of echoless: hooks of Claude Code."""
