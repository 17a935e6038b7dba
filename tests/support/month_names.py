"""`python -m tests.support.month_names`: write the names of months and weekdays that dates of feeds may have.

They come from CLDR, by babel. A name that means different months in two languages is left out, except English
ones, because the formats themselves use them. The first three and four letters of a name are added if they
mean one month only, because most programs write those.
"""

import re
import unicodedata
from pathlib import Path

from babel import Locale

FILE = Path("digest/feeds/month_names.toml")
LANGUAGES = """
en de fr es it pt nl sv da nb fi is et lv lt pl cs sk hu ro bg hr sr sl mk sq el ru uk be ka hy tr az uz kk he
ar fa ur hi bn mr ta te gu ml pa si id ms fil vi sw af ca eu gl cy ga zh zh_Hant ja ko
""".split()  # noqa: SIM905 - a list of one a line is no better
HEAD = """# Written by `python -m tests.support.month_names` from CLDR; do not edit.
# Names of months by their numbers, and of weekdays, as digest/feeds/dates.py reads them.
"""


def main() -> None:
    """Write the table."""
    FILE.write_text(table(), encoding="utf-8")


def table() -> str:
    """Return the table as TOML."""

    months, weekdays = names_of_months(), sorted(names_of_weekdays())
    rows = [
        f'"{month}" = {_list(sorted(name for name, one in months.items() if one == month))}'
        for month in range(1, 13)
    ]
    return "\n".join([HEAD, "[months]", *rows, "", "[weekdays]", f"names = {_list(weekdays)}", ""])


def _list(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def names_of_months() -> dict[str, int]:
    """Return the month of each name that means one alone; English comes first."""
    found: dict[str, int] = {}
    doubtful: set[str] = set()
    for language in LANGUAGES:
        own = _of_language(Locale.parse(language).months)
        for name, month in own.items():
            if found.setdefault(name, month) != month and name not in ENGLISH:
                doubtful.add(name)
    return {name: month for name, month in found.items() if name not in doubtful}


def names_of_weekdays() -> set[str]:
    """Return the names and abbreviations of weekdays."""
    return {
        name
        for language in LANGUAGES
        for name in _names(Locale.parse(language).days, start=0, widths=("wide", "abbreviated", "short"))
    }


def _of_language(forms: object) -> dict[str, int]:
    """Return the months of one language by name, with the beginnings that say one month."""
    months = _names(forms, start=1, widths=("wide", "abbreviated"))
    starts: dict[str, set[int]] = {}
    for name, month in months.items():
        for chars in (3, 4):
            if len(name) > chars and " " not in name:
                starts.setdefault(name[:chars], set()).add(month)
    return {start: next(iter(some)) for start, some in starts.items() if len(some) == 1} | months


def _names(forms: object, *, start: int, widths: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for context in ("format", "stand-alone"):
        for width in widths:
            for number, name in forms[context].get(width, {}).items():
                folded = folded_name(name)
                # Names with figures in them ("11. Monat") are read as no name.
                if (len(folded) > 1 or not folded.isascii()) and re.fullmatch(
                    r"[^\W\d_](?:[\w'’ʻ·]|\u200c)*", folded
                ):
                    found[folded] = int(number)
    return found


def folded_name(name: str) -> str:
    """Return a name as it is compared: composed, in lower case, without the point of an abbreviation."""
    return unicodedata.normalize("NFC", name).casefold().strip(". ")


ENGLISH = frozenset(_of_language(Locale.parse("en").months))

if __name__ == "__main__":
    main()
