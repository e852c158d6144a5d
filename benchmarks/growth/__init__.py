"""How the time of everything that reads a text grows with the length of the text."""
