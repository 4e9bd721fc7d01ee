"""Rollouts, the success matrix R[j, i], metrics, intervals and per-phase losses."""
