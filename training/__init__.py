"""How the shipped pair model is made: from data to weights."""
