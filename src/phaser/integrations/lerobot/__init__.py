"""LeRobot's own training script with rehearsal: `phaser lerobot-train`.

One file, `script.py`, knows LeRobot; everything else works on plain values and runs without it.
"""
