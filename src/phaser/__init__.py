"""PHASER: phase-aware experience replay for robot policies that learn task after task."""

__version__ = "0.1.0"
