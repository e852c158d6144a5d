"""What hiding by echoless does to real programs, each in an environment of its own."""
