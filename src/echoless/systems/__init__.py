"""What echoless does for other programs' memories: each its own texts over the one engine."""
