"""Recall: deduplication, search and export over its own database.

Profile `recall` and adapter `stores/recall` do the work; here is what is the system's own: where
the file lies, what its report counts, how its searches rank, what its exports look like.
"""
