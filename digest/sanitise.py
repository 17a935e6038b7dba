"""From the HTML of strangers to plain text: nothing here keeps a tag, an image or an invisible character."""

import html
import re
from typing import Final

import nh3

FIELD_MAX_CHARS = 64 * 1024
TITLE_MAX_CHARS = 500
# html5ever (nh3's parser) needs time quadratic in the nesting depth: 1,000 nested tags cost 2 ms, 20,000
# cost 4 s (measured). A field with no more opening tags than this cannot be nested dangerously.
OPEN_TAGS_UNCHECKED = 400
DEPTH_MAX = 200

_CLEANER: Final = nh3.Cleaner(
    tags=set(),
    clean_content_tags={"script", "style", "iframe", "noscript", "template", "svg", "math", "title"},
)
_BLOCK: Final = re.compile(
    r"<(?=/?(?:p|div|br|hr|li|ul|ol|dl|dt|dd|tr|td|th|table|h[1-6]|blockquote|pre|section|article|header|"
    r"footer|aside|figure|figcaption|main|nav|address|details|summary)\b)",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>")
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
# A run that still looks like a tag after everything: removed, so that no reader of the text, person or
# machine, can take it for markup. It ends at the next angle bracket, which keeps the pattern linear.
_TAG_LIKE: Final = re.compile(r"<[a-zA-Z/!?][^<>]*>?")
# C0 and C1 controls, soft hyphen, zero-width and bidi marks, lone surrogates, non-characters, Unicode tags.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_LINE_ENDS: Final = re.compile("[\r\x85\u2028\u2029]")


def html_plain(markup: str, *, limit: int = FIELD_MAX_CHARS) -> str:
    """`markup` as plain text of at most `limit` characters: tags gone, entities read, one line per block.

    Markup that was escaped twice by mistake is unwrapped too. Time is linear in the length.
    """
    text = _UNSEEN.sub("", markup[:FIELD_MAX_CHARS])
    for _ in range(2):
        if "<" in text:
            text = _tags_removed(text)
        elif "&" not in text:
            break
        text = html.unescape(text)
    return plain(text, limit=limit)


def plain(text: str, *, limit: int = FIELD_MAX_CHARS) -> str:
    """Text that is no HTML, made safe to keep: nothing unseen, nothing tag-like, white space collapsed."""
    text = _LINE_ENDS.sub("\n", _UNSEEN.sub("", text[:FIELD_MAX_CHARS]))
    text = _TAG_LIKE.sub(" ", text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)[:limit].rstrip()


def title_plain(markup: str) -> str:
    """A title: plain text on one line of at most 500 characters."""
    return one_line(html_plain(markup))


def one_line(text: str, *, limit: int = TITLE_MAX_CHARS) -> str:
    """`text` on one line, cut to `limit` characters with an ellipsis where something was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _tags_removed(markup: str) -> str:
    spaced = _BLOCK.sub("\n<", markup)
    if spaced.count("<") - spaced.count("</") > OPEN_TAGS_UNCHECKED and _too_nested(spaced):
        return _TAG_LIKE.sub(" ", spaced)
    return _CLEANER.clean(spaced)


def _too_nested(markup: str) -> bool:
    depth = 0
    for closing, name in _TAG.findall(markup):
        if closing:
            depth = max(depth - 1, 0)
        elif name.lower() not in _VOID:
            depth += 1
            if depth > DEPTH_MAX:
                return True
    return False
