"""Tests tried against mutants of the code."""
