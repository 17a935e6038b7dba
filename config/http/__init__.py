"""HTTP: middleware and the Redis cache."""
