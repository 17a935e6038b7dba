"""Helpers for tests that read data: small tables as the data sets have them."""

import gzip
from collections.abc import Iterable
from pathlib import Path


def write(path: Path, head: str, rows: Iterable[str]) -> None:
    """Write a gzipped CSV file of these lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join([head, *rows]) + "\n")
