"""Vectors: encoders, the cache of what they made, and the similarity self-join."""
