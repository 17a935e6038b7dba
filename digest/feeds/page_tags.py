"""Tags in the head of a stranger's page, in linear time: links to feeds and icons. Pure.

`html.parser` raises on some marked sections and takes quadratic time for others, and a whole parser is not
needed for two elements without content. The rules are those of the tokenizer in
https://html.spec.whatwg.org/multipage/parsing.html, as far as they decide where a tag begins and ends.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Final

# No page has more links in its head; each costs at most the length of a tag.
TAGS_MAX: Final = 1_000
TAG_MAX_CHARS: Final = 8_192
# Addresses are refused far below; a number of thousands of digits is no character reference.
VALUE_MAX_CHARS: Final = 4_096
# Elements whose content is text, whatever it looks like.
RAW: Final = frozenset({"script", "style", "textarea", "title", "noframes", "iframe", "xmp", "noembed"})
_OPENING: Final = re.compile(r"<(?:(!--)|([A-Za-z][A-Za-z0-9]{0,15}+)(?=[\s/>]))")
_END_OF_RAW: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*+(?:(>)|([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+)"""
)


def page_tags(markup: str, *, names: frozenset[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the start tags of `names` (lower case) with their attributes, in their order, 1,000 at most.

    Of an attribute that is named twice the first counts. What stands in comments and scripts is no tag, nor
    is one without an end.
    """
    at, left = 0, TAGS_MAX
    while left and (found := _OPENING.search(markup, at)):
        at = found.end()
        if found[1]:
            end = markup.find("-->", found.start() + 2)  # `<!-->` is a whole comment
            if end < 0:
                return
            at = end + 3
            continue
        name = found[2].lower()
        if name in names:
            left -= 1
            attributes = _attributes(markup[at : at + TAG_MAX_CHARS])
            if attributes is not None:
                yield name, attributes
        elif name in RAW:
            closed = _END_OF_RAW[name].search(markup, at)
            if closed is None:
                return
            at = closed.end()


def _attributes(text: str) -> dict[str, str] | None:
    """Return the attributes up to the end of a tag; `None` where it has none."""
    found: dict[str, str] = {}
    at = 0
    while part := _ATTRIBUTE.match(text, at):
        if part[1]:
            return found
        value = part[3] or part[4] or part[5] or ""
        found.setdefault(part[2].lower(), unescape(value[:VALUE_MAX_CHARS]))
        at = part.end()
    return None
