"""Rewrite parts of an article before it is cleaned: formulas, late pictures, frames, forms.

Cleaning alone would drop formulas and late pictures, which leaves holes in sentences, and would keep the
words of forms, which are no part of an article. The result is still strangers' markup. Linear time. Pure.
"""

import html
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from textwrap import dedent
from typing import Final

from digest.feeds.sanitise import attribute_read

# The rest of a tag: a ">" within quotes does not end it, unless quotes are missing.
_REST: Final = r"(?:(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>|[^<>]*+>)"
_FRAME: Final = re.compile(r"<iframe\b[^<>]*+>", re.IGNORECASE)
_NOSCRIPT: Final = re.compile(r"<(/?)noscript\b[^<>]*+>", re.IGNORECASE)
_MATH: Final = re.compile(rf"<(/?)(?:[a-z]{{1,8}}:)?math\b{_REST}", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"<(/?)script\b[^<>]*+>", re.IGNORECASE)
_TEX_SCRIPT: Final = re.compile(r"\btype\s*+=\s*+[\"']?+math/tex", re.IGNORECASE)
# The letters of a formula, drawn by KaTeX beside the same formula as MathML.
_DRAWN: Final = re.compile(r"(</math)|<span\b[^<>]*?\bkatex-html\b[^<>]*+>", re.IGNORECASE)
_SPAN: Final = re.compile(r"<(/?)span\b[^<>]*+>", re.IGNORECASE)
_FORM: Final = re.compile(r"<(/?)form\b[^<>]*+>", re.IGNORECASE)
CONTROLS: Final = ("button", "select", "textarea", "datalist")
_CONTROL: Final = re.compile(rf"<(/?)(?:{'|'.join(CONTROLS)})\b[^<>]*+>", re.IGNORECASE)
_ASKS: Final = re.compile(r"<(?:input|button|select|textarea)\b", re.IGNORECASE)
_BOX: Final = re.compile(r"<input\b([^<>]*\btype\s*+=\s*+[\"']?checkbox\b[^<>]*+)>", re.IGNORECASE)
# A picture or font inside a `data:` address. No page shows those.
_EMBEDDED: Final = re.compile(r"(?<=[\"'=(])data:[\w/+.;=,-]{1,80};base64,[^\"'<>\s)]*+")
_CHECKED: Final = re.compile(r"\schecked\b", re.IGNORECASE)
_ANY_TAG: Final = re.compile(r"<[^<>]*+>")
# A form with more words is the article, around which some programs write one.
FORM_MAX_WORDS: Final = 60
FORM_MAX_CHARS: Final = 20_000
_INDENTED: Final = re.compile(r"\A {2,}")
INDENT_MAX: Final = 40
LINE_MAX_CHARS: Final = 10_000
_IMAGE: Final = re.compile(r"<img\b", re.IGNORECASE)
# File names of pictures, and the placeholders for pictures that load late.
PICTURE_NAME: Final = re.compile(r"\.(?:jpe?g|png|webp|avif|gif)(?:[?#][^\s\"'<>]*)?\Z", re.IGNORECASE)
PLACEHOLDER: Final = re.compile(
    r"(?:\A|[/_.-])(?:blank|spacer|none|pixel|placeholder|transparent|trans|grey|loading|lazy|1x1)"
    r"(?:[_.-][\w-]{0,20})?\.(?:gif|png|svg|jpe?g)(?:\?[^?]{0,200})?\Z",
    re.IGNORECASE,
)
_IMAGE_TAG: Final = re.compile(rf"<img\b{_REST}", re.IGNORECASE)
_ALT: Final = re.compile(r"\balt\s*+=\s*+(?:\"([^\"]++)\"|'([^']++)')", re.IGNORECASE)
# Pictures of letters: emoji, and formulas of WordPress and of those that draw TeX.
_SPELLS: Final = re.compile(
    r"\bclass\s*+=\s*+[\"'][^\"']*\b(?:wp-smiley|emoji|latex|tex|mwe-math\S*|mathtex)(?![\w-])"
    r"|/latex\.(?:php|codecogs)|\blatex\.codecogs\.com/|/(?:twemoji|emoji)/",
    re.IGNORECASE,
)
SPELT_MAX_CHARS: Final = 500
# Signs and emoji stand behind this character.
GENERAL_PUNCTUATION: Final = "\u206f"
_VALUE: Final = re.compile(r"(?<![\w-])([\w-]++)\s*+=\s*+[\"']?+([^\s\"'<>]++)")
_SOURCE_NAMES: Final = ("src", "srcset", "original")
_MARK: Final = re.compile(r"<(/?)(?:[a-zA-Z]{1,8}:)?([a-zA-Z]++)([^<>]*+)>|([^<]++)|<")
_ALTTEXT: Final = re.compile(r"\balttext\s*+=\s*+(?:\"([^\"]++)\"|'([^']++)')", re.IGNORECASE)
_TEX: Final = re.compile(r"encoding\s*=\s*[\"'](?:application/x-tex|latex|tex)", re.IGNORECASE)
# The text written for an element of a formula: before its first, second and third part, and at the end.
_SHAPES: Final = {
    "msup": ("", "^{", "", "}"),
    "msub": ("", "_{", "", "}"),
    "msubsup": ("", "_{", "}^{", "}"),
    "munder": ("", "_{", "", "}"),
    "mover": ("", "^{", "", "}"),
    "munderover": ("", "_{", "}^{", "}"),
    "mfrac": ("(", ")/(", "", ")"),
    "msqrt": ("√(", "", "", ")"),
    "mroot": ("√(", ", ", "", ")"),
    "mtd": ("", "", "", " "),
    "mtr": ("", "", "", "; "),
}
FORMULA_MAX_CHARS: Final = 2_000


def body_prepared(markup: str) -> str:
    """Return the markup of a body with formulas and check boxes as text, and without form fields.

    It keeps the pictures meant for readers without scripts.
    """
    if ";base64," in markup:
        markup = _ANY_TAG.sub(lambda tag: _EMBEDDED.sub("data:", tag[0]), markup)
    lowered = markup.lower()
    if "<img" in lowered and "alt" in lowered:
        markup = _IMAGE_TAG.sub(_spelt, markup)
    if "<iframe" in lowered and "</iframe" not in lowered:
        markup = _FRAME.sub("", markup)  # never ended: to a browser all that follows would be inside
    if "noscript" in lowered:
        markup = _replace(markup, _NOSCRIPT, _picture_of)
    if "</form" in lowered:
        markup = _replace(markup, _FORM, _form)
    if any(f"</{name}" in lowered for name in CONTROLS):
        markup = _replace(markup, _CONTROL, lambda before, tag, inside: " ")
    if "checkbox" in lowered:
        markup = _BOX.sub(lambda box: "☑ " if _CHECKED.search(box[1]) else "☐ ", markup)
    if "math/tex" in lowered:
        markup = _replace(markup, _SCRIPT, _formula_of)
    if "katex-html" in lowered and "</math" in lowered:
        markup = _without_drawn(markup)
    return _replace(markup, _MATH, _formula) if "math" in lowered else markup


def plain_layout(text: str) -> str:
    """Return a plain text as HTML with its blank lines and indentation, or "" if it has neither.

    A part with mostly indented lines is code or a table, and keeps its columns.
    """
    first, *rest = text.expandtabs(4).strip("\r\n").splitlines() or [""]
    # The indentation shared by all lines but the first belongs to the document, so it goes.
    lines = [first.strip(), *dedent("\n".join(rest)).splitlines()]
    if not any(_INDENTED.match(line) or not line.strip() for line in lines):
        return ""
    parts = list[str]()
    for is_blank, some in groupby(lines, key=lambda line: not line.strip()):
        part = [html.escape(line.rstrip()[:LINE_MAX_CHARS], quote=False) for line in some]
        if is_blank:
            continue
        indented = sum(bool(_INDENTED.match(line)) for line in part)
        if len(part) > 1 and indented > len(part) / 2:
            parts.append(f"<pre>{chr(10).join(part)}</pre>")
        else:
            parts.append(f"<p>{'<br>'.join(_INDENTED.sub(_indent_preserved, line) for line in part)}</p>")
    return "\n".join(parts)


def _indent_preserved(indent: re.Match[str]) -> str:
    """Return an indentation as spaces that browsers keep."""
    return "\xa0" * min(len(indent[0]), INDENT_MAX)


def _form(before: str, tag: str, inside: str) -> str:
    """Return "" for a form that asks its reader for something, such as an address for a newsletter."""
    words = _ANY_TAG.sub(" ", inside[:FORM_MAX_CHARS]).split()
    is_asking = _ASKS.search(inside) and len(inside) <= FORM_MAX_CHARS and len(words) <= FORM_MAX_WORDS
    return " " if is_asking else f"{tag}{inside}</form>"


def _without_drawn(markup: str) -> str:
    """Return `markup` without formulas drawn in letters, each behind the same formula as MathML."""
    parts, at, is_second = list[str](), 0, False
    for found in _DRAWN.finditer(markup):
        if found[1] or not is_second or found.start() < at:
            is_second = is_second or bool(found[1])
            continue
        depth, is_second = 0, False
        for span in _SPAN.finditer(markup, found.start()):
            depth += -1 if span[1] else 0 if span[0].endswith("/>") else 1
            if not depth:
                parts.append(markup[at : found.start()])
                at = span.end()
                break
        else:
            break  # never ended: all that follows would be inside
    return "".join([*parts, markup[at:]])


def _replace(markup: str, tag: re.Pattern[str], put: Callable[[str, str, str], str]) -> str:
    """Return `markup` with each element of `tag` replaced by `put(text before it, start tag, content)`."""
    parts, at = list[str](), 0
    start: re.Match[str] | None = None
    for found in tag.finditer(markup):
        if not found[1]:
            start = start or found
        elif start:
            before = markup[at : start.start()]
            parts += [before, put(before, start[0], markup[start.end() : found.start()])]
            at, start = found.end(), None
    return "".join([*parts, markup[at:]])


def _picture_of(before: str, tag: str, inside: str) -> str:
    """Return the picture for who runs no script, if it does not stand behind the one it is for."""
    if not _IMAGE.search(inside):
        return f"{tag}{inside}</noscript>"
    last = before.rstrip()
    image = last[last.rfind("<") :] if last.endswith(">") else ""
    is_shown = _IMAGE.match(image) and any(
        (name.lower().endswith(_SOURCE_NAMES) or PICTURE_NAME.search(value))
        and not value.startswith("data:")
        and not PLACEHOLDER.search(value)
        for name, value in _VALUE.findall(image)
    )
    return "" if is_shown else inside


def _spelt(image: re.Match[str]) -> str:
    """Return the letters that a picture draws, such as an emoji or a formula. Other pictures stay pictures.

    The letters belong to a sentence, which would have a hole without them. Pages do not show pictures that
    are embedded in the document.
    """
    found = _ALT.search(image[0])
    letters = attribute_read(found[1] or found[2]).strip() if found else ""
    if not letters or len(letters) > SPELT_MAX_CHARS:
        return image[0]
    is_sign = not any(one.isalnum() for one in letters) and max(letters) > GENERAL_PUNCTUATION
    values = [
        (name.lower(), value) for name, value in _VALUE.findall(image[0] if "data:" in image[0] else "")
    ]
    is_written = any(name == "src" and value.startswith("data:") for name, value in values)
    is_late = any(name != "src" and name.endswith(_SOURCE_NAMES) for name, _ in values)
    is_spelt = is_sign or bool(_SPELLS.search(image[0])) or (is_written and not is_late)
    return html.escape(letters, quote=False) if is_spelt else image[0]


def _formula_of(before: str, tag: str, inside: str) -> str:
    """Return the TeX of a MathJax script. Any other script stays here and is dropped later."""
    if not _TEX_SCRIPT.search(tag):
        return f"{tag}{inside}</script>"
    return html.escape(" ".join(inside.split())[:FORMULA_MAX_CHARS], quote=False)


def _formula(before: str, tag: str, inside: str) -> str:
    """Return a formula as text: as its author wrote it in TeX, if the feed has that, else its letters."""
    named = _ALTTEXT.search(tag)
    words = attribute_read(named[1] or named[2]) if named else ""
    words = " ".join((words or _tex_of(inside[: FORMULA_MAX_CHARS * 20])).split())[:FORMULA_MAX_CHARS]
    space = " " if before[-1:].isalnum() and words[:1].isalnum() else ""
    return space + html.escape(words, quote=False)


def _tex_of(inside: str) -> str:
    tex, letters, annotated = list[str](), list[str](), ""
    places: list[tuple[str, int]] = []
    for closing, name, rest, text in _MARK.findall(inside):
        name = name.lower()
        if name in ("annotation", "annotation-xml"):
            annotated = "" if closing else "tex" if _TEX.search(rest) else "other"
        elif text:
            (tex if annotated == "tex" else [] if annotated else letters).append(html.unescape(text).strip())
        elif name and not annotated and rest[-1:] != "/":
            letters += _shape_marks(places, name, closing)
    return "".join(tex) or "".join(letters)


def _shape_marks(places: list[tuple[str, int]], name: str, closing: str) -> Iterator[str]:
    """Yield the text to write at a tag, and note in `places` which part of which element comes next."""
    if closing:
        while places:
            open_name, _ = places.pop()
            yield _SHAPES.get(open_name, ("", "", "", ""))[3]
            if open_name == name:
                break
        return
    if places:
        parent, place = places[-1]
        if 0 < place < 3:
            yield _SHAPES.get(parent, ("", "", "", ""))[place]
        places[-1] = parent, place + 1
    yield _SHAPES.get(name, ("", "", "", ""))[0]
    places.append((name, 0))
