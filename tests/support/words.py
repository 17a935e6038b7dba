"""The texts marked in code and templates, and the catalogues of their translations.

`python -m tests.support.words` brings each catalogue up to date with the code, keeps translations, and
compiles it.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize
from jinja2 import Environment
from jinja2.ext import extract_from_ast

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
# The functions that mark a text in code, with the number of texts they take.
MARKS = {name: 1 for name in ("_", "gettext", "gettext_lazy", "gettext_noop")}
MARKS |= {name: 2 for name in ("ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy")}
# Patterns for the output of `templatize`.
_STRING = r"u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_CALL = re.compile(rf"\b(_|gettext|pgettext|ngettext|npgettext)\(\s*({_STRING}(?:,\s*{_STRING})*)")
# Pages for operators and programmers are English.
ENGLISH = ("templates/admin/", "templates/api_docs.html", "templates/_api_", "templates/digest/costs.html")
ENGLISH += ("templates/digest/_cost_lines.html",)
# Texts of Django and allauth that we translate again, because theirs address readers differently.
LIBRARIES = Path(__file__).with_name("library_words.txt")
Key = tuple[str, str, str]  # context, singular, plural; "" for none


def templates() -> list[Path]:
    """Return the templates with words for readers."""
    found = (path for path in sorted((ROOT / "templates").rglob("*")) if path.suffix in (".html", ".txt"))
    return [path for path in found if not path.relative_to(ROOT).as_posix().startswith(ENGLISH)]


def texts_of_macros(source: str) -> Iterator[Key]:
    """Yield the texts that a Jinja2 template marks."""
    for _, function, texts in extract_from_ast(Environment().parse(source), (*MARKS, "ngettext")):
        parts = [text for text in texts if text is not None] if isinstance(texts, tuple) else [texts]
        context = parts.pop(0) if function == "pgettext" else ""
        yield context, parts[0], parts[1] if function == "ngettext" else ""


def texts_of_template(source: str) -> Iterator[Key]:
    """Yield the texts that a template marks."""
    for name, arguments in _CALL.findall(templatize(source)):
        texts = [ast.literal_eval(text) for text in re.findall(_STRING, arguments)]
        context = texts.pop(0) if name in ("pgettext", "npgettext") else ""
        yield context, texts[0], texts[1] if name in ("ngettext", "npgettext") else ""


# Texts that are translated, comments, and the block with the classes of a page.
_TRANSLATED = re.compile(
    r"{%\s*blocktranslate\b.*?{%\s*endblocktranslate\s*%}|{#.*?#}|{% block looks %}.*?{% endblock %}",
    re.DOTALL,
)
_CODE = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)
# An example of an English digest says so to readers of other languages.
_EXAMPLE = re.compile(r"(?<=lang=\"en\">).*?(?=<figcaption)", re.DOTALL)
_SILENT = re.compile(
    r"<(script|style|svg|code|kbd)\b.*?</\1>|<!--.*?-->|<!doctype[^>]*>", re.DOTALL | re.IGNORECASE
)
_READ = re.compile(r'\b(?:aria-label|title|placeholder|alt)="([^"]*)"')
_WORD = re.compile(r"[^\W\d_]{2,}")


def words_unmarked(source: str) -> list[str]:
    """Return the words of a template that a reader sees and that no translation can change."""
    plain = _CODE.sub("\x00", _TRANSLATED.sub("\x00", source))
    plain = _EXAMPLE.sub(" ", _SILENT.sub(" ", plain))
    shown = [*_READ.findall(plain), *re.split(r"<[^>]*>|\x00", plain)]
    return [text.strip() for text in shown if _WORD.search(re.sub(r"&\w+;|\x00", "", text))]


def texts_of_module(path: Path) -> Iterator[Key]:
    """Yield the texts that a module marks, also inside of formatted ones."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if name not in MARKS:
            continue
        given = [one.value if isinstance(one, ast.Constant) else None for one in node.args[: MARKS[name]]]
        if all(isinstance(one, str) for one in given):
            texts = ["", *given, ""] if "pgettext" not in name else [*given, ""]
            yield texts[0], texts[1], texts[2]


def texts_of(path: Path) -> Iterator[Key]:
    """Yield the texts that a module, a template or a file of macros marks."""
    if path.suffix == ".py":
        return texts_of_module(path)
    read = texts_of_macros if path.parent.name == "jinja2" else texts_of_template
    return read(path.read_text("utf-8"))


def texts() -> dict[Key, list[str]]:
    """Return every text that is marked, with the files it is in."""
    found: dict[Key, list[str]] = {}
    modules = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    for path in [*templates(), *modules]:
        for key in texts_of(path):
            files = found.setdefault(key, [])
            if (name := path.relative_to(ROOT).as_posix()) not in files:
                files.append(name)
    for name, words in data_words():
        found.setdefault(("", words, ""), [name])
    for line in LIBRARIES.read_text("utf-8").splitlines():
        singular, _, plural = line.partition(" | ")
        if line:
            found.setdefault(("", singular, plural), ["libraries"])
    return found


def data_words() -> Iterator[tuple[str, str]]:
    """Yield the texts that readers see from data: (file, text) of the interests and of the reasons."""
    listed = tomllib.loads((ROOT / "digest/sources/recommended.toml").read_text("utf-8"))["interest"]
    for interest in listed:
        yield "digest/sources/recommended.toml", interest["name"]
    first = import_module("digest.migrations.0001_squashed")
    for _, label, _ in (*first.VALUED, *first.DISLIKED):
        yield "digest/migrations/0001_squashed.py", label
        # As it stands in a sentence.
        yield "digest/migrations/0001_squashed.py", label.lower()


def catalogue_path(language: str) -> Path:
    """Return the path of a language's catalogue."""
    return Path(settings.LOCALE_PATHS[0]) / language / "LC_MESSAGES" / "django.po"


def catalogue(language: str) -> Catalog:
    """Return a language's catalogue as it is stored."""
    with catalogue_path(language).open("rb") as file:
        return read_po(file, locale=language)


def key_of(message: Message) -> Key:
    """Return the text that a message of a catalogue translates."""
    singular, plural = message.id if isinstance(message.id, tuple) else (message.id, "")
    return message.context or "", singular, plural


def forms_of(message: Message) -> list[str]:
    """Return the translations of a message: one, or one for each number, with "" for missing ones."""
    return list(message.string) if isinstance(message.string, tuple | list) else [message.string or ""]


def renewed(old: Catalog, language: str) -> Catalog:
    """Return the catalogue with today's texts, and their translations in `old`."""
    known = {key_of(message): message.string for message in old if message.id}
    new = Catalog(locale=language, project="Tidings", fuzzy=False, charset="utf-8")
    for key, files in sorted(texts().items(), key=lambda pair: (pair[1][0], pair[0][1])):
        context, singular, plural = key
        new.add((singular, plural) if plural else singular, known.get(key), context=context or None,
                locations=[(name, None) for name in files])  # fmt: skip
    return new


ALEPH, BET_GIMEL = "\u05d0", " \u05d1\u05d2"


def made_up(locale: str) -> Catalog:
    """Return a catalogue of English texts with Hebrew letters, a third longer: seen, and in need of room."""
    made = Catalog(locale=locale, charset="utf-8", fuzzy=False)
    for context, singular, plural in texts():
        forms = [_made_up(text) for text in (singular, plural or singular)]
        number = made.num_plurals
        string = tuple([forms[0], *[forms[1]] * (number - 1)]) if plural else forms[0]
        made.add((singular, plural) if plural else singular, string, context=context or None)
    return made


def _made_up(text: str) -> str:
    if text in ("", ".") or re.fullmatch(r"[lDjFMYHi, :]+", text):
        return text  # a sign, or how a date is written
    return ALEPH + text + BET_GIMEL * (len(text) // 12 + 1)


def write(path: Path, made: Catalog) -> None:
    """Store a catalogue and its compiled form, which is all the site reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, made, width=110, omit_header=False, include_lineno=False)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    undated = [
        line for line in lines if not line.startswith(('"POT-Creation', '"PO-Revision', '"Generated-By'))
    ]
    path.write_text("".join(undated), "utf-8")
    path.with_suffix(".mo").write_bytes(compiled(made))


def compiled(made: Catalog) -> bytes:
    """Return a catalogue in its compiled form, without the time it was made."""
    plain = Catalog(locale=made.locale, charset="utf-8", fuzzy=False)
    for message in made:
        if message.id:
            plain.add(message.id, message.string, context=message.context)
    plain.revision_date = plain.creation_date = datetime(2026, 1, 1, tzinfo=UTC)
    file = BytesIO()
    write_mo(file, plain)
    return file.getvalue()


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for language in ("de",):
        path = catalogue_path(language)
        made = renewed(catalogue(language) if path.exists() else Catalog(locale=language), language)
        write(path, made)
        lacking = [message for message in made if message.id and not all(forms_of(message))]
        print(f"{language}: {len(made)} texts, {len(lacking)} without a translation")
