"""Runs, presets and grids: the one place that names adapters."""
