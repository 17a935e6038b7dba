"""Runs: request, queue, lease, execution, record, schedule."""
