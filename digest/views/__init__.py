"""The reader's pages, one module for each part of the paper."""
