"""LIBERO (Liu et al., 2023), the paper's benchmark: Goal, Long, Spatial and Object."""
