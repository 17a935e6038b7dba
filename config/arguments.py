"""What commands of this room take on their command line."""

from argparse import ArgumentTypeError
from collections.abc import Callable


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """An argparse type: a whole number of `low` or more, up to `high` where that is given; anything else is a
    usage error (exit code 2)."""
    span = f"of {low} or more" if high is None else f"from {low} to {high}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise ArgumentTypeError(f"“{text}” is not a whole number {span}.")
        return value

    return read
