"""JSON API of newsletters: those that wait for the reader's yes, and the answers to them."""

from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema

from digest.models import Feed
from digest.requests import reader_of
from digest.sources.newsletters import (
    newsletter_accept,
    newsletter_refuse,
    newsletters_removed,
    newsletters_waiting,
)

newsletters_router = Router(tags=["feeds"])


class NewsletterOut(Schema):
    """A newsletter that is not read: its name, its latest mail, and the titles of the mails that wait."""

    feed_id: int
    name: str
    last_mail_at: datetime | None
    titles: list[str]


class NewslettersOut(Schema):
    """The newsletters that wait for the reader's yes, and those that were refused or removed."""

    waiting: list[NewsletterOut]
    removed: list[NewsletterOut]


@newsletters_router.get("/newsletters", response=NewslettersOut)
def newsletters_get(request: HttpRequest) -> NewslettersOut:
    """Return the newsletters that wait for your yes, and those you refused or removed."""
    return _newsletters(request)


@newsletters_router.post("/newsletters/{int:feed_id}/accept", response=NewslettersOut)
def newsletter_accept_post(request: HttpRequest, feed_id: int) -> NewslettersOut:
    """Read a newsletter that waits, with its mails so far, or one that you removed."""
    newsletter_accept(reader=reader_of(request), feed_id=feed_id, now=timezone.now())
    return _newsletters(request)


@newsletters_router.post("/newsletters/{int:feed_id}/refuse", response=NewslettersOut)
def newsletter_refuse_post(request: HttpRequest, feed_id: int) -> NewslettersOut:
    """Refuse a newsletter that waits. Its mails are deleted, and later ones are thrown away."""
    newsletter_refuse(reader=reader_of(request), feed_id=feed_id)
    return _newsletters(request)


def _newsletters(request: HttpRequest) -> NewslettersOut:
    reader_id = reader_of(request).pk
    waiting = newsletters_waiting(reader_id=reader_id).prefetch_related("items")
    removed = newsletters_removed(reader_id=reader_id)
    return NewslettersOut(
        waiting=[_out(feed, [item.title for item in feed.items.all()]) for feed in waiting],
        removed=[_out(feed, []) for feed in removed],
    )


def _out(feed: Feed, titles: list[str]) -> NewsletterOut:
    return NewsletterOut(feed_id=feed.pk, name=feed.name, last_mail_at=feed.last_fetched_at, titles=titles)
