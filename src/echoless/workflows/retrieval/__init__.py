"""Searches a store, and finds what is near to a text."""
