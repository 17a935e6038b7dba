"""Catalogues are complete and match the code, and every text of a page can be translated."""

import ast
import re
import string

import pytest
from django.conf import settings

from tests.support import words

LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
CATALOGUES = [path.parent.parent.name for path in sorted(settings.LOCALE_PATHS[0].glob("*/LC_MESSAGES/*.po"))]
# Names, and code inside texts.
NAMES = {"Tidings", "· Tidings", "-- \nTidings,", "· tidings_", 'data-theme="', "JSON", "OPML"}
# Publishers in the sample for visitors.
NAMES |= {"Upstream Notes ·", "· The Long Spoke ·", "· Quiet Port ·", "· Upstream Notes ·"}
MARKED_AT_IMPORT = {"gettext_noop", "gettext_lazy", "pgettext_lazy", "ngettext_lazy"}
LOOKED_UP = {"_", "gettext", "ngettext", "pgettext"}


def fields_of(text: str) -> set[str]:
    """Return the fields of a text for values."""
    braces = {name for _, name, _, _ in string.Formatter().parse(text.replace("%", "%%")) if name is not None}
    return braces | set(re.findall(r"%\((\w+)\)s", text))


def tags_of(text: str) -> list[str]:
    """Return the HTML tags in a text, in any order."""
    return sorted(re.findall(r"</?[a-z][^>]*>", text))


def test_every_language_on_offer_has_a_catalogue_and_none_lies_unused():
    assert CATALOGUES == LANGUAGES


@pytest.mark.parametrize("language", CATALOGUES)
def test_a_catalogue_has_the_texts_of_the_code_and_no_others(language: str):
    stored = {words.key_of(message) for message in words.catalogue(language) if message.id}
    marked = set(words.texts())
    assert (marked - stored, stored - marked) == (set(), set()), "run python -m tests.support.words"


@pytest.mark.parametrize("language", CATALOGUES)
def test_every_text_is_translated(language: str):
    lacking = [
        words.key_of(message)
        for message in words.catalogue(language)
        if message.id and not all(words.forms_of(message))
    ]
    assert lacking == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_a_translation_takes_the_same_values_and_tags(language: str):
    wrong = []
    for message in words.catalogue(language):
        _, singular, plural = words.key_of(message)
        allowed, forms = fields_of(singular) | fields_of(plural), words.forms_of(message)
        for form in forms if message.id else []:
            # A singular form may say "one" in words.
            needed = fields_of(plural or singular) if form == forms[-1] else set()
            right = needed <= fields_of(form) <= allowed and tags_of(form) == tags_of(plural or singular)
            wrong += [] if right else [(singular, form)]
    assert wrong == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_the_compiled_catalogue_is_that_of_the_stored_one(language: str):
    compiled = words.catalogue_path(language).with_suffix(".mo").read_bytes()
    assert compiled == words.compiled(words.catalogue(language)), "run python -m tests.support.words"


def test_german_says_du_and_quotes_as_germans_do():
    forms = [form for message in words.catalogue("de") if message.id for form in words.forms_of(message)]
    plain = [re.sub(r"<[^>]*>|“Less crypto.*?”", "", form) for form in forms]
    formal = [
        form for form in plain if re.search(r"(?<![.:!?] )(?<!^)\b(Sie|Ihnen|Ihrem|Ihren|Ihrer)\b", form)
    ]
    quotes = [form for form in plain if '"' in form or form.count("„") != form.count("“")]
    assert (formal, quotes) == ([], [])


@pytest.mark.parametrize("path", words.templates(), ids=lambda path: path.relative_to(words.ROOT).as_posix())
def test_no_template_has_words_that_cannot_be_translated(path):
    found = [text for text in words.words_unmarked(path.read_text("utf-8")) if text not in NAMES]
    assert found == []


def test_no_style_sheet_of_readers_writes_words():
    sheets = [path for path in (words.ROOT / "static").glob("*.css") if path.name != "operators.css"]
    pattern = re.compile(r'content: *"[^"]*[a-zA-Z]{2}')
    written = [(path.name, text) for path in sheets for text in pattern.findall(path.read_text("utf-8"))]
    assert sheets and written == []


def test_words_without_a_mark_are_found():
    page = '<p aria-label="Help">{% translate "Yes" %} <b>No</b></p>'
    page += "{% blocktranslate %}Maybe{% endblocktranslate %}"
    assert words.words_unmarked(page) == ["Help", "No"]


def test_no_text_is_looked_up_while_modules_are_imported():
    early = [
        f"{path.relative_to(words.ROOT)}:{node.lineno}"
        for room in words.ROOMS
        for path in sorted((words.ROOT / room).rglob("*.py"))
        for node in calls_at_import(ast.parse(path.read_text("utf-8")))
        if isinstance(node.func, ast.Name) and node.func.id in LOOKED_UP
    ]
    assert early == []


def calls_at_import(node: ast.AST) -> list[ast.Call]:
    """Return the calls outside function bodies, which run when a module is imported."""
    found = [node] if isinstance(node, ast.Call) else []
    if isinstance(node, ast.Lambda):
        return found
    bodies = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    for child in ast.iter_child_nodes(node):
        found += calls_at_import(child) if child not in bodies else []
    return found


# Words of our machinery: a reader sees effects, not their mechanism.
MACHINERY = re.compile(
    r"\b(weights?|half-life|candidates?|exposures?|nDCG|propensity|posterior|embeddings?)\b"
    r"|\b(score share|version in force)\b|\b(Gewichte?|Gewichtung|Halbwertszeit|Kandidat\w*|Exposition\w*)\b",
    re.IGNORECASE,
)
VALUE = re.compile(r"\{\w*\}|%\(\w+\)s")


@pytest.mark.parametrize("language", CATALOGUES)
def test_no_text_for_readers_names_the_machinery(language: str):
    said = set(words.texts())
    for message in words.catalogue(language):
        said |= set(words.forms_of(message))
    texts = (text if isinstance(text, str) else " ".join(map(str, text)) for text in said)
    assert [text for text in texts if MACHINERY.search(VALUE.sub("", text))] == []


# What pages could say beside the one word that all of them use, by that word.
OTHER_WORDS = {
    "rating": re.compile(r"\bthumbs?\b|\bDaumen", re.IGNORECASE),
    "no": re.compile(
        r"\byou (turned|declined|refused|rejected)\b|\bturned (this |it )?down\b|\bdu\b[^.]*\babgelehnt",
        re.IGNORECASE,
    ),
}


@pytest.mark.parametrize("word", OTHER_WORDS)
@pytest.mark.parametrize("language", CATALOGUES)
def test_pages_have_one_word_for_a_rating_and_one_for_a_no(language: str, word: str):
    said = [text for key in words.texts() for text in key]
    said += [form for message in words.catalogue(language) for form in words.forms_of(message)]
    assert [text for text in said if OTHER_WORDS[word].search(VALUE.sub("", text))] == []
