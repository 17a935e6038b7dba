"""Articles: bodies of items made ready to be read here, and the pictures in them."""
