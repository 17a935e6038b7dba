"""Runs: requests and their queue, execution, workers, schedule, texts."""
