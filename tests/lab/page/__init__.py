"""The effect of thumbs on the first page: readers of real feeds with known tastes, page by page."""
