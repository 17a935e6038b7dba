"""A day in production: the real processes of the Procfile, active readers, and failures of servers.

`tests.lab load day` starts them on this machine with their own PostgreSQL database and Redis. It kills a
worker, kills Redis and deploys another version. Then it checks whether a reader noticed, and whether
`/metrics` did.
"""
