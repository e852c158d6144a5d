"""Memories in a collection of Chroma: `chroma:///path#collection`."""
