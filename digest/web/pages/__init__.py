"""Pages for readers: views, forms, and the data that templates show."""
