"""Benchmarks of jobs over many processes, and of one huge namespace."""
