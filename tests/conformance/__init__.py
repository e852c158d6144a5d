"""What stores, those that hide, and detectors have to do, and tools for tests of it."""
