"""Meta-World: tasks, scripted experts, cameras and the simulator."""
