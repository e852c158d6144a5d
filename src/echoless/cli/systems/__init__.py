"""Commands of other programs, a module each."""
