"""Every kind of change is whole: read back as itself, weighed by thumbs, pinned under its own name."""

import re
from dataclasses import replace

import pytest
from django.conf import settings
from django.utils.translation import override

from ranking.common.text import fold
from ranking.config_words import change_words, pin_rows
from ranking.entities import Config, EffectiveConfig
from ranking.former_texts import fields_of
from ranking.language import stored_text
from ranking.mutes import KINDS as MUTES
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.boosts import BoostKind
from suggestions.changes.change import LESS, NONE, REASONS, Change, ChangeKind, Field, Patterns
from suggestions.changes.columns import TOPICS, Column, attributes_of
from suggestions.changes.mutes import MUTE_WORD, MuteKind, MuteWordKind
from suggestions.changes.phrases import authors_frequent
from suggestions.changes.registry import (
    COLUMN_KINDS,
    PAGE_GROUPS,
    SUGGESTED,
    WISHED,
    change_of_dict,
    change_stored,
    keys_named,
    kind_read,
    kinds_check,
)
from suggestions.changes.topics import ADD_TOPIC, TopicKind
from suggestions.changes.weights import REDUCE_SOURCE
from suggestions.models import Suggestion
from suggestions.planner.hypotheses import evaluate_change
from suggestions.planner.tastes import spreads_for, tallies_of, tastes_of
from suggestions.rules import target_pinned
from suggestions.wording import MEASURED
from tests.support.factories import CLOCK
from tests.support.suggestion_worlds import thumb

SOURCES, AUTHORS = ("a.example", "b.example"), ("Ada Hill", "Ben Lake", "")
THUMBS = [
    replace(thumb(n, source=SOURCES[n % 2], useful=n % 3 > 0, title=f"Harbour {n}"), author=AUTHORS[n // 4])
    for n in range(12)
]
PRESENT = EffectiveConfig(Config(topics=("Crypto",)), {})
GIVEN = {one: [*one.found(THUMBS, {}, PRESENT.config)] or ["Harbour"] for one in COLUMN_KINDS}
ATTRIBUTES = attributes_of(THUMBS, titles={}, given=GIVEN | {TOPICS: ("Crypto", "Harbour")})
TASTES = tastes_of(tallies_of(THUMBS, ATTRIBUTES, CLOCK), spreads_for(ATTRIBUTES, SPREAD_PRIOR))
# Of kinds whose changes thumbs do not name: a stored value.
STORED = {
    "order_by_taste": "on",
    "shelf_life": "6",
    "daily_limit": "3",
    "never_miss": "yes",
    "age_faster": "12",
    "age_slower": "48",
}
COUNTED = [kind for kind in SUGGESTED if kind.column]


def changes_of(kind: ChangeKind) -> list[Change]:
    """Return the kind's changes that the thumbs name, or else a stored one about a source."""
    named = list(kind.candidates(ATTRIBUTES, PRESENT))
    assert named or kind.name in STORED, f"{kind!r} needs a stored value in `STORED`"
    return named or [change_stored(kind=kind.name, target=SOURCES[0], value=STORED[kind.name])]


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_a_change_is_read_back_as_one_of_the_same_kind(kind):
    for change in changes_of(kind):
        read = change_of_dict(change.as_dict())
        assert (read.kind, read.target, read.after) == (kind, change.target, change.after)


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_a_stored_suggestion_has_the_target_of_its_change(kind):
    for change in changes_of(kind):
        stored = change_stored(kind=kind.name, target=change.target, value=change.suggested_value)
        assert (stored.kind, stored.target, stored.after) == (kind, change.target, change.after)


@pytest.mark.parametrize("kind", COUNTED, ids=repr)
def test_a_change_that_the_thumbs_name_is_weighed_by_them(kind):
    found = changes_of(kind)
    assert found
    assert all(0 <= evaluate_change(one, TASTES, ATTRIBUTES).p_helpful <= 1 for one in found)


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_a_pin_of_its_target_holds_and_of_nothing_else_on_the_setting(kind):
    for change in changes_of(kind):
        for pin, holds in ((change.target, True), ("another", False)):
            pinned = replace(PRESENT, config=replace(PRESENT.config, locked=(pin,)))
            assert target_pinned((change.field, change.target), pinned) is holds


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_its_cards_have_a_heading_and_a_pin_of_its_target_a_name_that_readers_know(kind):
    assert kind.group in PAGE_GROUPS and all(kind.group)
    for change in changes_of(kind):
        names = {change.target: "Morning Post"} if kind.of_source else {}
        [(heading, [row])] = pin_rows(names, (), (change.target,), (), {}).items()
        is_marked = change.target.startswith(f"{change.variant}:")
        other = "Authors and words to hide" if is_marked else "Topics"
        assert heading == {"sources": "Sources", "page": "Your page"}.get(kind.group[0], other)
        known = kind.name_of(change.label, names).lower()
        named = row.name.lower().removesuffix(f" ({change.variant})")
        assert (named == known) is not kind.of_page and row.name != kind.key("")
        row_of_version = {"field": "locked", "target": change.target, "before": False, "after": True}
        assert row.name in change_words(row_of_version, names)


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_what_the_check_says_of_it_can_be_shown_in_a_readers_language(kind):
    measured = kind.measured("Rust", (3, 9, 4, 20))
    fits = [pattern for pattern in MEASURED if fields_of(pattern).fullmatch(measured)]
    assert fits, f"`MEASURED` in suggestions/wording.py lacks a pattern of: {measured}"
    with override("de"):
        assert stored_text(measured, MEASURED) != measured, f"config/locale/de does not translate: {fits[0]}"


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_what_is_hidden_is_measured_by_thumbs_from_before(kind):
    assert ("Before" in kind.measured("Rust", (3, 9, 4, 20))) is kind.hides


def test_a_pin_of_an_author_is_none_of_a_word():
    assert "ada" in keys_named("mutes", "word:Ada") & keys_named("mutes", "Ada")
    assert "ada" not in keys_named("mutes", "author:Ada")


def test_each_type_of_mute_is_read_as_the_kind_that_may_be_suggested_of_it_if_any():
    suggested = {one: kind for kind in SUGGESTED if kind.field is Field.MUTES for one in kind.variants}
    read = {variant: kind_read("mutes", NONE, variant) for variant in MUTES}
    assert {one: kind for one, kind in read.items() if kind in SUGGESTED} == suggested
    assert suggested["word"] is MUTE_WORD and set(read.values()) & set(WISHED)


class SecondKind(MuteWordKind):
    """A second type of target on the setting of mutes, one that no kind of the product may take."""

    variants = ("second",)
    group = ("second", "Second things to hide")

    def key(self, label):
        return f"second:{label}"


def test_a_second_type_of_target_on_a_setting_is_taken_with_keys_of_its_own():
    kind = SecondKind(NONE)
    kinds_check([*SUGGESTED, kind])  # it raises what is missing
    assert kind.key("a.example") not in {one.key("a.example") for one in SUGGESTED}


class AuthorColumn(Column):
    """A column of one's own."""

    of_authors = True

    def found(self, rated, titles, config):
        return [one.label for one in authors_frequent(rated, titles)]


class AuthorKind(SecondKind):
    """A kind with a finder of its own, and so with a column of its own."""

    column = AuthorColumn("authors", fold)

    def finder(self, label):
        return lambda item: fold(label) in item.labels

    def candidates(self, attributes, effective):
        for name in attributes.labels(self.column).values():
            yield Change(self, self.key(name), name, False, True, self.variants[0])


@pytest.fixture
def authors(monkeypatch) -> AuthorKind:
    kind = AuthorKind(NONE)
    kinds_check([*SUGGESTED, kind])
    monkeypatch.setitem(COLUMN_KINDS, kind.column, kind)
    return kind


def test_a_kind_brings_its_column_and_thumbs_are_counted_there_by_its_finder(authors):
    found = attributes_of(THUMBS, titles={}, given={authors.column: authors.column.found(THUMBS, {}, None)})
    tastes = tastes_of(tallies_of(THUMBS, found, CLOCK), spreads_for(found, SPREAD_PRIOR))
    assert found.authors == {"ada hill", "ben lake"}
    for change in authors.candidates(found, PRESENT):
        own, topic = (
            evaluate_change(one, tastes, found) for one in (change, replace(change, kind=ADD_TOPIC))
        )
        assert own.merit == topic.merit > 0, (
            "an author is compared within their sources, as one of the topics"
        )
        assert found.is_author(authors.column, authors.column.key(change.label))
        assert not found.is_author(MUTE_WORD.column, "ada hill")
    assert {change.label for change in authors.candidates(found, PRESENT)} == {"Ada Hill", "Ben Lake"}


@pytest.mark.parametrize("mark", [*MUTES, "rust"])
def test_a_pin_of_a_target_with_a_mark_is_named_without_it(mark):
    for pin, name in ((f"{mark}:ada hill", f"ada hill ({mark})"), (f"{mark}:", f"{mark}:")):
        name = name if mark in MUTES else pin
        [(_heading, [row])] = pin_rows({}, (), (pin,), (), {}).items()
        row_of_version = {"field": "locked", "target": pin, "before": False, "after": True}
        assert row.name == name and change_words(row_of_version) == f"“{name}” locked against suggestions"


class KeyedAsWords(MuteWordKind):
    variants, group = SecondKind.variants, SecondKind.group


class HeadedAsWords(SecondKind):
    group = MuteWordKind.group


class OneARun(SecondKind):
    has_own_rule = True


class WithoutColumn(MuteKind):
    variants = SecondKind.variants
    candidates, read, stored = MuteWordKind.candidates, MuteWordKind.read, MuteWordKind.stored


class WithoutRescore(SecondKind):
    hides = False


class LessOfWordKind(BoostKind):
    """Asks for what could only be wished for, as the wish does it."""

    read, stored, has_own_rule = MuteWordKind.read, MuteWordKind.stored, True
    group = ("boosts", "Words to lower")


class OtherLessOfWordKind(LessOfWordKind):
    def make(self, body, change):
        body["keyword_boosts"] = {}


def test_what_could_only_be_wished_for_may_be_suggested_as_the_wish_does_it():
    kinds_check([LessOfWordKind(LESS, liked=False)])  # it raises what is missing


@pytest.mark.parametrize(
    ("kind", "part"), [(OtherLessOfWordKind(LESS, liked=False), "make"), (LessOfWordKind(LESS), "liked")]
)
def test_a_kind_that_takes_over_stored_wishes_and_does_something_else_is_refused(kind, part):
    said = f"reads the stored wishes of <keyword_boosts less>, with another `{part}`: give it a direction"
    with pytest.raises(TypeError, match=said) as refused:
        kinds_check([kind])
    assert f"derive it from `BoostKind` with the same `{part}`" in str(refused.value)
    assert "or take its variant out of that wish's `variants`" in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            SecondKind(NONE, patterns=Patterns("reductions_backfire")),
            "<mutes none> has the pattern `reductions_backfire` of <reduce_source less>: give it one",
        ),
        (
            SecondKind(NONE, patterns=Patterns(REDUCE_SOURCE.patterns.barred_by)),
            "has the pattern `never_reduce_sources` of <reduce_source less>",
        ),
        (WithoutRescore(NONE), "needs `rescore`: without one the check after two weeks finds no effect"),
        (KeyedAsWords(NONE), "gives its targets the keys of <mute_word none>: give it a `key` of its own"),
        (
            MuteWordKind(NONE),
            "is read as <mute_word none>: give it `variants` or a direction of its own",
        ),
        (HeadedAsWords(NONE), "has the heading of <mute_word none>: give it a `group` of its own"),
        (WithoutColumn(NONE), "needs a `column`, where thumbs are counted"),
        (OneARun(NONE), "and <mute_word none> need the same `has_own_rule`: a run counts settings"),
        (MuteKind(LESS), "needs a method `read`"),
        (TopicKind(ADD_TOPIC.direction), "is read as <add_topic add>"),
    ],
)
def test_a_kind_that_lacks_something_is_refused_with_a_sentence_that_names_it(kind, said):
    with pytest.raises(TypeError, match=said.replace("`", ".")):
        kinds_check([*SUGGESTED, kind])


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_every_reason_that_is_stored_can_be_shown_in_a_readers_language(kind: ChangeKind):
    """A sentence that is in no list is shown in English, and the hostile suite takes it for a model's."""
    sentences = [fields_of(text) for text in REASONS]
    for counts in ((4, 6, 0, 0), (4, 6, 2, 5)):
        for is_author in (False, True):
            reason = kind.reason("Harbour", counts, is_author=is_author)
            assert any(one.fullmatch(reason) for one in sentences), reason


def test_the_table_of_the_docs_has_every_kind_with_its_setting():
    table = (settings.BASE_DIR / "docs/suggestions.md").read_text().split("| kind | on the card |")[1]
    rows = [row.split(" | ") for row in table.split("\n\n")[0].splitlines()[2:]]
    told = {
        code: field.strip("`") for codes, _card, field, *_ in rows for code in re.findall(r"`(\w+)`", codes)
    }
    assert told == {kind.name: str(kind.field) for kind in SUGGESTED}


@pytest.mark.parametrize("kind", SUGGESTED, ids=repr)
def test_its_code_and_its_setting_fit_into_their_columns(kind):
    for name, value in (("suggestion_type", kind.name), ("field", kind.field)):
        assert len(value) <= Suggestion._meta.get_field(name).max_length, f"{value} is too long"
