"""The library's jobs: each puts stages of the road together."""
