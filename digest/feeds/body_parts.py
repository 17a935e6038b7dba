"""Body parts: what is rewritten in an article before it is cleaned: formulas, late pictures, frames.

Cleaning leaves these out with what is inside them, which would leave a hole in a sentence or take the only
picture. The result is strangers' markup still. Linear time. Pure.
"""

import html
import re
from collections.abc import Callable, Iterator
from typing import Final

_FRAME: Final = re.compile(r"<iframe\b[^<>]*+>", re.IGNORECASE)
_NOSCRIPT: Final = re.compile(r"<(/?)noscript\b[^<>]*+>", re.IGNORECASE)
_MATH: Final = re.compile(r"<(/?)(?:[a-z]{1,8}:)?math\b([^<>]*+)>", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"<(/?)script\b[^<>]*+>", re.IGNORECASE)
_TEX_SCRIPT: Final = re.compile(r"\btype\s*+=\s*+[\"']?+math/tex", re.IGNORECASE)
# The letters of a formula, drawn by KaTeX beside the same formula as MathML.
_DRAWN: Final = re.compile(r"(</math)|<span\b[^<>]*?\bkatex-html\b[^<>]*+>", re.IGNORECASE)
_SPAN: Final = re.compile(r"<(/?)span\b[^<>]*+>", re.IGNORECASE)
_IMAGE: Final = re.compile(r"<img\b", re.IGNORECASE)
_MARK: Final = re.compile(r"<(/?)(?:[a-zA-Z]{1,8}:)?([a-zA-Z]++)([^<>]*+)>|([^<]++)|<")
_ALTTEXT: Final = re.compile(r"\balttext\s*+=\s*+(?:\"([^\"]++)\"|'([^']++)')", re.IGNORECASE)
_TEX: Final = re.compile(r"encoding\s*=\s*[\"'](?:application/x-tex|latex|tex)", re.IGNORECASE)
# What is written of an element of a formula: before its first, second and third part, and after them.
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
    """Return the markup of a body with its formulas as text, and with the pictures for who runs no script."""
    lowered = markup.lower()
    if "<iframe" in lowered and "</iframe" not in lowered:
        markup = _FRAME.sub("", markup)  # never ended: to a browser all that follows would be inside
    if "noscript" in lowered:
        markup = _replaced(markup, _NOSCRIPT, _pictured)
    if "math/tex" in lowered:
        markup = _replaced(markup, _SCRIPT, _scripted)
    if "katex-html" in lowered and "</math" in lowered:
        markup = _without_drawn(markup)
    return _replaced(markup, _MATH, _formula) if "math" in lowered else markup


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


def _replaced(markup: str, tag: re.Pattern[str], put: Callable[[str, str, str], str]) -> str:
    """Return `markup` with each element of `tag` replaced by what `put` makes of it, and what is before."""
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


def _pictured(before: str, tag: str, inside: str) -> str:
    """Return the picture for who runs no script, if it does not stand behind the one it is for."""
    if not _IMAGE.search(inside):
        return f"{tag}{inside}</noscript>"
    last = before.rstrip()
    image = last[last.rfind("<") :] if last.endswith(">") else ""
    is_shown = bool(_IMAGE.match(image)) and bool(
        re.search(r"(?:src|srcset|original)\s*=\s*[\"']?+(?!data:)\S", image)
    )
    return "" if is_shown else inside


def _scripted(before: str, tag: str, inside: str) -> str:
    """Return the TeX that is in a script for MathJax; another script stays, and is left out later."""
    if not _TEX_SCRIPT.search(tag):
        return f"{tag}{inside}</script>"
    return html.escape(" ".join(inside.split())[:FORMULA_MAX_CHARS], quote=False)


def _formula(before: str, tag: str, inside: str) -> str:
    """Return a formula as text: as its author wrote it in TeX, if the feed has that, else its letters."""
    named = _ALTTEXT.search(tag)
    words = html.unescape(named[1] or named[2]) if named else ""
    words = " ".join((words or _written(inside[: FORMULA_MAX_CHARS * 20])).split())[:FORMULA_MAX_CHARS]
    space = " " if before[-1:].isalnum() and words[:1].isalnum() else ""
    return space + html.escape(words, quote=False)


def _written(inside: str) -> str:
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
    """Yield what is written at a tag, and note in `places` which part of which element comes next."""
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
