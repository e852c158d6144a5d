"""Folders and files of Markdown as memories.

`markdown:///path/to/folder` or `markdown:///NOTES.md`. Which files are read, and what in them is a
memory, is a preset (`presets.py`), recognised by content and place.
"""
