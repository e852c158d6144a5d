"""Finds the memory stores of this user and of a project, without reading their memories."""
