"""Notes of shodh-memory: `shodh:///path`, the folder of one project."""
