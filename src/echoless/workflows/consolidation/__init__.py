"""Offers pairs to unite, and has a language model condense groups."""
