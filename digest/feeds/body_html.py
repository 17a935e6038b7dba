"""Body HTML: turn strangers' markup into article HTML that is safe to store and to show.

It takes two steps. `_Writer` makes the result readable: it reads the tags one by one, in linear time, and
writes a tidy document with limited nesting, closed elements, absolute addresses, headings below the page's
own, and films as links. nh3 then makes it safe: it parses that document as a browser would and keeps only the
elements and attributes of `_POLICY`. None of these attributes makes a browser send a request. A picture's
address is in `data-src`, and the page that shows it turns it into a `src` of our own. Pure.
"""

import html
import re
from typing import Final

import nh3

from digest.feeds.body_parts import PICTURE_NAME, PLACEHOLDER
from digest.feeds.links import link_absolute, link_or_mail
from digest.feeds.sanitise import attribute_read

# Characters that are read of a body, and characters that are stored.
MARKUP_MAX_CHARS: Final = 256 * 1024
HTML_MAX_CHARS: Final = 100_000
SRCSET_MAX_CHARS: Final = 8_000
DEPTH_MAX: Final = 60
# Room for the end tags and the mark of a cut.
_CUT: Final = "<p>…</p>"
_ROOM: Final = DEPTH_MAX * len("</blockquote>") + len(_CUT)
LINK_REL: Final = "noopener noreferrer nofollow"

_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCK_NAMES: Final = (
    "p div ul ol li dl dt dd table caption thead tbody tfoot tr td th blockquote pre figure figcaption "
    "details summary hr"
)
_INLINE_NAMES: Final = (
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q rp rt ruby s samp small strong sub sup "
    "time u var wbr"
)
_DIV_NAMES: Final = "section article header footer main aside nav address center form fieldset"
_BLOCKS: Final = frozenset((*_BLOCK_NAMES.split(), *_HEADINGS))
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_NBSP: Final = "\xa0"
_VOID: Final = frozenset({"br", "hr", "img", "wbr"})
_CELLS: Final = frozenset({"td", "th"})
_RENAMED: Final = {
    **dict.fromkeys(_DIV_NAMES.split(), "div"),
    **{"strike": "s", "tt": "code", "acronym": "abbr", "dir": "ul", "menu": "ul", "image": "img"},
    **{"amp-img": "img", "amp-anim": "img"},
}
# Elements whose content a browser does not read as markup, and others that we drop with their content. Films
# and frames become links.
_RAW: Final = "script style noscript textarea title xmp noembed noframes"
_NESTED_NAMES: Final = "template svg math object select button audio video canvas applet frameset head"
_NESTED: Final = frozenset(_NESTED_NAMES.split())
_SKIPPED: Final = _NESTED | frozenset(_RAW.split()) | {"iframe"}
_FRAMES: Final = frozenset({"iframe", "audio", "video", "object"})
_SHOWN: Final = _BLOCKS | _INLINE
# The usual spellings, for a fast look-up. Other names need a look at their prefix and case.
_NAMES: Final = {name: name for name in (*_BLOCKS, *_INLINE, "span", "font")} | _RENAMED
# White space alone says something inside these.
_SPACED: Final = _INLINE | {"pre"}
_ROWS: Final = frozenset({"table", "thead", "tbody", "tfoot"})
_BETWEEN: Final = _ROWS | {"tr"}
# The parents that parts of a table need, and the other elements that a start tag ends. The search stops at
# the second set.
_PARENTS: Final = {
    **dict.fromkeys(("caption", "thead", "tbody", "tfoot"), frozenset({"table"})),
    **{"tr": _ROWS, "td": _ROWS | {"tr"}, "th": _ROWS | {"tr"}},
}
_ENDS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol"})),
    **dict.fromkeys(("dt", "dd"), (frozenset({"dt", "dd"}), frozenset({"dl"}))),
    **dict.fromkeys(_HEADINGS, (frozenset(_HEADINGS), _CELLS | {"li"})),
    "a": (frozenset({"a"}), frozenset()),
}
# The attributes we keep, with the form of their values. We write `href`, `src` and `rel` ourselves.
_NUMBER: Final = re.compile(r"-?\d{1,5}")
_LANG: Final = re.compile(r"[A-Za-z0-9-]{1,35}")
_FREE: Final = re.compile(r".{1,1000}", re.DOTALL)
_SHAPES: Final[dict[str, dict[str, re.Pattern[str]]]] = {
    "*": {"dir": re.compile("ltr|rtl|auto"), "lang": _LANG},
    "a": {},
    "abbr": {"title": _FREE},
    "td": {"colspan": _NUMBER, "rowspan": _NUMBER},
    "th": {"colspan": _NUMBER, "rowspan": _NUMBER, "scope": re.compile("(?:col|row)(?:group)?")},
    "ol": {"start": _NUMBER, "reversed": re.compile(".{0,8}"), "type": re.compile("[1aAiI]")},
    "li": {"value": _NUMBER},
    "time": {"datetime": re.compile(r"[0-9TZ:.+-]{1,40}")},
    "img": {"alt": _FREE, "title": _FREE, "width": re.compile(r"\d{1,5}"), "height": re.compile(r"\d{1,5}")},
}
# Pages that load pictures late keep the address in one of these; their `src` is a placeholder.
_SOURCES: Final = ("data-src", "data-original", "data-lazy-src", "src")
_SETS: Final = ("data-srcset", "data-lazy-srcset", "srcset")
_DESCRIPTOR: Final = re.compile(r"(\d{1,5})(?:\.\d{1,3})?[wx],?")
# The largest that a column of text shows, twice as dense.
_WIDTH_MAX: Final = 1_600
_POLICY: Final = nh3.Cleaner(
    tags=set(_BLOCKS | _INLINE),
    clean_content_tags=set(_SKIPPED),
    attributes={name: set(shapes) for name, shapes in _SHAPES.items()}
    | {"a": {"href"}, "img": {*_SHAPES["img"], "data-src"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel=LINK_REL,
)
# A text and the token after it. Each alternative runs to its end or to the end of the markup and never turns
# back. Groups: the text, the content of a CDATA section, the name of a raw element, a tag in three parts, and
# an angle bracket that begins no tag.
_TOKEN: Final = re.compile(
    r"([^<]*+)(?:"
    r"<!--[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z)"
    r"|<!\[CDATA\[([^\]]*+(?:\](?!\]>)[^\]]*+)*+)(?:\]\]>|\Z)"
    rf"|<(?i:({_RAW.replace(' ', '|')})\b[^>]*+(?<!/)>[^<]*+(?:<(?!/\3\b)[^<]*+)*+(?:</\3\b[^>]*+>?|\Z))"
    r"|<[!?][^>]*+>?"
    r"|<(/?)([a-zA-Z][^\s/<>]*+)([^<>=]*+(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')?+[^<>=]*+)*+)>?"
    r"|(<)"
    r"|\Z)"
)
_ATTRIBUTE: Final = re.compile(r"([^\s=/\"'<>]++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?")
_ELEMENT: Final = re.compile(r"</?[a-zA-Z]")
# Controls, marks that turn the direction of everything after them, lone surrogates, tag characters.
_FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_TRACKERS: Final = re.compile(
    r"https?://(?:feeds\.feedburner\.com/~|feeds\.feedblitz\.com/~|pixel\.wp\.com/|stats\.wordpress\.com/"
    r"|feeds\.wordpress\.com/1\.0/|[a-z0-9.-]{0,99}\bfeedsportal\.com/|[a-z0-9.-]{0,99}\bdoubleclick\.net/"
    r"|www\.google-analytics\.com/)",
    re.IGNORECASE,
)
# The page of a film, from the address of the player that others embed.
_PLAYERS: Final = (
    (
        re.compile(r"https?://www\.youtube(?:-nocookie)?\.com/(?:embed|v)/([\w-]{11})(?:[?&/#].*)?"),
        "https://www.youtube.com/watch?v=",
    ),
    (re.compile(r"https?://player\.vimeo\.com/video/(\d{1,12})(?:[?/#].*)?"), "https://vimeo.com/"),
)


def html_clean(markup: str, *, base: str, plain: bool = False) -> tuple[str, str]:
    """Return the cleaned HTML of `markup` and the address of its first picture ("" if it has none).

    Relative links are resolved against `base`. The HTML has at most `HTML_MAX_CHARS` characters and is cut
    after an element. It is "" if it would show only paragraphs of text, unless `plain` is true. The time is
    linear in the length.
    """
    markup = markup[:MARKUP_MAX_CHARS]
    if not _ELEMENT.search(markup):
        return "", ""
    if not markup.replace("\n", "").isprintable():
        markup = _FORBIDDEN.sub("", markup)
    lowered = markup.lower()
    writer = _Writer(base, [name for name in _HEADINGS if f"<{name}" in lowered])
    written = writer.write(markup)
    cleaned = _POLICY.clean(written) if plain or writer.has_markup else ""
    return (cleaned if len(cleaned) <= HTML_MAX_CHARS else ""), writer.image


def html_is_cut(stored: str) -> bool:
    """Return whether we cut this cleaned HTML at the length limit."""
    return len(stored) > HTML_MAX_CHARS // 2 and stored.endswith(_CUT)


def html_recheck(stored: str) -> str:
    """Clean stored HTML again by the same policy. Output of `html_clean` does not change."""
    return _POLICY.clean(stored)


def _named(name: str) -> str:
    """Return the name of an element as we know it: in lower case, without a prefix."""
    name = name.rpartition(":")[2].lower()
    return _RENAMED.get(name, name)


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag by name. If a name comes twice, the first counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower(), _FORBIDDEN.sub("", attribute_read(double or single or bare)))
    return found


def _unescaped(text: str) -> str:
    return _FORBIDDEN.sub("", html.unescape(text)) if "&" in text else text


def _escaped(text: str) -> str:
    """Return `text`, which may contain entities, as escaped HTML. No parser changes its length."""
    if "&" in text:
        text = html.escape(_unescaped(text), quote=False)
    elif "<" in text or ">" in text:
        text = html.escape(text, quote=False)
    return text.replace(_NBSP, "&nbsp;") if _NBSP in text else text


class _Writer:
    """Writes tidy HTML token by token. Elements that turn out to be empty are never written."""

    def __init__(self, base: str, headings: list[str]) -> None:
        self._base, self._headings, self._level = base, headings, 1
        self._parts: list[str] = []
        self._chars = 0
        # The open elements, and the start tags of the innermost of them, which wait for content.
        self._open: list[str] = []
        self._pending: list[str] = []
        # The element that is left out, how deep we are in it, and the film it brings.
        self._skipped, self._skipped_depth = "", 0
        self._film: dict[str, str] = {}
        # The end of the last complete block or outermost element, and the elements open there.
        self._whole: tuple[int, list[str]] = (0, [])
        # The other forms of the picture that is open, if any.
        self._sources: list[dict[str, str]] | None = None
        self.has_markup, self.image = False, ""

    def write(self, markup: str) -> str:
        """Return `markup` as tidy HTML of bounded length."""
        for text, quoted, _, closing, name, rest, bracket in _TOKEN.findall(markup):
            if text and not self._skipped:
                self._text(text)
            if name:
                self._tag(_NAMES.get(name) or _named(name), closing, rest)
            elif (quoted or bracket) and not self._skipped:
                self._text(quoted or bracket)
            if self._chars > HTML_MAX_CHARS - _ROOM:
                return self._cut()
        self._close_to(0)
        return "".join(self._parts)

    def _cut(self) -> str:
        """Return the output up to its last whole element, or "" if that is less than half of it."""
        at, still_open = self._whole
        ends = [f"</{name}>" for name in reversed(still_open)]
        written = "".join([*self._parts[:at], *ends, _CUT])
        return written if len(written) > HTML_MAX_CHARS // 2 else ""

    def _tag(self, name: str, closing: str, rest: str) -> None:
        # `<p/>` is empty. So is `<a href=/x/>`, for which a link without text is no loss.
        if self._skipped or (name in _SKIPPED and not closing):
            self._skip(name, closing, rest, is_empty=rest[-1:] == "/")
        elif name not in _SHOWN:
            if name == "embed":
                self._link_film(_attributes(rest))
            elif name == "picture":
                self._picture_end() if closing else self._picture_begin()
            elif name == "source" and self._sources is not None:
                self._sources.append(_attributes(rest))
            elif name == "base":
                self._base = link_absolute(_attributes(rest).get("href", ""), base=self._base) or self._base
        elif closing:
            self._end(name)
        elif name == "img":
            self._picture(_attributes(rest))
        elif name in _VOID:
            self._begin(name)
            self._put(f"<{name}>")
            self.has_markup = self.has_markup or name == "hr"
        elif rest[-1:] != "/":
            self._start(name, _attributes(rest) if name in _SHAPES or "dir" in rest or "lang" in rest else {})

    def _skip(self, name: str, closing: str, rest: str, *, is_empty: bool) -> None:
        """Drop an element and its content. A film or a frame becomes a link."""
        if not self._skipped:
            self._skipped, self._skipped_depth, self._film = name, 0, {}
        if self._skipped in _FRAMES and name in (*_FRAMES, "source", "embed") and "src" not in self._film:
            self._film |= _attributes(rest)
        if name == self._skipped and (closing or not self._skipped_depth or name in _NESTED):
            self._skipped_depth += -1 if closing else not is_empty
        if not self._skipped_depth:
            self._skipped = ""
            self._link_film(self._film)

    def _link_film(self, found: dict[str, str]) -> None:
        named = (found.get(name) for name in ("src", "data-src", "data"))
        address = link_absolute(next(filter(None, named), ""), base=self._base)
        if not address or "a" in self._open:
            return
        for player, page in _PLAYERS:
            if film := player.fullmatch(address):
                address = page + film[1]
        inside_text = not _INLINE.union(_HEADINGS, ("p", "pre")).isdisjoint(self._open)
        if not inside_text:
            self._start("p", {})
        self._start("a", {"href": address})
        words = " ".join(found.get("title", "").split()) or address.partition("://")[2]
        self._text(html.escape(words[:100]))
        self._end("a" if inside_text else "p")

    def _start(self, name: str, found: dict[str, str]) -> None:
        address = link_or_mail(found.get("href", ""), base=self._base) if name == "a" else ""
        if not self._begin(name) or len(self._open) >= DEPTH_MAX or (name == "a" and not address):
            return
        if name in _HEADINGS:
            rank = self._headings.index(name) if name in self._headings else 0
            self._level = min(2 + rank, self._level + 1, 6)
            name = f"h{self._level}"
        href = f' href="{html.escape(address)}"' if address else ""
        self._open.append(name)
        self._pending.append(f"<{name}{_written_attributes(name, found) if found else ''}{href}>")
        if address:
            self._chars += len(f' rel="{LINK_REL}"')
        if name in _CELLS:
            self._put("")  # an empty cell holds its column's place

    def _begin(self, name: str) -> bool:
        """Close what a start tag of `name` closes and open the parents it needs.

        Return False if the element cannot stand here.
        """
        if parents := _PARENTS.get(name):
            at = self._innermost(parents)
            if at is None:
                return False
            self._close_to(at + 1)
            if name == "tr" and self._open[-1] == "table":
                self._start("tbody", {})
            elif name in _CELLS and self._open[-1] != "tr":
                self._start("tr", {})
            return True
        self._cell_begin()
        if name in _BLOCKS and "p" in self._open:
            self._close_to(self._open.index("p"))
        if name in _ENDS:
            ended, bounds = _ENDS[name]
            at = self._innermost(ended | bounds)
            if at is not None and self._open[at] in ended:
                self._close_to(at)
        return True

    def _cell_begin(self) -> None:
        """Begin a cell if content would stand between the cells of a table."""
        if self._open and self._open[-1] in _BETWEEN:
            self._start("td", {})

    def _innermost(self, names: frozenset[str]) -> int | None:
        """Return the place of the innermost open element among `names`, or None."""
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in names:
                return at
        return None

    def _end(self, name: str) -> None:
        if self._open and self._open[-1] == name:
            self._close_to(len(self._open) - 1)
            return
        names = frozenset(_HEADINGS if name in _HEADINGS else (name,))
        at = self._innermost(names if name in _PARENTS or name == "table" else names | _CELLS)
        if at is not None and self._open[at] in names:
            self._close_to(at)

    def _close_to(self, at: int) -> None:
        """Close the open elements from the innermost to the one at `at`."""
        while len(self._open) > at:
            name = self._open.pop()
            if self._pending:
                self._pending.pop()
                continue
            self._parts.append(f"</{name}>")
            self._chars += len(name) + 3
            if name in _BLOCKS or not self._open:
                self._whole = len(self._parts), self._open[:]

    def _text(self, text: str) -> None:
        inside = self._open[-1] if self._open else ""
        if text.isspace():
            if inside in _BETWEEN or (self._pending and inside not in _SPACED):
                return
        elif inside in _BETWEEN:
            self._start("td", {})
        self._put(_escaped(text))

    def _put(self, written: str) -> None:
        """Write, after the start tags that waited for content."""
        for tag in self._pending:
            self._parts.append(tag)
            self._chars += len(tag)
            self.has_markup = self.has_markup or tag not in ("<p>", "<div>")
        self._pending.clear()
        self._parts.append(written)
        self._chars += len(written)

    def _picture_begin(self) -> None:
        self._sources = []

    def _picture_end(self) -> None:
        """Show a picture that has sources and no element of its own."""
        if self._sources:
            self._picture({})
        self._sources = None

    def _address(self, found: dict[str, str]) -> str:
        """Return the address of a picture: its own, else one of its sizes, else one of its other forms."""
        forms = [found, *(self._sources or ())]
        own = [found.get(name, "") for name in _SOURCES]
        placeholder = [own.pop()] if PLACEHOLDER.search(own[-1]) else []
        sizes = [_of_sizes(form.get(name, "")) for form in forms for name in _SETS]
        others = [form.get("src", "") for form in forms[1:]]
        late = [value for name, value in found.items() if _is_late(name, value)]
        values = (*own, *sizes, *others, *late, *placeholder)
        links = (link_absolute(value, base=self._base) for value in values if value)
        return next((link for link in links if link), "")

    def _picture(self, found: dict[str, str]) -> None:
        if any(found.get(side, "").strip().removesuffix("px") in ("0", "1") for side in ("width", "height")):
            return  # a pixel that counts readers
        address = self._address(found)
        self._sources = None if self._sources is None else []
        if not address:
            self._text(html.escape(found.get("alt", "")[:200]))
        elif not _TRACKERS.match(address) and not _is_blank(address):
            self.image = self.image or address
            self.has_markup = True
            self._cell_begin()
            self._put(f'<img data-src="{html.escape(address)}"{_written_attributes("img", found)}>')


def _is_blank(address: str) -> bool:
    """Return whether a picture only holds the place of one that loads late."""
    return PLACEHOLDER.search(address) is not None and ".gif" in address.lower()


def _is_late(name: str, value: str) -> bool:
    """Return whether an attribute, of whichever script, has the address from which a picture loads late."""
    if name in ("src", "alt", "title", "class", "id", "style", "longdesc") or name.endswith("srcset"):
        return False
    return name.endswith("src") or bool(PICTURE_NAME.search(value))


def _of_sizes(value: str) -> str:
    """Return the address of the largest size that is not too large, of the value of a `srcset`."""
    sizes, words = list[tuple[int, str]](), iter(value[:SRCSET_MAX_CHARS].split())
    for word in words:
        size = None if word.endswith(",") else _DESCRIPTOR.fullmatch(next(words, ""))
        sizes.append((int(size[1]) if size else 1, word.strip(",")))
    fitting = [one for one in sizes if one[0] <= _WIDTH_MAX]
    return max(fitting, key=lambda one: one[0], default=min(sizes, default=(0, "")))[1]


def _written_attributes(name: str, found: dict[str, str]) -> str:
    """Return the attributes of an element that are kept, as they are written."""
    own, written = _SHAPES.get(name, {}), []
    for one, value in found.items():
        shape = own.get(one) or _SHAPES["*"].get(one)
        if shape and shape.fullmatch(value):
            written.append(f' {one}="{html.escape(value.replace(_NBSP, " "))}"')
    return "".join(written)
