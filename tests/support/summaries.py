"""A small world for tests of summaries: long texts, and a scripted model that answers about them."""

import json
import re
from datetime import timedelta

from digest.feeds.identity import fingerprint
from digest.models import Feed, Item, Reader, Subscription
from tests.support.factories import CLOCK, FeedFactory, ItemFactory, SourceFactory, SubscriptionFactory
from tests.support.scripted_model import Body, Step, text

USAGE = {"prompt_tokens": 2000, "completion_tokens": 400, "prompt_tokens_details": {"cached_tokens": 1000}}


def long_text(word: str) -> str:
    """About 900 characters in ten sentences, all about `word`."""
    facts = [
        f"The {word} of the harbour were counted again by the council on Tuesday morning.",
        f"Nobody in town had expected so many {word} before the summer months begin.",
    ]
    more = [f"Sentence number {n} tells a little more about {word} and the quay there." for n in range(2, 12)]
    return " ".join([*facts, *more])


def carry(reader: Reader, word: str, *, hours: float = 3, feed: Feed | None = None, **fields: object) -> Item:
    """Return an item about `word`, carried by a feed (a new one unless given) that `reader` reads."""
    feed = feed or FeedFactory(source=SourceFactory(key=f"{word}.example"), state=Feed.State.ACTIVE)
    if not Subscription.objects.filter(reader=reader, feed=feed).exists():
        SubscriptionFactory(reader=reader, feed=feed)
    title, body = f"Report on {word}", long_text(word)
    given = {"title": title, "text": body, "fingerprint": fingerprint(title, body)}
    at = CLOCK - timedelta(hours=hours)
    return ItemFactory(source=feed.source, feed=feed, published_at=at, **{**given, **fields})


def items_in(body: Body) -> list[dict]:
    """Return the items that a request shows the model, read from its fence."""
    material = body["messages"][-1]["content"]
    return json.loads(re.search(r"<data>\n(.*)\n</data>", material, re.DOTALL).group(1))["items"]


def said(n: int, shown: dict, /, **changed: object) -> dict:
    """Return a faithful answer about one shown item."""
    first = shown["text"].split(". ")[0]
    reasons = [
        {"tag": "depth", "text": "counts them all"},
        {"tag": "known", "text": "harbour news again"},
        {"tag": "practical", "text": "before your trip"},
    ]
    answered = {"n": n, "summary": f"In short: {first}.", "citations": [first], "reasons": reasons}
    return {**answered, **changed}


def answer(*parts: dict, **more: object) -> Step:
    """Return the model's answer with these parts."""
    return text(json.dumps({"items": list(parts)}), usage=USAGE, **more)


def answer_to(body: Body) -> Step:
    """Return a faithful answer to any request."""
    return answer(*(said(item["n"], item) for item in items_in(body)))
