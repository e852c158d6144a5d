"""Joins of texts by shared words, shingles and hashes."""
