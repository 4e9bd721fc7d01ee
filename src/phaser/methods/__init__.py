"""Replay methods by name: what to keep, times what to draw, times what to penalise."""
