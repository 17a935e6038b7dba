"""The words of pure modules in the language in force: gettext, bound once at start, English until then. Pure.

Texts are marked as everywhere (`_`, `ngettext`, `pgettext`), and values come in by `str.format`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from gettext import NullTranslations

_ENGLISH = NullTranslations()


@dataclass(slots=True)
class _Bound:
    gettext: Callable[[str], str] = _ENGLISH.gettext
    ngettext: Callable[[str, str, int], str] = _ENGLISH.ngettext
    pgettext: Callable[[str, str], str] = _ENGLISH.pgettext


_bound = _Bound()


def language_bind(
    *,
    gettext: Callable[[str], str],
    ngettext: Callable[[str, str, int], str],
    pgettext: Callable[[str, str], str],
) -> None:
    """Take all words from these functions from now on."""
    _bound.gettext, _bound.ngettext, _bound.pgettext = gettext, ngettext, pgettext


def gettext(text: str) -> str:
    """Return `text` in the language in force."""
    return _bound.gettext(text) if text else ""


def ngettext(singular: str, plural: str, count: int) -> str:
    """Return the form for `count` in the language in force."""
    return _bound.ngettext(singular, plural, count)


def pgettext(context: str, text: str) -> str:
    """Return `text` as it is used in `context`, in the language in force."""
    return _bound.pgettext(context, text)


def gettext_noop(text: str) -> str:
    """Mark a text of a table, which is looked up where it is shown."""
    return text


def stored_text(text: str, patterns: Iterable[str] = ()) -> str:
    """Return a text that was stored in English in the language in force.

    `patterns` are the marked texts it may have been made of, with fields in braces; one that fits none stays
    as it is, such as what a model or a publisher wrote.
    """
    if text and (shown := gettext(text)) != text:
        return shown
    for pattern in patterns:
        shown = gettext(pattern)
        if shown != pattern and (found := _fields(pattern).fullmatch(text)):
            return shown.format(**found.groupdict())
    return text


@cache
def _fields(pattern: str) -> re.Pattern[str]:
    """Return what matches the texts of `pattern`; a field that comes twice is not one of ours."""
    parts = re.split(r"{(\w+)}", pattern)
    fields = [f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)]
    return re.compile("".join(fields), re.DOTALL)


def figure(value: float, pattern: str = ".2f") -> str:
    """Return a number by its format `pattern`, with a true minus and the decimal sign of the language."""
    return f"{value:{pattern}}".replace("-", "−").replace(".", pgettext("decimal sign", "."))


def percent(share: float) -> str:
    """Return a share (1 is all) in whole percent, as the language in force writes it."""
    return f"{share:.0%}".replace("%", pgettext("percent sign", "%"))
