"""Judges and explains single pairs."""
