"""Joins of vectors by cosine similarity: exact, by hashing, and the closest of each."""
