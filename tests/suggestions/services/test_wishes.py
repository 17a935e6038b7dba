"""Wishes become drafts that nothing applies, within the rules; a yes makes one version with the words."""

from datetime import timedelta

import pytest
from django.core import signing
from django.utils import translation

from digest.items import taken_in
from digest.items.vectors import item_vectors_update
from digest.models import Reader
from ranking.entities import WEIGHT_MAX, WEIGHT_MIN
from ranking.mutes import MuteFilter
from ranking.selectors import config_effective, config_version, config_versions
from ranking.services import ConfigEdit, config_edit, config_revert
from suggestions.proposals import WEIGHT_STEP_MAX, Refusal
from suggestions.services.wishes import (
    SALT,
    WishAccepted,
    WishAnswer,
    wish_accept,
    wish_drafts_again,
    wishes_draft,
)
from suggestions.wishes.changes import BOOST_WISHED_MAX
from suggestions.wishes.wish import WISH_CHARS_MAX, WISHES_MAX
from tests.advisor.hostile.payloads import FORMS, INJECTIONS
from tests.digest.items.test_meanings import ABOUT_TENNIS, OTHERS, SAY_TENNIS
from tests.support.factories import CLOCK, FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.support.thinned import mostly_nightly

pytestmark = pytest.mark.django_db
WORDS = "Less crypto, more from Gazette, no football until Friday"
ATTACKS = [
    text for injection in INJECTIONS for n, form in enumerate(FORMS) for text in injection.planted(form, n)
]
LURES = (
    "more crypto. {}",
    "less from Gazette and {}",
    "{} and set all weights to 5",
)


def carry(reader: Reader, key: str, *titles: str, **fields: object) -> None:
    """Give the reader a source with these titles, an hour apart."""
    source = SourceFactory(key=key)
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
    for n, title in enumerate(titles):
        at = CLOCK - timedelta(hours=n + 1)
        ItemFactory(source=source, title=title, published_at=at, first_seen_at=at, dated_at=at, **fields)


@pytest.fixture
def reads(ada: Reader, ben: Reader) -> Reader:
    """Ada reads two sources, Ben a third that Ada does not."""
    carry(ada, "gazette.example", "Crypto falls", "Football cup final", "A bridge opens")
    carry(ada, "herald.example", "Crypto rises", "Chess openings", author="Jane Smith")
    carry(ben, "ledger.example", "Secret ledgers of the harbour", author="Ben Secret")
    return ada


def asked(reader: Reader, words: str) -> WishAnswer:
    answer = wishes_draft(reader=reader, words=words, now=CLOCK)
    assert isinstance(answer, WishAnswer)
    return answer


def accepted(reader: Reader, signed: str) -> WishAccepted:
    done = wish_accept(reader=reader, signed=signed, now=CLOCK)
    assert isinstance(done, WishAccepted), done
    return done


def test_a_subject_that_is_wished_for_counts_by_meaning_and_shows_what_it_takes_in(ada: Reader):
    carry(ada, "gazette.example", *SAY_TENNIS, ABOUT_TENNIS, *OTHERS, language="en")
    item_vectors_update(now=CLOCK)
    (draft,) = asked(ada, "less tennis").drafts
    titles = {item.title: item.item_id in draft.by_meaning for item in draft.items}
    assert len(titles) == 5 and titles[ABOUT_TENNIS] and not titles[SAY_TENNIS[0]]
    assert draft.about == len(SAY_TENNIS) + len(draft.by_meaning)
    assert draft.sentence == "Less about “tennis”"
    accepted(ada, draft.signed)
    config = config_effective(reader_id=ada.pk).config
    assert (config.keyword_boosts, config.by_meaning) == ({"tennis": -0.5}, ("tennis",))
    (draft,) = asked(ada, "more tennis").drafts
    accepted(ada, draft.signed)
    config = config_effective(reader_id=ada.pk).config
    assert (config.keyword_boosts, config.by_meaning) == ({}, ())
    assert asked(ada, "add tennis to my interests").drafts[0].by_meaning
    assert not asked(ada, "mute tennis").drafts[0].by_meaning


@pytest.mark.parametrize(
    ("topics", "names", "words", "found"),
    [
        (["politics"], [], "weniger Politik", "politics"),
        (["Politik"], [], "less politics", "Politik"),
        (["politics", "Wimbledon"], [], "weniger Politik", "politics"),
        (["tennis"], ["Wimbledon", "Tennissport"], "weniger Tennissport", "tennis"),
        (["tennis"], ["Wimbledon"], "less about Wimbledon", "tennis"),
        (["tennis"], [], "weniger Politik", "Politik"),
    ],
)
def test_a_wish_finds_the_readers_own_topic_by_any_of_its_names(
    reads: Reader, topics: list[str], names: list[str], words: str, found: str
):
    edit = ConfigEdit(topics=topics, other_names={topics[0]: names})
    config_edit(reader_id=reads.pk, edit=edit, expected_version=0, now=CLOCK)
    (draft,) = asked(reads, words).drafts
    assert (draft.change.label, draft.change.after) == (found, -0.5)


def test_a_german_wish_takes_in_what_is_filed_in_english_and_the_other_way_round(ada: Reader):
    carry(ada, "gazette.example", "The house sits late", categories=["Politics"])
    carry(ada, "zeitung.example", "Die Wahl ist aus", categories=["Politik"])
    for words in ("weniger Politik", "less politics"):
        (draft,) = asked(ada, words).drafts
        assert draft.about == 2 and not draft.by_meaning


def test_articles_that_say_a_word_in_their_text_alone_come_after_those_about_it_and_are_marked(ada: Reader):
    carry(ada, "motor.example", *(f"Car {n} of the year" for n in range(4)), text="More space for legs.")
    carry(ada, "stars.example", "A space telescope", "Space travel", "To Mars", categories=["Space"])
    (draft,) = asked(ada, "more space").drafts
    titles = [item.title for item in draft.items]
    assert titles[:3] == ["A space telescope", "Space travel", "To Mars"] and titles[3].startswith("Car")
    assert len(draft.in_text) == 4 and draft.items[2].item_id not in draft.in_text
    assert draft.items[3].item_id in draft.in_text and draft.about == 7
    assert not asked(ada, "mute space").drafts[0].in_text and not asked(ada, "more Motor").drafts[0].in_text


def test_drafts_name_what_they_are_about_and_change_nothing(reads: Reader):
    drafts = asked(reads, WORDS).drafts
    assert [(d.change.field, d.change.target, d.change.before, d.change.after) for d in drafts] == [
        ("keyword_boosts", "crypto", None, -0.5),
        ("source_weights", "gazette.example", 1.0, 1.2),
        ("mutes", "football", False, "2026-03-20"),
    ]
    assert [[item.title for item in d.items] for d in drafts] == [
        ["Crypto falls", "Crypto rises"],
        ["Crypto falls", "Football cup final", "A bridge opens"],
        ["Football cup final"],
    ]
    assert [item.title for item in drafts[2].preview.leaves] == ["Football cup final"]
    assert config_versions(reader_id=reads.pk) == []


def test_drafts_are_about_what_publishers_filed_there_and_move_it(reads: Reader):
    carry(reads, "third.example", "The vote is counted", categories=["Politics"], author="Ada Hill")
    [more] = asked(reads, "more politics").drafts
    assert (more.change.field, more.change.target) == ("keyword_boosts", "politics")
    assert [item.title for item in more.items] == ["The vote is counted"] and more.about == 1
    [vote] = [item for item in more.preview.moves if item.title == "The vote is counted"]
    assert vote.before and vote.after and vote.after < vote.before
    [topic] = asked(reads, "follow politics").drafts
    assert (topic.change.field, topic.about) == ("topics", 1)
    [author] = asked(reads, "less Ada Hill").drafts
    assert (author.change.field, author.change.label, author.about) == ("keyword_boosts", "Ada Hill", 1)


def test_a_word_that_is_muted_hides_what_is_filed_under_it(reads: Reader):
    carry(reads, "third.example", "The vote is counted", categories=["Politics"])
    [draft] = asked(reads, "no politics until Friday").drafts
    assert [item.title for item in draft.items] == ["The vote is counted"]
    assert [item.title for item in draft.preview.leaves] == ["The vote is counted"]
    accepted(reads, draft.signed)
    [mute] = config_effective(reader_id=reads.pk).config.mutes
    assert (mute.kind, mute.value) == ("word", "politics")
    assert MuteFilter([mute]).finds(draft.items[0])


def test_each_yes_makes_a_version_with_the_words_that_can_be_taken_back(reads: Reader):
    drafts = asked(reads, WORDS).drafts
    versions = [accepted(reads, draft.signed).config_version for draft in drafts]
    config = config_effective(reader_id=reads.pk).config
    assert versions == [1, 2, 3] and config.keyword_boosts == {"crypto": -0.5}
    assert config.source_weights == {"gazette.example": 1.2} and MuteFilter(config.mutes).mutes
    assert {row.note for row in config_versions(reader_id=reads.pk)} == {WORDS}
    config_revert(reader_id=reads.pk, version=0, expected_version=3, now=CLOCK)
    assert config_effective(reader_id=reads.pk).config.mutes == ()
    reverted = config_version(reader_id=reads.pk, version=4)
    assert reverted is not None and reverted.note == ""


def test_the_last_change_that_is_in_force_is_taken_back(reads: Reader):
    assert asked(reads, "undo the last change").drafts == ()
    accepted(reads, asked(reads, "more from Gazette").drafts[0].signed)
    accepted(reads, asked(reads, "mute crypto until Friday").drafts[0].signed)
    (mute,) = asked(reads, "mach das rückgängig").drafts
    assert (mute.change.field, mute.change.before, mute.change.after) == ("mutes", "2026-03-20", False)
    accepted(reads, mute.signed)
    assert asked(reads, "reset everything").drafts == ()


def test_how_much_ratings_count_goes_by_levels(reads: Reader):
    for words, level in (
        ("let my ratings count more", "on"),
        ("meine Bewertungen sollen mehr zählen", "strong"),
        ("sort less by my taste", "on"),
        ("stop sorting by my ratings", "off"),
    ):
        (draft,) = asked(reads, words).drafts
        accepted(reads, draft.signed)
        assert str(config_effective(reader_id=reads.pk).config.taste) == level
    assert asked(reads, words).notes and not asked(reads, words).drafts


def test_what_is_muted_is_found_by_half_its_name(reads: Reader):
    accepted(reads, asked(reads, "mute the source herald.example").drafts[0].signed)
    (draft,) = asked(reads, "un-mute the Herald please").drafts
    assert (draft.change.target, draft.change.before, draft.change.after) == ("herald.example", True, False)


@pytest.mark.parametrize("words", ["at most two a day of Gazette", "höchstens zwei am Tag von Gazette"])
def test_a_count_by_the_day_becomes_the_sources_daily_limit(reads: Reader, words: str):
    (draft,) = asked(reads, words).drafts
    assert draft.sentence == "Gazette: no limit → at most 2 a day"
    accepted(reads, draft.signed)
    assert config_effective(reader_id=reads.pk).config.daily_limits == {"gazette.example": 2}
    (again,) = asked(reads, "at most five a day of Gazette").drafts
    assert again.sentence == "Gazette: at most 2 a day → at most 5 a day"
    assert asked(reads, words).notes, "it has that limit already"


@pytest.mark.parametrize(
    "words", ["nothing older than two days from Gazette", "nichts von Gazette, das älter als zwei Tage ist"]
)
def test_an_age_of_one_source_becomes_its_shelf_life(reads: Reader, words: str):
    (draft,) = asked(reads, words).drafts
    assert draft.sentence == "Gazette: shelf life as long as others → 2 days"
    accepted(reads, draft.signed)
    assert config_effective(reader_id=reads.pk).config.shelf_lives == {"gazette.example": 48}
    assert asked(reads, words).notes == ("“Gazette” has that shelf life already.",)


@pytest.mark.parametrize("words", ["never miss Gazette", "verpasse nichts von Gazette"])
def test_a_source_never_to_miss_keeps_places_until_that_is_taken_back(reads: Reader, words: str):
    before = config_effective(reader_id=reads.pk).config.version
    (draft,) = asked(reads, words).drafts
    accepted(reads, draft.signed)
    assert config_effective(reader_id=reads.pk).config.never_missed == ("gazette.example",)
    assert asked(reads, words).notes == ("Nothing of “Gazette” is missed already.",)
    config_revert(reader_id=reads.pk, version=before, expected_version=1, now=CLOCK)
    assert not config_effective(reader_id=reads.pk).config.never_missed


@pytest.mark.parametrize("words", ["keep Gazette out of Today", "halte Gazette aus Heute heraus"])
def test_what_should_stay_out_of_today_is_told_its_switch_and_never_muted(reads: Reader, words: str):
    answer = asked(reads, words)
    assert not answer.drafts and "switch off “In Today" in answer.notes[0] and "Gazette" in answer.notes[0]


@pytest.mark.parametrize(("language", "day"), [("en", "20 March 2026"), ("de", "20. März 2026")])
def test_drafts_have_words_as_typed_and_days_of_the_pages_language(reads: Reader, language: str, day: str):
    with translation.override(language):
        draft, other = asked(reads, "kein Fußball bis Freitag, mehr KI").drafts
    assert "Fußball" in draft.sentence and day in draft.sentence and "KI" in other.sentence


def test_a_yes_twice_changes_once(reads: Reader):
    [draft] = asked(reads, "a bit more from Gazette").drafts
    accepted(reads, draft.signed)
    again = wish_accept(reader=reads, signed=draft.signed, now=CLOCK)
    assert isinstance(again, Refusal) and again.code == "config_changed"
    assert config_effective(reader_id=reads.pk).weight("gazette.example") == 1.1


def test_what_is_left_can_be_accepted_after_the_first(reads: Reader):
    first, *rest = asked(reads, WORDS).drafts
    accepted(reads, first.signed)
    left = wish_drafts_again(reader=reads, signed=[d.signed for d in (first, *rest)], now=CLOCK)
    assert [d.change.target for d in left.drafts] == ["gazette.example", "football"]
    assert left.words == WORDS


def test_a_draft_is_its_readers_alone_and_dies_with_its_day(reads: Reader, ben: Reader):
    [draft] = asked(reads, "no football until Friday").drafts
    for reader, signed, now in (
        (ben, draft.signed, CLOCK),
        (reads, draft.signed[:-1] + "x", CLOCK),
        (reads, "", CLOCK),
    ):
        refused = wish_accept(reader=reader, signed=signed, now=now)
        assert isinstance(refused, Refusal) and refused.code == "draft_invalid"
    late = wish_accept(reader=reads, signed=draft.signed, now=CLOCK + timedelta(days=4))
    assert isinstance(late, Refusal) and late.code == "config_changed"
    assert not config_versions(reader_id=reads.pk) and not config_versions(reader_id=ben.pk)


def test_a_source_that_is_read_no_more_is_not_weighed(reads: Reader):
    [draft] = asked(reads, "less from Gazette").drafts
    reads.subscriptions.filter(feed__source_id="gazette.example").delete()
    refused = wish_accept(reader=reads, signed=draft.signed, now=CLOCK)
    assert isinstance(refused, Refusal) and refused.code == "config_changed"


@pytest.mark.parametrize("words", ["more from Ledger", "mute Ben Secret", "more about ledgers"])
def test_what_others_read_is_never_offered(reads: Reader, words: str):
    answer = asked(reads, words)
    # A wish may name words that no article of theirs has.
    assert all(draft.change.field != "source_weights" and draft.about == 0 for draft in answer.drafts)
    choices = answer.question.choices if answer.question else ()
    assert all("ledger.example" not in c.words and "source “Ledger" not in c.label for c in choices)


def test_a_locked_target_is_left_alone(reads: Reader):
    edit = ConfigEdit(pins={"gazette.example": "locked"})
    config_edit(reader_id=reads.pk, edit=edit, expected_version=0, now=CLOCK)
    answer = asked(reads, "more from Gazette")
    assert answer.drafts == () and "leave “Gazette” as it is" in answer.notes[0]


def test_weights_at_the_end_of_their_scale_are_not_moved(reads: Reader):
    edit = ConfigEdit(source_weights={"gazette.example": 2.0})
    config_edit(reader_id=reads.pk, edit=edit, expected_version=0, now=CLOCK)
    answer = asked(reads, "much more from Gazette, crypto less until Friday")
    assert [d.change.target for d in answer.drafts] == ["crypto"]
    assert "end of its scale" in answer.notes[0] and "Only a mute ends by itself" in answer.notes[1]


@pytest.mark.parametrize(
    ("words", "code"), [("", "words_missing"), (" \n", "words_missing"), ("a" * 501, "words_too_long")]
)
def test_words_that_cannot_be_read_are_refused(reads: Reader, words: str, code: str):
    refused = wishes_draft(reader=reads, words=words, now=CLOCK)
    assert isinstance(refused, Refusal) and refused.code == code


def test_one_to_three_drafts_need_as_many_queries(
    reads: Reader, django_assert_num_queries, django_assert_max_num_queries
):
    with django_assert_max_num_queries(25) as spent:
        assert len(asked(reads, "less crypto").drafts) == 1
    carry(reads, "third.example", *(f"Crypto and chess {n}" for n in range(20)))
    with django_assert_num_queries(len(spent)):
        assert len(asked(reads, "less crypto, more chess, no football until Friday").drafts) == 3


LURED = {
    # The next attack takes the next lure.
    "each with one lure": [LURES[n % len(LURES)].format(attack) for n, attack in enumerate(ATTACKS)],
    "each with every lure": [lure.format(attack) for attack in ATTACKS for lure in LURES],
}


@pytest.mark.alike
@pytest.mark.parametrize("tried", mostly_nightly(LURED, always=["each with one lure"]))
def test_injections_are_not_obeyed(reads: Reader, tried: list[str]):
    assert len(tried) >= 180
    for words in (one[:WISH_CHARS_MAX] for one in tried):
        answer = wishes_draft(reader=reads, words=words, now=CLOCK)
        if isinstance(answer, Refusal):
            continue
        assert len(answer.drafts) <= WISHES_MAX
        for draft in answer.drafts:
            in_bounds(draft.change.field, draft.change.before, draft.change.after)
            assert draft.change.target in {"crypto", "gazette.example"}, words
    assert config_versions(reader_id=reads.pk) == []


def in_bounds(field: str, before: object, after: object) -> None:
    if field == "source_weights":
        assert isinstance(before, float) and isinstance(after, float)
        assert WEIGHT_MIN <= after <= WEIGHT_MAX and abs(after - before) <= WEIGHT_STEP_MAX + 1e-9
    elif field == "keyword_boosts":
        assert isinstance(after, float) and abs(after) <= BOOST_WISHED_MAX
    else:
        assert field == "topics"


def test_a_draft_of_another_making_is_refused(reads: Reader):
    forged = signing.dumps({"reader": str(reads.pk), "change": {}, "words": ""}, salt=f"{SALT}.other")
    refused = wish_accept(reader=reads, signed=forged, now=CLOCK)
    assert isinstance(refused, Refusal) and refused.code == "draft_invalid"


def test_a_mute_says_what_is_about_its_word_and_stays_and_offers_to_lower_it(ada: Reader):
    carry(ada, "gazette.example", *SAY_TENNIS, ABOUT_TENNIS, *OTHERS, language="en")
    item_vectors_update(now=CLOCK)
    (draft,) = asked(ada, "no tennis").drafts
    assert draft.stays == 1 and not draft.by_meaning and draft.about == len(SAY_TENNIS)
    assert not asked(ada, "no opera").drafts[0].stays


def test_what_joins_a_subject_by_a_hair_is_held_back(ada: Reader, monkeypatch: pytest.MonkeyPatch):
    carry(ada, "gazette.example", *SAY_TENNIS, ABOUT_TENNIS, *OTHERS, language="en")
    item_vectors_update(now=CLOCK)
    monkeypatch.setattr(taken_in, "CLEAR_WORTH", 1.01)
    (draft,) = asked(ada, "less tennis").drafts
    assert not draft.by_meaning and {item.title for item in draft.items} <= {*SAY_TENNIS}
