"""Wishes in what a reader writes beside a rating: lines that ask for one change, and nothing else. Pure."""

from datetime import date

from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import Names, Wish


def wish_of_line(line: str, names: Names, today: date) -> Wish | None:
    """Return the wish of a line that asks for exactly one change; `None` if anything of it is open or more.

    `names` without items make a reading that tomorrow's articles do not change.
    """
    reading = wishes_read(line, names, today) if line.split() else None
    if reading is None or len(reading.wishes) != 1 or reading.question or reading.notes:
        return None
    return reading.wishes[0]
