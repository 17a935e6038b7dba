"""Tags in the head of a stranger's page, read in linear time: links to feeds and icons. Pure.

`html.parser` raises on some marked sections and takes quadratic time for others, and two elements without
content need no whole parser. The rules are those of the tokenizer in
https://html.spec.whatwg.org/multipage/parsing.html, as far as they decide where a tag begins and ends.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from digest.feeds.sanitise import attribute_read

# No page has more links in its head.
TAGS_MAX: Final = 1_000
# Longer addresses are refused anyway, and a number of thousands of digits is no character reference.
VALUE_MAX_CHARS: Final = 4_096
# Elements whose content is always text.
RAW: Final = frozenset({"script", "style", "textarea", "title", "noframes", "iframe", "xmp", "noembed"})
_OPENING: Final = re.compile(r"<(?:(!--)|([!?])|(/?+[A-Za-z][^\s/>]*+))")
_END_OF_RAW: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)|(?=>)|(["'])))?+)"""
)


def page_tags(markup: str, *, names: frozenset[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the start tags of `names` (lower case) with their attributes, in order, at most 1,000.

    If an attribute comes twice, the first counts. Text in comments, scripts and other tags' attributes is no
    tag, and neither is a tag without an end. Every character is read once.
    """
    at, left = 0, TAGS_MAX
    while left and (found := _OPENING.search(markup, at)):
        attributes: dict[str, str] = {}
        name = (found[3] or "").lower()
        if found[1]:
            at = _after(markup, "-->", found.start() + 2)  # `<!-->` is a whole comment
        elif found[2]:
            at = _after(markup, ">", found.end())
        else:
            at = _attributes_read(markup, found.end(), attributes if name in names else None)
        if at and name in RAW:
            closed = _END_OF_RAW[name].search(markup, at)
            at = closed.start() if closed else 0
        if not at:
            return
        if name in names:
            left -= 1
            yield name, attributes


def _after(markup: str, mark: str, start: int) -> int:
    """Return the position after the next `mark`, or 0 if there is none."""
    end = markup.find(mark, start)
    return end + len(mark) if end >= 0 else 0


def _attributes_read(markup: str, at: int, found: dict[str, str] | None) -> int:
    """Add the attributes of a tag to `found`, if given. Return the end of the tag, or 0 if it has none."""
    while part := _ATTRIBUTE.match(markup, at):
        at = part.end()
        if part[1]:
            return at
        if part[6]:
            return 0
        if found is not None:
            value = part[3] or part[4] or part[5] or ""
            found.setdefault(part[2].lower(), attribute_read(value[:VALUE_MAX_CHARS]))
    return 0
