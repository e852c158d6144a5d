"""Fuzzing: thousands of damaged, odd and hostile files through the doors that users have.

`python -m benchmarks.fuzz --inputs 10000 --seed 1` drives them; every input follows from its
target, the seed and its number. What is found is made small and kept in `tests/corpus`.
"""
