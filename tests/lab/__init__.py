"""Measurements: does Tidings help, how fast is it, and which failures does it survive. `python -m tests.lab`
lists them."""
