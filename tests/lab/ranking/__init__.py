"""The order of items against what readers of open histories chose later."""
