"""A source that is always called not useful brings its reader a suggestion, or the offer of a mute."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Reader, Subscription
from ranking.config_body import ConfigEdit
from ranking.entities import Mute
from ranking.selectors import config_effective, config_hiding
from ranking.services import config_edit, mute_set, target_pin
from suggestions.always_disliked import MuteOffer, mute_offers, sources_disliked
from tests.support.browser import fresh_item, suggested
from tests.support.suggestion_worlds import rate_all

NEVER, PAGE = "never.example", "/ui/suggestions"


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"a": (0, 36), "b": (30, 60)}, {"a": 36}),
        ({"a": (0, 12), "b": (40, 60), "c": (0, 20)}, {"c": 20, "a": 12}),
        ({"a": (1, 36), "b": (30, 60)}, {}),
        ({"a": (0, 9), "b": (60, 60)}, {}),
        ({"a": (0, 36)}, {}),
        ({"a": (0, 12), "b": (3, 60)}, {}),
        ({}, {}),
    ],
    ids=["always", "two, most rated first", "once liked", "too few", "only source", "dislikes all", "none"],
)
def test_only_what_chance_does_not_explain_is_always_disliked(counts, found):
    assert list(sources_disliked(counts).items()) == list(found.items())


@pytest.fixture
def reads(ada: Reader) -> Reader:
    """Ada called 36 of 36 articles of a source not useful, which is far below her first ten."""
    now = timezone.now()
    for n in range(4):
        fresh_item(ada, hours=60 + n, key=NEVER, title=f"Nothing again {n}")
    for n in range(120):
        fresh_item(ada, hours=1.3 * n + 1, key=f"good{n % 4}.example", title=f"A good piece {n}")
    rate_all(ada, [(NEVER, f"Nothing {n}", False, now - timedelta(days=20, hours=n)) for n in range(36)])
    rate_all(
        ada,
        [
            (f"good{n % 4}.example", f"Good {n}", n % 3 > 0, now - timedelta(days=20, hours=n))
            for n in range(40)
        ],
    )
    config_edit(reader_id=ada.pk, edit=ConfigEdit(source_weights={NEVER: 0.6}), expected_version=0, now=now)
    return ada


def offers(reader: Reader) -> list[MuteOffer]:
    return mute_offers(reader_id=reader.pk, now=timezone.now())


def test_what_is_never_useful_and_cannot_be_lowered_visibly_leads_to_the_preview_of_its_mute(
    reads: Reader, client: Client
):
    client.force_login(reads)
    body = client.get(PAGE).content.decode()
    assert "You called 36 of 36 articles from Never not useful. It seldom reaches your first ten" in body
    (offer,) = offers(reads)
    assert offer.preview.replace("&", "&amp;") in body and "Mute Never?" in body
    preview = client.get(offer.preview).content.decode()
    assert "Before you save" in preview and "hides <strong>4</strong>" in preview
    assert config_hiding(reader_id=reads.pk).mutes == ()
    client.post("/ui/mutes/add", {"kind": "source", "value": NEVER})
    assert "Never useful so far" not in client.get(PAGE).content.decode()


def test_a_source_at_the_end_of_its_scale_is_said_to_count_as_little_as_it_can(reads: Reader):
    edit = ConfigEdit(source_weights={NEVER: 0.1})
    config_edit(reader_id=reads.pk, edit=edit, expected_version=1, now=timezone.now())
    assert "It counts as little as it can already." in offers(reads)[0].words


def muted(reader: Reader) -> None:
    mute_set(reader_id=reader.pk, mute=Mute("source", NEVER), now=timezone.now())


def pinned(reader: Reader) -> None:
    target_pin(reader_id=reader.pk, target=NEVER, pin="locked", ref="", now=timezone.now())


def kept_out(reader: Reader) -> None:
    Subscription.objects.filter(reader=reader, feed__source_id=NEVER).update(in_today=False)


def left(reader: Reader) -> None:
    Subscription.objects.filter(reader=reader, feed__source_id=NEVER).delete()


def asked(reader: Reader) -> None:
    suggested(
        reader, suggestion_type="daily_limit", field="daily_limits", target_key=NEVER, suggested_value="2"
    )


def in_the_first_ten(reader: Reader) -> None:
    """A suggestion can come: less of it would be seen."""
    version = config_effective(reader_id=reader.pk).config.version
    edit = ConfigEdit(source_weights={NEVER: 1.2})
    config_edit(reader_id=reader.pk, edit=edit, expected_version=version, now=timezone.now())
    for n in range(12):
        fresh_item(reader, hours=1 + 12 * n, key=NEVER, title=f"Nothing at all {n}")


@pytest.mark.parametrize("state", [muted, pinned, kept_out, left, asked, in_the_first_ten])
def test_nobody_is_asked_twice_or_about_what_is_settled(reads: Reader, state):
    assert len(offers(reads)) == 1
    state(reads)
    assert offers(reads) == []


def test_whoever_switched_suggestions_off_gets_no_offer(reads: Reader, client: Client):
    Reader.objects.update(suggestions_enabled=False)
    client.force_login(reads)
    assert "Never useful so far" not in client.get(PAGE).content.decode()
