"""Fits the decision to a user's own answers."""
