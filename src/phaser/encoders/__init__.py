"""Frozen encoders of language and images, and the cache of what they computed."""
