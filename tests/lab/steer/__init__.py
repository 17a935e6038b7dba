"""Steerability: does a change of the config move what it names, and nothing else?"""
