"""Benchmarks of jobs over many processes."""
