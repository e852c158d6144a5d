"""Ports to models: encoders of texts and language models."""
