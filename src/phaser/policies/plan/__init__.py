"""The needs of a run on a real backbone, computed without weights and without torch."""
