"""The demo is seeded through the real ingest, and its walkthrough really happens."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from config.demo.people import ADA, BEN, CLEO, READERS, Person, ratings_of, topics_log_odds
from config.demo.seed import DemoNotAllowed, demo_seed, feeds_dir
from config.demo.world import (
    MONTH,
    NIGHT_ENDS,
    WorldSource,
    feed_body,
    feed_files_write,
    items_published,
    world_sources,
)
from config.management.commands.demo import walkthrough_run
from digest.daily.presentation import items_score
from digest.feeds.identity import entry_guid
from digest.feeds.parse import parse_document
from digest.models import Feed, Feedback, FeedbackTag, Impression, Item, Reader, ReasonTag, Subscription
from ranking.common.text import fold, term_matches
from ranking.models import ConfigVersion
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Outcome, Suggestion
from tests.conftest import NOW
from tests.support.factories import ReaderFactory

TABLES = (Reader, Feed, Item, Subscription, Feedback, FeedbackTag, ConfigVersion)
RECURRING = ["heat pump", "Kubernetes", "passkey", "gravel bike", "sourdough", "flood defence", "chip price"]
RECURRING += ["open data", "night train", "solar roof", "AI assistant", "transfer", "repair", "ransomware"]


@pytest.fixture(autouse=True)
def private_place(settings, tmp_path):
    """Use a folder of this test for feed files, and a site for this machine only."""
    settings.VAR_DIR = tmp_path
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]


def by_key(source: WorldSource) -> str:
    return source.key


def everything_published(now: datetime = NOW):
    return [one for source in world_sources() for one in items_published(source, anchor=NOW, now=now)]


def rows_counted() -> dict[str, int]:
    return {table.__name__: table.objects.count() for table in TABLES}


# --- The world ------------------------------------------------------------------------------------
def test_the_world_is_large_enough_to_feel_real():
    assert len(world_sources()) >= 12
    assert sum(len(source.items) for source in world_sources()) >= 600
    assert {source.form for source in world_sources()} == {"rss", "rss.gz", "atom", "rdf", "json"}


def test_no_headline_text_or_address_occurs_twice():
    published_items = everything_published()
    for values in (
        [o.item.headline for o in published_items],
        [o.item.text for o in published_items],
        [o.url for o in published_items],
    ):
        assert len(values) == len(set(values))


@pytest.mark.parametrize("source", world_sources(), ids=by_key)
def test_each_source_introduces_itself_and_writes_real_sentences(source: WorldSource):
    assert source.site.endswith(".example") and source.title and source.voice and source.cadence
    for item in source.items:
        assert len(item.headline.split()) >= 2 and len(item.headline) <= 120
        assert item.text.endswith((".", "?", "!", "”")) and "\n" not in item.text and len(item.text) <= 300


@pytest.mark.parametrize("topic", RECURRING)
def test_recurring_topics_stand_in_headlines_of_several_sources(topic: str):
    found = [s.key for s in world_sources() for i in s.items if term_matches(topic, fold(i.headline))]
    assert len(found) >= 4
    assert len(set(found)) >= 3


@pytest.mark.parametrize("source", world_sources(), ids=by_key)
def test_our_own_parser_reads_every_feed_completely(source: WorldSource):
    parsed = parse_document(feed_body(source, anchor=NOW, now=NOW))
    published_items = items_published(source, anchor=NOW, now=NOW)
    assert (parsed.title, parsed.site_url) == (source.title, source.site)
    assert [(e.title, e.text, e.link, e.published) for e in parsed.entries] == [
        (one.item.headline, one.item.text, one.url, one.published) for one in published_items
    ]
    guids = {entry_guid(guid=e.guid, link=e.link, title=e.title, text=e.text) for e in parsed.entries}
    assert len(guids) == len(published_items)


@given(later=st.timedeltas(timedelta(0), timedelta(days=400)), source=st.sampled_from(world_sources()))
def test_whenever_one_looks_a_feed_holds_the_last_month_newest_first(later, source):
    now = NOW + later
    published = [one.published for one in items_published(source, anchor=NOW, now=now)]
    assert len(published) == len(source.items)
    assert published == sorted(published, reverse=True)
    assert all(now - MONTH < moment <= now and moment.hour >= NIGHT_ENDS for moment in published)


def test_what_comes_out_again_after_a_month_is_a_new_item():
    first = {one.item.headline: one.url for one in everything_published()}
    again = {one.item.headline: one.url for one in everything_published(NOW + MONTH)}
    assert first.keys() == again.keys()
    assert not set(first.values()) & set(again.values())


def test_the_same_moment_gives_the_same_files_and_old_ones_go(tmp_path):
    (tmp_path / "stale.xml").write_text("from an earlier version")
    first = {path.name: path.read_bytes() for path in feed_files_write(tmp_path, anchor=NOW, now=NOW)}
    second = {path.name: path.read_bytes() for path in feed_files_write(tmp_path, anchor=NOW, now=NOW)}
    assert first == second
    assert {path.name for path in tmp_path.iterdir()} == set(first)


# --- Tastes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("person", [ADA, BEN], ids=lambda person: person.name)
def test_two_readers_have_said_plenty_in_a_month_like_about_half_and_say_why(person: Person):
    thumbs = ratings_of(person.name, person.taste, everything_published(), now=NOW)
    assert sum(bool(thumb.tags) for thumb in thumbs) >= 60
    assert 0.48 <= sum(thumb.useful for thumb in thumbs) / len(thumbs) <= 0.62
    assert NOW - timedelta(days=28) <= thumbs[0].at <= NOW - timedelta(days=26)
    assert thumbs[-1].at <= NOW


def test_a_thumb_follows_the_item_it_is_about_within_hours():
    published = {one.url: one.published for one in everything_published()}
    for thumb in ratings_of(BEN.name, BEN.taste, everything_published(), now=NOW):
        assert timedelta(0) < thumb.at - published[thumb.url] < timedelta(hours=10)


def test_topics_move_a_reader_only_as_whole_words():
    assert topics_log_odds(ADA.taste, "A repair stand for the price of a tube") > 0
    assert topics_log_odds(ADA.taste, "The disrepair of it all") == 0


# --- Seeding --------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_seeding_is_real_and_a_second_one_changes_nothing():
    first = demo_seed(now=NOW)
    rows = rows_counted()
    second = demo_seed(now=NOW)
    assert rows_counted() == rows
    assert (first.first_time, second.first_time) == (True, False)
    assert first.items_new == first.items_seen == Item.objects.count() >= 600
    assert (second.items_new, second.thumbs, second.reader_ids) == (0, first.thumbs, first.reader_ids)
    seeded_feeds_went_through_the_real_ingest()
    reasons_fit_the_thumbs_they_are_given_with()


def seeded_feeds_went_through_the_real_ingest() -> None:
    assert set(Feed.objects.values_list("source_id", flat=True)) == {s.key for s in world_sources()}
    assert not Feed.objects.exclude(state=Feed.State.IMPORTED).exists()
    oldest, newest = (Item.objects.order_by(o).first() for o in ("dated_at", "-dated_at"))
    assert newest.dated_at - oldest.dated_at > timedelta(days=28)
    assert all(Subscription.objects.filter(reader__username=p.name).count() == 14 for p in READERS)


def reasons_fit_the_thumbs_they_are_given_with() -> None:
    wrong = FeedbackTag.objects.filter(feedback__useful=True, tag__kind=ReasonTag.Kind.DISLIKED)
    wrong |= FeedbackTag.objects.filter(feedback__useful=False, tag__kind=ReasonTag.Kind.VALUED)
    assert not wrong.exists()
    assert Feedback.objects.filter(reader__username="ada", has_reason=True).count() >= 60
    assert Feedback.objects.filter(reader__username=CLEO.name).count() == 3


@pytest.mark.django_db
def test_a_later_seeding_brings_the_news_and_leaves_readers_alone():
    first = demo_seed(now=NOW)
    ada = Reader.objects.get(username="ada")
    config_edit(reader_id=ada.pk, edit=ConfigEdit(topics=["tubas"]), expected_version=1, now=NOW)
    later = demo_seed(now=NOW + timedelta(days=2))
    assert 20 <= later.items_new <= 70
    assert later.thumbs == first.thumbs
    assert config_effective(reader_id=ada.pk).config.topics == ("tubas",)


@pytest.mark.django_db
def test_a_seeding_that_broke_off_is_completed_by_the_next():
    whole = demo_seed(now=NOW)
    Subscription.objects.all().delete()
    Feedback.objects.filter(reader__username="ben").delete()
    assert demo_seed(now=NOW).thumbs == whole.thumbs
    assert Subscription.objects.count() == 4 * 14


@pytest.mark.django_db
def test_a_real_account_of_that_name_is_never_touched():
    ReaderFactory(username="ada", email="ada@lovelace.test")
    with pytest.raises(DemoNotAllowed, match="called ada"):
        demo_seed(now=NOW)
    assert (Reader.objects.count(), Feed.objects.count(), feeds_dir().exists()) == (1, 0, False)


@pytest.mark.django_db
def test_a_public_site_gets_no_accounts_with_a_known_password(settings):
    settings.ALLOWED_HOSTS = ["127.0.0.1", "news.example.org"]
    with pytest.raises(CommandError, match=r"news\.example\.org"):
        call_command("seed_demo", stdout=StringIO())
    assert not Reader.objects.exists()


@pytest.mark.django_db
def test_seed_demo_prints_one_json_object():
    out = StringIO()
    call_command("seed_demo", "--json", stdout=out)
    said = json.loads(out.getvalue())
    assert (said["feeds"], said["first_time"]) == (14, True)
    assert set(said["reader_ids"]) == {"ada", "ben", "cleo", "olga"}


# --- The walkthrough ------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_walkthrough_ends_with_an_accepted_suggestion_and_a_different_digest():
    lines: list[str] = []
    result = walkthrough_run(now=NOW, write=lines.append)
    text = "\n".join(lines)
    accepted = Suggestion.objects.get(status=Suggestion.Status.ACCEPTED)
    assert result.status == "completed" and result.moved > 0
    assert accepted.reader.username == "ada" and accepted.evidence.count() >= 3
    assert Outcome.objects.get().suggestion == accepted
    assert all(row.title[:40] in text for row in accepted.evidence.all())
    assert config_effective(reader_id=accepted.reader_id).config.version == 2
    assert "Cleo: Not enough ratings for suggestions yet." in text
    assert "of offline:planner; no model was asked, and rules alone reviewed." in " ".join(text.split())
    assert "$" not in text
    assert max(len(line) for line in text.splitlines()) <= 100
    # Ada's thumbs foretell one another, so she is asked whether they may order her page.
    for name, fields in (("ada", {"taste", "source_weights"}), ("ben", {"source_weights"})):
        rows = Suggestion.objects.filter(reader__username=name)
        assert len(rows) >= 2 and {row.field for row in rows} >= fields, name
        assert all(row.evidence.count() >= 3 for row in rows)
    today_and_the_list_of_all_items_agree_on_how_many_sources_report_one()
    run_again_the_same_day_it_accepts_nothing_more_and_shows_the_current_state()


def run_again_the_same_day_it_accepts_nothing_more_and_shows_the_current_state() -> None:
    lines: list[str] = []
    result = walkthrough_run(now=NOW + timedelta(minutes=5), write=lines.append)
    text = "\n".join(lines)
    assert (result.accepted, result.moved) == ("", 0)
    assert Suggestion.objects.filter(status=Suggestion.Status.ACCEPTED).count() == 1
    assert "accepted  " in text and "pending   " in text


@pytest.mark.alike
@pytest.mark.django_db
@pytest.mark.nightly
@pytest.mark.parametrize("hour", [0, 23])
def test_the_walkthrough_works_at_any_hour_of_any_day(hour: int):
    now = datetime(2027, 1, 1, hour, 59, tzinfo=UTC)
    assert walkthrough_run(now=now, write=lambda line: None).moved > 0


def today_and_the_list_of_all_items_agree_on_how_many_sources_report_one() -> None:
    reader = Reader.objects.get(username=ADA.name)
    shown = {row.item: row.parts["reported_by"] for row in Impression.objects.filter(digest__reader=reader)}
    listed = items_score(reader=reader, items=list(shown), now=NOW)
    assert list(shown.values()) == [entry.parts["reported_by"] for entry in listed]
    assert max(shown.values()) > 1
