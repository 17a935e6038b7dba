"""The pulse of workers: a sign of life every few seconds, even during long work. A hung one has none."""
