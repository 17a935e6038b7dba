"""Faults made on purpose: `make faults`. These are scripts, no part of the test suite."""
