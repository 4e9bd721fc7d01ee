"""The memory for a training loop that we did not write: any dataset in, the same samples back."""
