"""What thumbs do for the first page: readers of real feeds with known tastes, page by page."""
