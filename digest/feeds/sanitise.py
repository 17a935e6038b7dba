"""Sanitising: HTML of strangers to plain text, without tags, images and invisible characters. Pure."""

import html
import re
from typing import Final

import nh3

FIELD_MAX_CHARS: Final = 64 * 1024
TITLE_MAX_CHARS: Final = 500
# html5ever (nh3's parser) needs time quadratic in the nesting depth: 1,000 nested tags cost 2 ms, 20,000
# cost 4 s (measured). A field with no more opening tags than this cannot be nested dangerously.
OPEN_TAGS_UNCHECKED: Final = 400
DEPTH_MAX: Final = 200
# A formatting element that is left open is opened again in every block after it, as HTML demands: 190 of them
# turned 60 kB into 20 MB in 3 s (measured). No more elements than this may come into being that way.
REOPENED_MAX: Final = 20_000

_CLEANER: Final = nh3.Cleaner(
    tags=set(),
    clean_content_tags={"script", "style", "iframe", "noscript", "template", "svg", "math", "title"},
)
_BLOCKS: Final = (
    "p div br hr li ul ol dl dt dd tr td th table h1 h2 h3 h4 h5 h6 blockquote pre section article header "
    "footer aside figure figcaption main nav address details summary"
)


def _block_pattern() -> re.Pattern[str]:
    """Return the pattern for the start of a tag that begins a line.

    First letters first, each in both cases: `re.IGNORECASE` on a plain list of names takes twice as long.
    """
    either = {
        name: "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in name) for name in _BLOCKS.split()
    }
    groups: dict[str, list[str]] = {}
    for name in sorted(either, key=len):
        first, rest = either[name][:4], either[name][4:]
        groups.setdefault(first, []).append(rest)
    names = "|".join(f"{first}(?:{'|'.join(rests)})" for first, rests in groups.items())
    return re.compile(rf"<(?=/?(?:{names})\b)")


_BLOCK: Final = _block_pattern()
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*+)[^<>]*+>")
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_FORMATTING: Final = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
# A run that still looks like a tag after everything: removed, so that no reader of the text, person or
# machine, can take it for markup. It ends at the next angle bracket, which keeps the pattern linear.
_TAG_LIKE: Final = re.compile(r"<[a-zA-Z/!?][^<>]*>?")
# C0 and C1 controls, soft hyphen, zero-width and bidi marks, lone surrogates, non-characters, Unicode tags.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def html_to_text(markup: str, *, limit: int = FIELD_MAX_CHARS) -> str:
    """Return `markup` as plain text of at most `limit` characters: no tags or entities, a line per block.

    Markup that was escaped twice by mistake is unwrapped too. Time is linear in the length.
    """
    text = _visible(markup[:FIELD_MAX_CHARS])
    for _ in range(2):
        if "<" in text:
            text = _tags_removed(text)
        elif "&" not in text:
            break
        text = html.unescape(text)
    return clean_text(text, limit=limit)


def clean_text(text: str, *, limit: int = FIELD_MAX_CHARS) -> str:
    """Return text that is no HTML without what is invisible or tag-like, and with white space collapsed."""
    text = _visible(text[:FIELD_MAX_CHARS])
    if "<" in text:
        text = _TAG_LIKE.sub(" ", text)
    # `splitlines` also splits at "\r", "\x85", "\u2028" and "\u2029", which are not removed as invisible.
    lines = [line.strip() for line in text.splitlines()]
    if text.replace("\n", "").isprintable():  # of white space, blanks alone: most lines have one at a time
        lines = [" ".join(line.split()) if "  " in line else line for line in lines]
    else:
        lines = [" ".join(line.split()) for line in lines]
    return "\n".join([line for line in lines if line])[:limit].rstrip()


def _visible(text: str) -> str:
    """Return `text` without invisible characters; for most texts a check at a fifth of the cost is enough.

    Invisible characters are unprintable, apart from some marks beyond the first 65,536 characters of Unicode,
    which are those that take four bytes of UTF-16.
    """
    bare = text.replace("\n", "").replace("\t", "").replace("\xa0", "")
    if bare.isprintable() and (bare.isascii() or len(bare.encode("utf-16-le")) == 2 * len(bare)):
        return text
    return _INVISIBLE.sub("", text)


def title_to_text(markup: str) -> str:
    """Return a title as plain text on one line of at most 500 characters."""
    return one_line(html_to_text(markup))


def one_line(text: str, *, limit: int = TITLE_MAX_CHARS) -> str:
    """Return `text` on one line, cut to `limit` characters with an ellipsis where something was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _tags_removed(markup: str) -> str:
    spaced = _BLOCK.sub("\n<", markup)
    return _TAG_LIKE.sub(" ", spaced) if _is_costly(spaced) else _CLEANER.clean(spaced)


def _is_costly(markup: str) -> bool:
    """Return whether an HTML parser might need far more than linear time for `markup`.

    It does for elements nested deeper than `DEPTH_MAX`, and where it opens more than `REOPENED_MAX` again. An
    end tag closes an element of its own name or nothing.
    """
    if markup.count("<") - markup.count("</") <= OPEN_TAGS_UNCHECKED:
        return False
    depth = formatting = reopened = 0
    opened: dict[str, int] = {}
    for closing, name in _TAG.findall(markup):
        name = name.lower()
        step = -1 if closing else 1
        if name in _VOID or opened.get(name, 0) + step < 0:
            continue
        opened[name] = opened.get(name, 0) + step
        depth += step
        formatting += step * (name in _FORMATTING)
        reopened += formatting
        if depth > DEPTH_MAX or reopened > REOPENED_MAX:
            return True
    return False
