"""Candidate generation as relational steps over files, for partitions beyond memory."""
