"""Texts that earlier versions stored, with the words of today's pages. Pure.

A text for readers is stored in English and shown for years. Whoever changes the words of one adds the old
ones here.
"""

import re
from functools import cache

# Former texts, with fields in braces, by today's.
_FORMER = {
    "You accepted this and took that back at once.": "You said yes and took that back at once.",
    "You turned this down and took that back.": "You said no and took that back.",
    "Your ratings support only kinds of changes that you turned down or undid every time.": (
        "Your ratings support only kinds of changes that you answered with no or undid every time."
    ),
    "A change was found, but you turned down every change of its kind so far, so it was not proposed.": (
        "A change was found, but you said no to every change of its kind so far, so it was not proposed."
    ),
    "A change was found, but the review did not let it through, so it was not proposed.": (
        "Your ratings point to a change, but a second look found them too few or too mixed. "
        "More can settle it."
    ),
    "Not enough thumbs for suggestions yet. Give a reason for 1 more thumb.": (
        "Not enough ratings for suggestions yet. Give a reason for 1 more rating."
    ),
    "Not enough thumbs for suggestions yet. Give reasons for {reasons} more thumbs.": (
        "Not enough ratings for suggestions yet. Give reasons for {reasons} more ratings."
    ),
    "Not enough thumbs for suggestions yet. Rate {rest}": (
        "Not enough ratings for suggestions yet. Rate {rest}"
    ),
    "We tested it on the {thumbs} articles you rated: "
    "your other thumbs told which you liked, better than chance.": (
        "We tested it on the {thumbs} articles you rated: "
        "your other ratings told which you liked, better than chance."
    ),
    "Of the {thumbs} articles you rated, thumbs of other days tell better than chance which you liked.": (
        "Of the {thumbs} articles you rated, ratings of other days tell better than chance which you liked."
    ),
    "Your earlier thumbs {rest}": "Your earlier ratings {rest}",
}


def text_today(text: str) -> str:
    """Return a stored text, or a stored text and what follows it, in the words of today."""
    for former, today in _FORMER.items():
        if "{" not in former and (text == former or text.startswith(f"{former} ")):
            return today + text[len(former) :]
        if "{" in former and (found := fields_of(former).fullmatch(text)):
            return today.format(**found.groupdict())
    return text


@cache
def fields_of(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for texts formatted from `pattern`. No field may occur twice."""
    parts = re.split(r"{(\w+)}", pattern)
    fields = [f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)]
    return re.compile("".join(fields), re.DOTALL)
