"""Read demonstrations (LeRobot v2.x and v3.0, LIBERO and robomimic HDF5), write LeRobot v3.0."""
