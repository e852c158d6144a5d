"""Collections of Qdrant as stores: any collection with a map, and those of mem0."""
