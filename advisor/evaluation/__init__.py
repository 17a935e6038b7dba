"""Measuring the advisor against a world whose truth is known: the world, its readers, rules to beat, metrics.

Pure: arrays and ranking's arithmetic, no database. Nothing that a model drives may import it.
"""
