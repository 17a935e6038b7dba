"""Translate the texts of pure modules. They stay English until `language_bind` sets gettext at start. Pure.

Mark texts as usual (`_`, `ngettext`, `pgettext`) and insert values with `str.format`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from gettext import NullTranslations

from ranking.former_texts import fields_of, text_today

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
    """Use these functions for all translations from now on."""
    _bound.gettext, _bound.ngettext, _bound.pgettext = gettext, ngettext, pgettext


def gettext(text: str) -> str:
    """Return `text` in the current language."""
    return _bound.gettext(text) if text else ""


def ngettext(singular: str, plural: str, count: int) -> str:
    """Return the form for `count` in the current language."""
    return _bound.ngettext(singular, plural, count)


def pgettext(context: str, text: str) -> str:
    """Return `text` with its meaning in `context`, in the current language."""
    return _bound.pgettext(context, text)


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it unchanged. Translate it where it is shown."""
    return text


def stored_text(text: str, patterns: Iterable[str] = ()) -> str:
    """Translate a text that was stored in English into the current language.

    `patterns` are the marked texts with fields in braces from which it may have been formatted. A text that
    fits none (a model or a publisher wrote it) is returned unchanged. Former texts get the words of today.
    """
    if not text:
        return ""
    text = text_today(text)
    if (shown := gettext(text)) != text:
        return shown
    for pattern in patterns:
        shown = gettext(pattern)
        if shown != pattern and (found := fields_of(pattern).fullmatch(text)):
            return shown.format(**found.groupdict())
    return text


def figure(value: float, pattern: str = ".2f") -> str:
    """Format a number by `pattern`, with a real minus sign and the decimal sign of the current language."""
    return f"{value:{pattern}}".replace("-", "−").replace(".", pgettext("decimal sign", "."))


def quoted(words: str) -> str:
    """Return `words` in the quotation marks of the current language."""
    return gettext("“{words}”").format(words=words)


def times(factor: str) -> str:
    """Return `factor`, a figure in words, behind its sign; no line ends between the two."""
    return f"×\N{NO-BREAK SPACE}{factor}"


def thousands(count: int) -> str:
    """Format a whole number with the thousands separator of the current language."""
    return f"{count:,}".replace("-", "−").replace(",", pgettext("thousands sign", ","))


def percent(share: float) -> str:
    """Format a share (1 is all) in whole percent, in the current language."""
    return f"{share:.0%}".replace("%", pgettext("percent sign", "%"))


MONTHS = (
    gettext_noop("January"),
    gettext_noop("February"),
    gettext_noop("March"),
    gettext_noop("April"),
    gettext_noop("May"),
    gettext_noop("June"),
    gettext_noop("July"),
    gettext_noop("August"),
    gettext_noop("September"),
    gettext_noop("October"),
    gettext_noop("November"),
    gettext_noop("December"),
)


def date_words(day: date) -> str:
    """Return a day with month and year: "18 March 2026"."""
    words = gettext("{day} {month} {year}")
    return words.format(day=day.day, month=gettext(MONTHS[day.month - 1]), year=day.year)
