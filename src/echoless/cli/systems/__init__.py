"""Commands for other programs' memories: `echoless SYSTEM COMMAND`."""
