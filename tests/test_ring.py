"""The whole loop: feeds → digest → thumbs → advisor → suggestion → accepted → another digest."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_httpserver import HTTPServer

from advisor.models import Run
from advisor.run.request import run_request
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_build
from digest.feedback.services import feedback_set
from digest.feeds.fetch_batch import feeds_fetch
from digest.models import Feed, Feedback, Item, Reader
from digest.sources.subscriptions import subscription_add
from ranking.selectors import config_effective
from suggestions.models import Outcome, Suggestion

DAYS = 28
GAZETTE, RUMOURS = "localhost", "127.0.0.1"  # two publishers: the test server answers to both names


def last_noon(now: datetime) -> datetime:
    """Return the last noon in UTC: it and the hour before it are of one news day in Berlin and in Tokyo."""
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0)
    return noon if noon <= now else noon - timedelta(days=1)


def rss(site: str, headline: str, last: datetime) -> str:
    """Return a feed with an item for each of the 28 days up to `last`."""
    items = "".join(
        f"<item><title>{headline} {n}</title><link>https://{site}.example/{n}</link><guid>{n}</guid>"
        f"<pubDate>{(last - timedelta(days=n)):%a, %d %b %Y %H:%M:%S} +0000</pubDate></item>"
        for n in range(DAYS)
    )
    return f'<rss version="2.0"><channel><title>{site}</title>{items}</channel></rss>'


@pytest.mark.django_db(transaction=True)
def test_the_ring_turns(ada: Reader, ben: Reader, httpserver: HTTPServer, settings, client: Client):
    now, today = timezone.now(), timezone.localdate(timezone=ada.zone)
    settings.FETCH_ALLOW_HOSTS = [GAZETTE, RUMOURS]
    # The rumours are always a little fresher, so that they lead until Ada has a say.
    for host, headline, hours in ((GAZETTE, "Council report", 1), (RUMOURS, "Shocking rumour", 0)):
        body = rss(host, headline, last_noon(now) - timedelta(hours=hours))
        httpserver.expect_request(f"/{hours}").respond_with_data(body)
        subscription_add(reader=ada, url=f"http://{host}:{httpserver.port}/{hours}", now=now)

    # Feeds become items, once.
    assert feeds_fetch(now=now).as_dict()["items_new"] == 2 * DAYS
    assert feeds_fetch(now=now, feeds=Feed.objects.all()).as_dict()["items_new"] == 0

    # Items become a digest, each with its reasons.
    before = digest_impressions(digest=digest_build(reader=ada, date=today, now=now), now=now)
    assert before[0].item.source_id == RUMOURS and before[0].parts["recency"] > before[-1].parts["recency"]

    # Ada likes the gazette, not the rumours, and gives reasons. Her unrated items wait on her next page.
    for item in Item.objects.filter(dated_at__lt=now - timedelta(days=2)):
        useful, at = item.source_id == GAZETTE, item.dated_at + timedelta(minutes=30)
        tags = ["depth" if useful else "hype"]
        feedback_set(reader=ada, item_id=item.pk, useful=useful, tags=tags, now=at)

    # The advisor studies her thumbs and proposes; nothing is applied.
    result = run_request(reader=ada, trigger=Run.Trigger.COMMAND, now=now)
    assert result.status == "completed", result
    assert config_effective(reader_id=ada.pk).weights() == {}
    made = Suggestion.objects.filter(pk__in=result.suggestion_ids, field="source_weights")
    suggestion = made.order_by("pk")[0]
    assert suggestion.evidence.count() >= 3

    # It is hers alone; she accepts it, once.
    url = f"/api/suggestions/{suggestion.pk}/accept"
    client.force_login(ben)
    assert client.post(url, content_type="application/json").status_code == 404
    client.force_login(ada)
    assert [client.post(url, content_type="application/json").status_code for _ in "12"] == [200, 409]

    # The accepted weight ranks, and the next digest moves.
    agreed = float(suggestion.suggested_value)
    assert config_effective(reader_id=ada.pk).weight(suggestion.target_key) == agreed
    Feedback.objects.filter(reader=ada).delete()
    after = digest_impressions(digest=digest_build(reader=ada, date=today, now=now), now=now)
    assert after[0].item.source_id == GAZETTE
    assert Outcome.objects.get(suggestion=suggestion).outcome == "accepted"
