"""Find sub-skills: action signals, candidate boundaries, Auto-PC, annotated ratios."""
