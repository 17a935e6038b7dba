"""The demo: a fictional world of feeds, readers with tastes, and a walkthrough in the terminal.

`world` reads the written items and renders feed files, `people` decides the ratings, `seed` fills the
database, `walkthrough` does the main job and prints it.
"""
