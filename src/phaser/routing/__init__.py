"""What a training step rehearses: prototypes, interference priority, Boltzmann, samplers."""
