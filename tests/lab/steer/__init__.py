"""Steerability: does a change of the config move the items it names, and no others?"""
