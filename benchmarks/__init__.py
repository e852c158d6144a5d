"""Measurements: quality of the decisions and speed. Run with `python -m benchmarks.<name>`."""
