"""What a run on a real backbone will need, computed without weights and without torch."""
