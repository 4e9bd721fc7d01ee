"""Conformance checks: run them on your own rule, segmenter, suite or policy."""
