"""Why an article was no candidate of any digest of its reader's."""

from datetime import datetime, timedelta

from digest.days import day_of
from digest.entities import ITEM_WINDOW_DAYS
from digest.items.selectors import CANDIDATES_MAX, NEW_FOR, article_rank, item_is_hidden, mutes_in_force
from digest.models import Digest, Feedback, Item, Reader, Reading, Subscription
from ranking.language import gettext as _
from ranking.language import thousands
from ranking.selectors import config_hiding, read_once
from ranking.source_rules import is_past_shelf


def candidate_between(reader: Reader, item: Item) -> tuple[datetime, datetime]:
    """Return the period (from, until) in which the item may have been a candidate for the reader."""
    since = max(item.dated_at, item.first_seen_at)
    until = item.dated_at + timedelta(days=ITEM_WINDOW_DAYS)
    joined = _subscription_of(reader, item)
    if joined is None:
        return since, until
    if joined.created_at > until:
        until = joined.created_at + NEW_FOR
    return max(since, joined.created_at), until


def _subscription_of(reader: Reader, item: Item) -> Subscription | None:
    """Return the reader's subscription to the item's feed; one query, once a request."""
    mine = Subscription.objects.filter(reader=reader, feed=item.feed_id)
    return read_once(("subscription_of", reader.pk, item.feed_id), mine.first)


def absence_words(*, reader: Reader, item: Item, now: datetime) -> str:
    """Return why `item_place` found no place of the item, in a sentence. A constant number of queries."""
    if words := _choice_words(reader, item, now):
        return words
    since, until = candidate_between(reader, item)
    if since >= until:
        return _("It was older than a week when it came. A digest is chosen from the articles of a week.")
    built = Digest.objects.filter(reader=reader, built_at__gte=since, built_at__lt=until)
    first = built.order_by("date").first()
    if first is not None:
        return _not_among(reader, item, first)
    if Digest.objects.filter(reader=reader, date=day_of(now, reader.zone)).exists() and now < until:
        return _("It came after today’s digest was made.")
    if now < until:
        return _("No digest of yours was made since it came.")
    return _("No digest of yours was made in the week after it was published.")


def _choice_words(reader: Reader, item: Item, now: datetime) -> str:
    """Return the words for a choice of the reader's that keeps the item out of every digest, else ""."""
    mine = _subscription_of(reader, item)
    if mine is None:
        return _("You do not read its feed any more.")
    if item_is_hidden(mutes_in_force(reader_id=reader.pk, now=now), item):
        return _("One of your mutes hides it.")
    if not mine.in_today:
        return _("You keep its feed out of Today.")
    copies = Item.objects.filter(
        article=item.article, feed__subscriptions__reader=reader, feed__subscriptions__in_today=True
    ).exclude(pk=item.pk)
    ranks = [article_rank(own, pk) for own, pk in copies.values_list("own", "feed__subscriptions__pk")]
    if any(rank < article_rank(item.own, mine.pk) for rank in ranks):
        return _("Another of your feeds has the same article, which counts instead.")
    return ""


def _not_among(reader: Reader, item: Item, digest: Digest) -> str:
    """Return the words for an item that was there when `digest` was made, and was no candidate."""
    at = digest.built_at
    if is_past_shelf(config_hiding(reader_id=reader.pk).shelf_lives, item.source_id, item.dated_at, at):
        return _("It was past the shelf life that you gave its source.")
    rated = Feedback.objects.filter(reader=reader, at__lte=at)
    read = Reading.objects.filter(reader=reader, read_at__lte=at)
    if rated.filter(article=item.article).exists():
        return _("You had rated it before a digest was made.")
    if read.filter(article=item.article).exists():
        return _("You had read it before a digest was made.")
    if item.story_id and any(rows.filter(item__story=item.story_id).exists() for rows in (rated, read)):
        return _("You had read or rated another report of its story before a digest was made.")
    words = _("It was not among the newest {limit} articles, from which a digest is chosen.")
    return words.format(limit=thousands(CANDIDATES_MAX))
