"""Measurements: does Tidings help, how fast is it, what does it survive. `python -m tests.lab` lists them."""
