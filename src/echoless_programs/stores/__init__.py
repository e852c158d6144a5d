"""Stores in the files of these programs."""
