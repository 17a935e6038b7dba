"""Readers worth asking about: with items of the demo, a token and suggestions that wait."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from advisor.models import Run
from digest.accounts.tokens import token_issue
from digest.models import ApiToken, Item, Reader, Subscription
from tests.support.browser import suggested
from tests.support.factories import FeedbackFactory, SubscriptionFactory

ITEMS, IDLE = 200, 3


def world(readers: int, suggestions: int) -> dict[str, Any]:
    """Make `readers`, each with `suggestions`; tokens, and the ids that exist, by reader."""
    now = timezone.now()
    ada = Reader.objects.get(username="ada")
    feeds = [row.feed for row in Subscription.objects.filter(reader=ada).select_related("feed")]
    items = list(Item.objects.order_by("-dated_at")[:ITEMS])
    made: dict[str, Any] = {"items": [item.pk for item in items], "readers": [], "today": f"{now:%Y-%m-%d}"}
    operator = Reader.objects.get(username="olga")
    for n in range(readers):
        reader = operator if n == 0 else Reader.objects.create(username=f"fuzz{n}", welcomed_at=now)
        for feed in feeds:
            if not Subscription.objects.filter(reader=reader, feed=feed).exists():
                SubscriptionFactory(reader=reader, feed=feed)
        for item in items[:20]:
            FeedbackFactory(reader=reader, item=item, at=now, useful=item.pk % 2 == 0)
        # The last few have none waiting: asked for suggestions, the advisor really looks for some.
        count = suggestions if n < readers - IDLE else 0
        waiting = [suggested(reader, evidence=0, target_key=f"fuzz{k}.example").pk for k in range(count)]
        day = now.date() - timedelta(days=40)
        run = Run.objects.create(reader=reader, day=day, trigger="ui", status="completed", created_at=now)
        token = token_issue(reader=reader, name="fuzz", scope=ApiToken.Scope.FULL, expires_at=None, now=now)
        made["readers"].append({"token": token.secret, "suggestions": waiting, "run": str(run.pk)})
    return made
