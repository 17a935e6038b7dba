"""The benchmarks, each with its own command."""
