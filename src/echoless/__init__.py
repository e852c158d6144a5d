"""echoless."""
