"""Stage 1 of the road: which pairs of memories to compare."""
