"""Read and write demonstrations: the LeRobot v3.0 layout, with images inside parquet."""
