"""Sanitising: turn strangers' HTML into plain text, without tags, images and invisible characters.

A text may hold words that look like tags (`<system>`), because an article may be about them. So every text is
escaped when it is written into a page, a mail or a document. Pure.
"""

import html
import html.entities
import re
import unicodedata
from collections.abc import Callable
from typing import Final

import nh3

FIELD_MAX_CHARS: Final = 64 * 1024
TITLE_MAX_CHARS: Final = 500
# The end of a text that was cut, and the least length of such a text.
CUT: Final = "\n…"
CUT_MIN_CHARS: Final = 30_000
CUT_WORD_MAX: Final = 200
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
    "p div center br hr li ul ol dl dt dd tr td th table h1 h2 h3 h4 h5 h6 blockquote pre section article "
    "header footer aside figure figcaption main nav address details summary"
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
# A tag as parsers of HTML read it: a ">" within quotes does not end it.
_WHOLE_TAG: Final = re.compile(r"</?([a-zA-Z][^\s/<>]*+)(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>")
_NAME: Final = re.compile(r"<([a-zA-Z][^\s/<>]*+)")
_QUOTED: Final = re.compile(r"(<q(?:\s[^<>]*+)?></q>)|<(/?)q(?:\s[^<>]*+)?>", re.IGNORECASE)
# Powers and footnotes, also as links.
_RAISED: Final = re.compile(
    r"(?<=[^\s<])<sup\b[^<>]*+>(?:<a\b[^<>]*+>)?([-+−]?[0-9]{1,6})(?:</a>)?</sup>", re.IGNORECASE
)
_RAISED_FIGURES: Final = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_FORMATTING: Final = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
# The pattern for tags if a parser would take too long. It ends at the next angle bracket, which keeps it
# linear.
_TAG_LIKE: Final = re.compile(r"<[a-zA-Z/!?][^<>]*>?")
# C0 and C1 controls, soft hyphen, zero-width and bidi marks, lone surrogates, non-characters, Unicode tags,
# and the joiners U+200C and U+200D. Joiners spell words in many languages and hold emoji together, so they
# are kept between two letters and between two signs. Anywhere else, or in a row, they are hidden text.
# Unicode tags can spell hidden words, so only those of the three recommended flags are kept.
_INVISIBLE: Final = re.compile(
    "(?P<joiners>[\u200c\u200d]+)"
    "|(?<=\U0001f3f4)(?P<flag>\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    "|\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    "|\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f)"
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
# Kinds of characters (Unicode's general categories) around a joiner. In an emoji, the sign before it may have
# a skin colour (Sk) or a picture selector (Mn).
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc"})
_SIGNS: Final = frozenset({"So", "Sk", "Sm", "Mn"})
# Unicode's combining class of viramas.
_VIRAMA: Final = 9
# Signs that a text of unknown type is HTML, and not words about HTML.
_MARK: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)(\s[^<>]*+)?/?>|<!--")
_OTHER_NAMES: Final = (
    "a abbr acronym applet area audio b base bdi bdo big blink body button canvas caption center cite "
    "code col colgroup data datalist del dfn dialog dir em embed fieldset font form frame frameset head "
    "hgroup html i iframe img input ins kbd label legend link map mark marquee math menu meta meter nobr "
    "noembed noframes noscript object optgroup option output param picture plaintext progress q rb rp rt "
    "rtc ruby s samp script search select slot small source span strike strong style sub sup svg tbody "
    "template textarea tfoot thead time title track tt u var video wbr xmp"
)
_KNOWN: Final = frozenset((*_BLOCKS.split(), *_OTHER_NAMES.split()))
# Of these a single start tag is enough.
_ALONE: Final = frozenset({"br", "hr", "img", "p", "div", "li", "ul", "ol", "table", "blockquote", "iframe"})
# A whole body that was escaped twice by mistake, if it ends two elements at least. A text about HTML rather
# names single tags.
_TWICE: Final = re.compile(
    r"\s*&lt;(?:p|div|br|img|ul|ol|h[1-6]|table|figure|blockquote|span|article|section|a)\b[^<]*"
    r"(?:&lt;/[a-zA-Z][a-zA-Z0-9]{0,15}\s*|/\s*)&gt;\s*",
    re.IGNORECASE,
)
# Reddit's words stand between these. In some of its feeds they alone are escaped twice.
_WORDS_BEGIN, _WORDS_END = "&lt;!-- SC_OFF --&gt;", "&lt;!-- SC_ON --&gt;"
# Characters that publishers escape in running text. Those of tags are not among them: texts are about them.
_SIGN: Final = (
    r"(#(?!0*(?:38|6[02]);|[xX]0*(?:26|3[cCeE]);)(?:[0-9]{2,7}|[xX][0-9a-fA-F]{2,6})|quot|apos|[lr][sd]quo|"
    r"[lr]aquo|[bs]dquo|hellip|[mn]dash|nbsp|szlig|[aeiouyncAEIOUYNC](?:uml|acute|grave|circ|cedil|tilde))"
)
# Where words go on around one of them, it stands for its character: in "I&#39;m", not in "how &nbsp; works".
_LEFT_OVER: Final = re.compile(rf"\w&{_SIGN};|&{_SIGN};\w|(?<=\w )&(amp);(?= \w)|(?<=\w)&(amp);(?=\w)")
_LEFT_OVER_IN_MARKUP: Final = re.compile(_LEFT_OVER.pattern.replace("&", "&amp;"))
_LEFT: Final = re.compile(rf"&(?:{_SIGN}|amp);")
_LEFT_IN_MARKUP: Final = re.compile(rf"&amp;({_SIGN}|amp);")
_ONCE: Final = re.compile(r"<(?:code|pre|kbd|samp|tt)\b|&(?!amp;|nbsp;)[#a-z0-9]+;", re.IGNORECASE)

# A number, or a name to its semicolon, or all letters and digits of a name that "=" does not follow.
_REFERENCE: Final = re.compile(
    r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|([A-Za-z][A-Za-z0-9]{1,31}+(?:;|(?!=))))"
)


def html_to_text(markup: str, *, limit: int = FIELD_MAX_CHARS) -> str:
    """Return `markup` as plain text of at most `limit` characters: no tags, a line per block.

    References are read once: `&lt;b&gt;` in an article is the word `<b>`. As much markup is read, 64 KiB at
    least. Time is linear in the length.
    """
    text = _visible(markup[: max(limit, FIELD_MAX_CHARS)], put=_joined_markup)
    if "<" in text:
        text = _tags_removed(text)
    return clean_text(html.unescape(text) if "&" in text else text, limit=limit)


def clean_text(text: str, *, limit: int = FIELD_MAX_CHARS) -> str:
    """Return plain text without invisible characters, with white space collapsed."""
    text = _visible(text[: max(limit, FIELD_MAX_CHARS)])
    # `splitlines` also splits at "\r", "\x85", "\u2028" and "\u2029", which are not removed as invisible.
    lines = [line.strip() for line in text.splitlines()]
    if text.replace("\n", "").isprintable():  # of white space, blanks alone: most lines have one at a time
        lines = [" ".join(line.split()) if "  " in line else line for line in lines]
    else:
        lines = [" ".join(line.split()) for line in lines]
    return "\n".join([line for line in lines if line])[:limit].rstrip()


def text_cut(text: str, *, is_cut: bool = False) -> str:
    """Return a text of at most 64 KiB. If it was cut, here or before, it ends in an ellipsis."""
    if len(text) <= FIELD_MAX_CHARS and not is_cut:
        return text
    start = text[: FIELD_MAX_CHARS - len(CUT)]
    if len(start) < len(text):
        at = max(start.rfind(space, len(start) - CUT_WORD_MAX) for space in " \n")
        start = start[:at] if at > 0 else start
    return f"{start.rstrip()}{CUT}"


def text_is_cut(text: str) -> bool:
    """Return whether `text_cut` has cut this text."""
    return len(text) >= CUT_MIN_CHARS and text.endswith(CUT)


def guess_to_text(text: str) -> str:
    """Return a title, name or other short text of unknown type as plain text.

    It is read as HTML if it has markup. Otherwise its references are resolved once, because feeds that name
    no type mean HTML.
    """
    return html_to_text(text) if has_markup(text) else clean_text(references_read(text))


def references_read(text: str) -> str:
    """Return `text` with its references to characters read once."""
    return html.unescape(text) if "&" in text else text


def attribute_read(text: str) -> str:
    """Return the value of an attribute with its references read as browsers read them.

    A name without a semicolon is no reference if "=", a letter or a digit follows, so "?a=1&copy=2" stays
    (https://html.spec.whatwg.org/#named-character-reference-state).
    """
    return _REFERENCE.sub(_attribute_reference, text) if "&" in text else text


def _attribute_reference(found: re.Match[str]) -> str:
    whole, name = found[0], found[1]
    return html.unescape(whole) if name is None or name in html.entities.html5 else whole


def has_markup(text: str, *, lone: bool = False) -> bool:
    """Return whether a text of unknown type is HTML: it has an element with its end, an attribute, a break.

    A text that names tags ("the <col> in <colgroup>") is none. `lone` also takes one `<p>`, `<img>` or the
    like for markup, as in bodies. Only elements that HTML knows count.
    """
    if "<" not in text:
        return False
    opened = set[str]()
    for found in _MARK.finditer(text[:FIELD_MAX_CHARS]):
        name = (found[2] or "").lower()
        if not name:
            return True  # a comment
        if name not in _KNOWN:
            continue
        if found[1]:
            if name in opened:
                return True
        elif name == "br" or (lone and name in _ALONE) or "=" in (found[3] or ""):
            return True
        opened.add(name)
    return False


def unwrap(markup: str) -> str:
    """Return a body. If the whole of it was escaped once too often, or Reddit's words in it, undo that."""
    head, begins, rest = markup.partition(_WORDS_BEGIN)
    words, ends, tail = rest.partition(_WORDS_END)
    if begins and ends and "<" not in words:
        return f"{head}{html.unescape(words)}{tail}" if "<" in markup else html.unescape(markup)
    is_twice = "<" not in markup and markup.count("&lt;/") > 1 and _TWICE.fullmatch(markup)
    return html.unescape(markup) if is_twice else markup


def signs_left_read(text: str) -> str:
    """Return a text that was read once, with the signs in it that were escaped twice by mistake.

    "I&#39;m" is "I'm". A text that has another "&" or a backtick is about code, and stays as it is.
    """
    if "&" not in text or "`" in text or not _LEFT_OVER.search(text):
        return text
    if text.count("&") > len(_LEFT.findall(text)):
        return text
    return _LEFT.sub(lambda found: html.unescape(found[0]), text)


def signs_left_once(markup: str) -> str:
    """Return a body whose signs are escaped once: "I&amp;#39;m" is "I&#39;m".

    A body with code in it, or with a sign that is escaped once, stays as it is.
    """
    if "&amp;" not in markup or _ONCE.search(markup) or not _LEFT_OVER_IN_MARKUP.search(markup):
        return markup
    return _LEFT_IN_MARKUP.sub(r"&\1;", markup)


def _visible(text: str, *, put: Callable[[re.Match[str]], str] | None = None) -> str:
    """Return `text` without invisible characters. Most texts need only a check at a fifth of the cost.

    Invisible characters are unprintable, apart from some marks beyond the first 65,536 characters of Unicode.
    Those take four bytes in UTF-16.
    """
    bare = text.replace("\n", "").replace("\t", "").replace("\xa0", "")
    if bare.isprintable() and (bare.isascii() or len(bare.encode("utf-16-le")) == 2 * len(bare)):
        return text
    return _INVISIBLE.sub(put or _joiner, text)


def _joined_markup(found: re.Match[str]) -> str:
    """Replace as `_joined` does, but keep a joiner beside a tag. Its neighbours are known only without the
    tags."""
    is_beside = (
        found.string[found.start() - 1 : found.start()] == ">"
        or found.string[found.end() : found.end() + 1] == "<"
    )
    return found["joiners"] if is_beside and found["joiners"] else _joiner(found)


def _joiner(found: re.Match[str]) -> str:
    """Return a joiner that stands between letters or in an emoji, "" for all else that is invisible."""
    joiner = found["joiners"]
    if not joiner or len(joiner) > 1:
        return found["flag"] or ""
    before, after = (
        found.string[max(0, found.start() - 1) : found.start()],
        found.string[found.end() : found.end() + 1],
    )
    if not before:
        return ""
    kinds = unicodedata.category(before), unicodedata.category(after) if after else ""
    is_spelt = kinds[0] in _LETTERS and kinds[1] in _LETTERS
    # Behind a virama a joiner chooses the form of the letter, at the end of a word, too.
    is_form = unicodedata.combining(before) == _VIRAMA
    is_emoji = joiner == "\u200d" and kinds[0] in _SIGNS and kinds[1] in ("So", "Sm")
    return joiner if is_spelt or is_form or is_emoji else ""


def title_to_text(markup: str) -> str:
    """Return a title as plain text on one line of at most 500 characters."""
    return one_line(html_to_text(markup))


def one_line(text: str, *, limit: int = TITLE_MAX_CHARS) -> str:
    """Return `text` on one line, cut to `limit` characters. If it was cut, it ends in an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _tags_removed(markup: str) -> str:
    spaced = _BLOCK.sub("\n<", _html_alone(_signs_written(markup)))
    return _TAG_LIKE.sub(" ", spaced) if _is_costly(spaced) else _CLEANER.clean(spaced)


def _signs_written(markup: str) -> str:
    """Return `markup` with the signs that a browser draws: small raised figures, and marks of quotation.

    Without them 2<sup>10</sup> is 210.
    """
    if "</sup" in markup or "</SUP" in markup:
        markup = _RAISED.sub(lambda found: found[1].translate(_RAISED_FIGURES), markup)
    if "</q" not in markup and "</Q" not in markup:
        return markup
    return _QUOTED.sub(lambda tag: "" if tag[1] else "”" if tag[2] else "“", markup)


def _html_alone(markup: str) -> str:
    """Return `markup` without the tags of unknown elements, as browsers show it.

    The cleaner takes some of them (`<set>`, `<vector>`, `<text>`) for formulas or drawings and drops their
    content, up to the end of the paragraph if nothing closes them.
    """
    if _KNOWN.issuperset(set(_NAME.findall(markup))):
        return markup
    return _WHOLE_TAG.sub(lambda tag: tag[0] if tag[1].lower() in _KNOWN else "", markup)


def _is_costly(markup: str) -> bool:
    """Return whether an HTML parser might need far more than linear time for `markup`.

    It does if elements nest deeper than `DEPTH_MAX`, or if it has to open more than `REOPENED_MAX` again. An
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
