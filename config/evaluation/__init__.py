"""Driving the real services through a simulated world, in databases that are thrown away afterwards."""
