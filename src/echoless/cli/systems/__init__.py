"""Commands for the stores of other programs."""
