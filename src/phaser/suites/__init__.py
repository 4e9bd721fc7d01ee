"""Suites: tasks with demonstrations and a simulator. Meta-World is the embedded default."""
