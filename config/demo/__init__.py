"""The demo: a fictional world of feeds, and readers with tastes.

`world` reads the written items and renders feed files. `people` computes ratings. `seed` fills the database.
The command `demo` shows the main job.
"""
