"""What deduplication does to memories, on public corpora: see `docs/benchmark.md`."""
