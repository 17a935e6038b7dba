"""A day in the life: the Procfile's processes for real, readers at work, and what happens to servers.

`tests.lab load day` starts them on this machine, beside a PostgreSQL and a Redis of their own; kills a
worker, kills Redis, deploys another version; and looks whether anybody noticed, and whether `/metrics` did.
"""
