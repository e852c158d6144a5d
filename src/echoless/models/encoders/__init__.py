"""Encoders of texts, the cache of their vectors, and thresholds of models."""
