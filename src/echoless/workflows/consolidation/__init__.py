"""Unites two memories, and checks that a new text keeps the facts of those it stands for."""
