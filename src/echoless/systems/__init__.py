"""What echoless does for other programs, on their own stores."""
