"""Published weights: where they are, which name is which, and how they become safetensors."""
