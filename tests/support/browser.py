"""A small world for tests of pages: dated by the real clock, since doors read it."""

import re
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from digest.models import Item, Reader, Subscription
from suggestions.models import Evidence, Question, Suggestion
from tests.support.factories import (
    FeedbackFactory,
    FeedFactory,
    ItemFactory,
    SourceFactory,
    SubscriptionFactory,
)

# The sizes of a page's layout shifts.
SHIFTS = """() => new Promise((done) => {
  const seen = new PerformanceObserver((list) => done(list.getEntries().map((one) => one.value)));
  seen.observe({type: "layout-shift", buffered: true});
  setTimeout(() => done([]), 100);
})"""


def subscribe(reader: Reader, key: str = "gazette.example", title: str = "Gazette") -> Subscription:
    """`reader` reads a feed of the source `key`."""
    feed = FeedFactory(source=SourceFactory(key=key, title=title))
    return SubscriptionFactory(reader=reader, feed=feed)


def display_form(**changes: str) -> dict[str, str]:
    """Return the form of the page *Display* as a new reader sends it, with `changes`."""
    plain = {"theme": "system", "list_density": "comfortable", "list_size": "50", "pictures": "shown"}
    return {**plain, "read_gone": "1", **changes}


def fresh_item(reader: Reader, hours: float = 3, key: str = "gazette.example", **fields: object) -> Item:
    """Return an item of `hours` ago in a source that `reader` reads."""
    if not Subscription.objects.filter(reader=reader, feed__source_id=key).exists():
        subscribe(reader, key, key.split(".")[0].title())
    return ItemFactory(source=SourceFactory(key=key), published_at=ago(hours), **fields)


def done_yesterday(reader: Reader, kind: str) -> None:
    """Make the reader's steps of a kind, which wait for Undo, a day older."""
    reader.refresh_from_db()
    reader.undo_steps[kind] = [step | {"at": ago(24).isoformat()} for step in reader.undo_steps[kind]]
    reader.save()


def ago(hours: float) -> datetime:
    """Return the moment `hours` before now."""
    return timezone.now() - timedelta(hours=hours)


def asked(reader: Reader, run_id: UUID, text: str) -> int:
    """Store a question that waits for the reader's answer; return its id."""
    words = {"text": text, "answers": ["Yes", "No"], "titles": [text]}
    return Question.objects.create(reader=reader, run_id=run_id, asked_at=timezone.now(), **words).pk


def suggested(reader: Reader, evidence: int = 3, **fields: object) -> Suggestion:
    """Return a pending suggestion with as many rated items behind it."""
    given = {
        "suggestion_type": "boost_source",
        "field": "source_weights",
        "target_key": "gazette.example",
        "label": "Gazette",
        "current_value": "1.0",
        "suggested_value": "1.2",
        "reason": "You liked 8 of 10.",
        "confidence": "high",
        "p_helpful": 0.93,
        "config_version": 0,
        "created_at": timezone.now(),
    }
    wanted = {**given, **fields}
    if wanted["field"] == "source_weights":
        SourceFactory(key=wanted["target_key"])
    suggestion = Suggestion.objects.create(reader=reader, **wanted)
    for n in range(evidence):
        item = fresh_item(reader, hours=30 + n, title=f"Proof {n}")
        FeedbackFactory(reader=reader, item=item, at=ago(26))
        Evidence.objects.create(
            suggestion=suggestion,
            item=item,
            url=item.url,
            title=item.title,
            source_key=item.source_id,
            useful=True,
            reason_tags=["depth"],
            rated_at=ago(26),
        )
    return suggestion


def messages_in(body: str) -> str:
    """Return the messages on a page about the last action."""
    found = re.search(r'<ul class="messages".*?</ul>', body, re.DOTALL)
    return found.group() if found else ""


def last_run_in(body: str) -> str:
    """Return the page's text about the last run."""
    found = re.search(r"<p data-last-run>.*?</p>", body, re.DOTALL)
    return found.group() if found else ""
