"""Reports how much of a store is repetition, and reads only what changed."""
