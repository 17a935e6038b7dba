"""A source that was renamed or joined: its old key keeps working wherever it still turns up."""

import json

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from digest.feedback.transfer import feedback_import
from digest.feeds.ingest import feed_get_or_create, source_get_or_create
from digest.feeds.services import source_move
from digest.items.selectors import source_titles
from digest.models import Feed, Item, Reader, Source
from digest.sources.subscriptions import opml_import
from ranking.config_body import body_default, body_keys, body_keys_current
from ranking.entities import WeightChange
from ranking.models import SourceAlias
from ranking.selectors import (
    config_effective,
    config_versions,
    key_current,
    keys_current,
    values_by_current_key,
)
from ranking.services import ConfigEdit, config_edit, config_revert, target_pin, weights_learn
from suggestions.services.resolve import suggestion_accept, suggestion_revert
from tests.support.browser import subscribe, suggested

OLD, NEW, NEWER = "old.example", "new.example", "newer.example"
KEYS = st.sampled_from([OLD, NEW, NEWER, "other.example"])


@pytest.fixture
def old(ada: Reader) -> Source:
    """Return the source that is renamed, as Ada reads it."""
    return subscribe(ada, OLD, "Gazette").feed.source


def weigh(reader: Reader, now, **weights: float | None) -> None:
    keys = {"old": OLD, "new": NEW}
    version = config_effective(reader_id=reader.pk).config.version
    edit = ConfigEdit(source_weights={keys[name]: weight for name, weight in weights.items()})
    config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=now)


def weights(reader: Reader) -> dict[str, float]:
    return dict(config_effective(reader_id=reader.pk).weights())


def revert(reader: Reader, version: int, now) -> None:
    config_revert(reader_id=reader.pk, version=version, expected_version=None, now=now)


# --- The target of each key ------------------------------------------------------------------------------


def test_a_key_leads_to_the_source_through_any_number_of_renamings(old: Source, now):
    source_move(key=OLD, into=NEW, now=now)
    source_move(key=NEW, into=NEWER, now=now)
    assert keys_current(keys=[OLD, NEW, NEWER, "other.example"]) == {OLD: NEWER, NEW: NEWER}
    assert source_titles(keys=[OLD, NEWER]) == {OLD: "Gazette", NEWER: "Gazette"}


def test_a_source_that_got_its_old_key_back_is_called_by_it(old: Source, now):
    source_move(key=OLD, into=NEW, now=now)
    source_move(key=NEW, into=OLD, now=now)
    assert (key_current(key=OLD), key_current(key=NEW)) == (OLD, OLD)
    assert SourceAlias.objects.count() == 1


@pytest.mark.django_db
def test_where_both_keys_have_a_value_the_one_of_now_counts(now):
    SourceAlias.objects.create(key=OLD, target=NEW, renamed_at=now)
    assert values_by_current_key(values={OLD: 1, "other.example": 2}) == {NEW: 1, "other.example": 2}
    assert (
        values_by_current_key(values={OLD: 1, NEW: 3})
        == values_by_current_key(values={NEW: 3, OLD: 1})
        == {NEW: 3}
    )


@given(
    given_=st.dictionaries(KEYS, st.floats(0.1, 2)),
    learned=st.dictionaries(KEYS, st.floats(-0.3, 0.3)),
    locked=st.lists(KEYS, unique=True),
    renamed=st.dictionaries(st.sampled_from([OLD, NEW]), st.just(NEWER)),
)
def test_no_body_has_an_old_key_once_it_is_read_by_the_keys_of_now(given_, learned, locked, renamed):
    body = body_default() | {"source_weights": given_, "learned": learned, "locked": locked}
    before = json.dumps(body)
    read = body_keys_current(body, renamed)
    assert not body_keys(read) & renamed.keys()
    assert body_keys(read) <= {renamed.get(key, key) for key in body_keys(body)}
    assert all(read["source_weights"][key] == weight for key, weight in given_.items() if key not in renamed)
    assert json.dumps(body) == before  # a copy: the version itself stays as it was saved


# --- Arrivals under the old key --------------------------------------------------------------------------


def thumb(url: str, source: str) -> str:
    row = {"reader": "ada", "url": url, "title": "Old news", "source": source, "useful": True}
    return json.dumps(row | {"at": "2026-03-17T10:00:00Z"})


def test_an_import_of_the_old_key_lands_in_the_new_one(old: Source, ada: Reader, now):
    source_move(key=OLD, into=NEW, now=now)
    report = feedback_import(lines=[thumb("https://old.example/1", OLD)], now=now, readers=["ada"])
    assert (report.imported, report.sources) == (1, 0)
    assert Item.objects.get().source_id == NEW
    assert list(Source.objects.values_list("key", flat=True)) == [NEW]


def test_new_feeds_of_the_old_address_belong_to_the_source_as_it_is_called_now(old: Source, ada: Reader, now):
    source_move(key=OLD, into=NEW, now=now)
    feed_get_or_create(url="https://old.example/a.xml", now=now)
    listed = (
        b'<opml version="2.0"><body><outline type="rss" xmlUrl="https://old.example/b.xml"/></body></opml>'
    )
    opml_import(reader=ada, document=listed, now=now)
    added = Feed.objects.filter(url__startswith="https://old.example/").exclude(state="imported")
    assert list(added.values_list("source", flat=True)) == [NEW, NEW]
    assert source_get_or_create(key=OLD, title="Else").key == NEW
    assert Source.objects.count() == 1


# --- Settings ------------------------------------------------------------------------------------------


def test_going_back_to_a_version_from_before_brings_no_old_key_back(old: Source, ada: Reader, now):
    weigh(ada, now, old=1.4)
    target_pin(reader_id=ada.pk, target=OLD, pin="locked", ref="", now=now)
    weigh(ada, now, old=None)
    source_move(key=OLD, into=NEW, now=now)
    revert(ada, 2, now)
    assert weights(ada) == {NEW: 1.4}
    assert config_effective(reader_id=ada.pk).config.locked == (NEW,)
    saved = {row.version: row.body for row in config_versions(reader_id=ada.pk)}
    assert saved[2]["source_weights"] == {OLD: 1.4}  # a record


def test_what_was_learned_before_the_renaming_comes_back_under_the_new_key(old: Source, ada: Reader, now):
    step = WeightChange(source=OLD, before=1.0, after=1.1, p_better=0.9, n=6, reason="liked")
    weights_learn(changes={ada.pk: [step]}, now=now)
    target_pin(reader_id=ada.pk, target="climate", pin="locked", ref="", now=now)
    source_move(key=OLD, into=NEW, now=now)
    weigh(ada, now, new=0.5)
    revert(ada, 1, now)
    assert weights(ada) == pytest.approx({NEW: 1.1})


def test_a_page_that_was_open_while_its_source_was_renamed_saves_under_the_new_key(old, ada: Reader, now):
    weigh(ada, now, old=1.4)
    source_move(key=OLD, into=NEW, now=now)
    weigh(ada, now, old=0.7)
    assert weights(ada) == {NEW: 0.7}
    weigh(ada, now, old=None)
    target_pin(reader_id=ada.pk, target=OLD, pin="avoided", ref="", now=now)
    assert weights(ada) == {} and config_effective(reader_id=ada.pk).config.avoided == (NEW,)


def test_what_was_accepted_before_is_put_back_for_the_source_of_now(old, ada: Reader, now):
    suggestion = suggested(ada, evidence=0, target_key=OLD, created_at=now)
    suggestion_accept(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    source_move(key=OLD, into=NEW, now=now)
    assert weights(ada) == {NEW: 1.2}
    suggestion_revert(reader_id=ada.pk, suggestion_id=suggestion.pk, now=now)
    assert weights(ada) == {}


def test_the_page_of_a_version_foretells_what_going_back_does(client: Client, old, ada: Reader, now):
    weigh(ada, now, old=1.4)
    weigh(ada, now, old=0.7)
    source_move(key=OLD, into=NEW, now=now)
    client.force_login(ada)
    back = client.get("/ui/history/settings/1").context["back"]
    assert back == [{"field": "source_weights", "target": NEW, "before": 0.7, "after": 1.4}]


# --- Operators -----------------------------------------------------------------------------------------


def test_an_operators_old_link_leads_to_the_source_as_it_is_called_now(client: Client, operator, old, now):
    source_move(key=OLD, into=NEW, now=now)
    client.force_login(operator)
    answer = client.get(f"/admin/digest/source/{OLD}/change/")
    assert answer.url == f"/admin/digest/source/{NEW}/change/"
    assert client.get(f"/admin/digest/source/{OLD}/move/").status_code == 200
    assert NEW in client.get("/admin/ranking/sourcealias/").content.decode()
