"""Policies of LeRobot as policies of ours: ACT, Diffusion, SmolVLA, pi0 and the like."""
