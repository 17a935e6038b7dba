"""How the feeds of whoever looks are doing, for pages that show what they brought."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils import timezone

from digest.health import FeedFacts, Standing, feeds_standing
from digest.selectors.subscriptions import subscriptions_of

register = template.Library()


@register.simple_tag(takes_context=True)
def standing_of_feeds(context: Mapping[str, Any]) -> Standing:
    """The reader's feeds counted by how they do; one query."""
    feeds = [row.feed for row in subscriptions_of(reader_id=context["request"].user.pk)]
    facts = [FeedFacts(feed.state, feed.failures, feed.last_fetched_at, feed.last_new_at) for feed in feeds]
    return feeds_standing(facts, now=timezone.now())
