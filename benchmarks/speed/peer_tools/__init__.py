"""What a user would take instead, each as a script of its own that needs nothing of echoless."""
