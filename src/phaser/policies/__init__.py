"""Policies: adapters between frames and what a robot does."""
