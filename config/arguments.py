"""What commands of this room take on their command line."""

from argparse import ArgumentTypeError
from collections.abc import Callable


def whole_number(low: int) -> Callable[[str], int]:
    """An argparse type: a whole number of `low` or more; anything else is a usage error (exit code 2)."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise ArgumentTypeError(f"“{text}” is not a whole number of {low} or more.")
        return value

    return read
