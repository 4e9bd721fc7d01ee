"""The tiny policy: small enough to be trained on a CPU in a minute."""
