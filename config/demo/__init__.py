"""The demo: a fictional world of feeds, and readers with tastes.

`world` reads the written items and renders feed files, `people` decides the ratings, `seed` fills the
database; the command `demo` does the main job and prints it.
"""
