"""Stages 3 and 4 of the road: groups of memories that say the same, and the survivor of each."""
