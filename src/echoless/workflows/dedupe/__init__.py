"""Finds duplicates in a store: the stages of the road in their order."""
