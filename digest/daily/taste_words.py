"""The reasons of a reader's taste in words: for a chip, a sentence, and the breakdown of a score. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final

from digest.daily.score_parts import leans_shown
from ranking.common.text import words_cut
from ranking.language import gettext as _
from ranking.language import ngettext
from ranking.taste.entities import ARTICLE, AUTHOR, CATEGORY, SOURCE, TasteReason

# So much of an article's title. A chip has room for less: two lines beside the thumbs of a phone.
TITLE_CHARS, CHIP_TITLE_CHARS = 80, 24
# So much of a chip stands in a line, and so much of what it quotes at least.
CHIP_CHARS, QUOTE_MIN_CHARS = 36, 8
_QUOTING: Final = re.compile(r"([^“„]*[“„])(.+)([“”][^“”]*)")


def taste_reasons(parts: Mapping[str, Any], source: str) -> list[str]:
    """Return up to three reasons for the factor of taste, those for its direction first.

    `source` is the name of the item's source in them.
    """
    return [taste_clause(one, source) for one in leans_shown(parts)]


def taste_clause(reason: TasteReason, source: str) -> str:
    """Return a reason of taste as a main clause. `source` is as in `taste_reasons`."""
    if reason.kind == ARTICLE:
        return _article_clause(reason)
    label = source if reason.kind == SOURCE else reason.label
    return _target_words(reason, label) + _against_count(reason)


def taste_chip(reason: TasteReason) -> str:
    """Return a reason of taste in a few words. The name of the source stands beside them."""
    if reason.kind != ARTICLE:
        return _target_words(reason, "" if reason.kind == SOURCE else reason.label)
    if not reason.label:
        return _("like what you found useful") if reason.likes else _("like what you did not find useful")
    if not reason.thumbs:
        words = _("more like “{title}”")
    else:
        words = _("like “{title}”") if reason.likes else _("like “{title}”, not liked")
    return words.format(title=words_cut(reason.label, CHIP_TITLE_CHARS))


def chip_cut(words: str) -> str:
    """Return the words of a chip in one line. If they are too long, what they quote is shortened, at a word.

    So a chip keeps its closing quotation mark, and whatever stands behind it (", not liked").
    """
    if len(words) <= CHIP_CHARS:
        return words
    if found := _QUOTING.fullmatch(words):
        before, title, behind = found.groups()
        if (room := CHIP_CHARS - len(before) - len(behind)) >= QUOTE_MIN_CHARS:
            return f"{before}{words_cut(title, room)}{behind}"
    return words_cut(words, CHIP_CHARS)


def similar_chip(parts: Mapping[str, Any]) -> str:
    """Return the chip of an item that is like the reader's likes. It names one of these if one stands out."""
    liked = (one for one in leans_shown(parts) if one.kind == ARTICLE and one.likes and one.label)
    reason = next(liked, None)
    return taste_chip(reason) if reason else _("like what you found useful")


def _article_clause(reason: TasteReason) -> str:
    """Return the words for an example that an item is like, or for likeness to no example in particular."""
    if not reason.label:
        liked, other = _("it is like what you found useful"), _("it is like what you did not find useful")
        return liked if reason.likes else other
    if not reason.thumbs:
        words = _("it is like “{title}”, which you want more of")
    elif reason.likes:
        words = _("it is like “{title}”, which you liked")
    else:
        words = _("it is like “{title}”, which you did not like")
    return words.format(title=words_cut(reason.label, TITLE_CHARS))


def _target_words(reason: TasteReason, label: str) -> str:
    """Return the words for a source, topic, category or author, called `label`; "" if its name stands beside
    them."""
    if not label and not reason.thumbs:
        return _("you asked for more from it")
    if not reason.thumbs:
        words = (
            _("you asked for more from {label}")
            if reason.kind == SOURCE
            else _("you asked for more of “{label}”")
        )
        return words.format(label=label)
    words = _counted(reason.kind, reason.thumbs, bool(label))
    return words.format(label=label, likes=reason.likes, thumbs=reason.thumbs)


def _counted(kind: str, thumbs: int, has_label: bool) -> str:
    """Return the words for the likes among the thumbs on a target, which say what was counted."""
    if not has_label:
        return ngettext("{likes} of its {thumbs} liked", "{likes} of its {thumbs} liked", thumbs)
    if kind == SOURCE:
        return ngettext(
            "you liked {likes} of {thumbs} from {label}", "you liked {likes} of {thumbs} from {label}", thumbs
        )
    if kind == AUTHOR:
        return ngettext(
            "you liked {likes} of {thumbs} by {label}", "you liked {likes} of {thumbs} by {label}", thumbs
        )
    if kind == CATEGORY:
        return ngettext(
            "you liked {likes} of {thumbs} in “{label}”", "you liked {likes} of {thumbs} in “{label}”", thumbs
        )
    return ngettext(
        "you liked {likes} of {thumbs} about “{label}”",
        "you liked {likes} of {thumbs} about “{label}”",
        thumbs,
    )


def _against_count(reason: TasteReason) -> str:
    """Return words for a lean that its count would contradict: it is against the reader's usual rate."""
    if reason.kind == ARTICLE or not reason.thumbs or (reason.lean > 0) is (2 * reason.likes > reason.thumbs):
        return ""
    return _(", more than usual") if reason.lean > 0 else _(", less than usual")
