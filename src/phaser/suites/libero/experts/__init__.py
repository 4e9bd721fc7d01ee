"""Scripted experts for LIBERO: they look at the simulator itself and compose a few moves."""
