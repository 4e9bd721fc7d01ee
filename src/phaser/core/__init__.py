"""The words of the paper, the ports between layers, named random streams and the error family."""
