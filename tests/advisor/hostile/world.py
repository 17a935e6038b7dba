"""A world worth attacking: a reader with tastes, another with secrets, sybils, and a photograph of it all."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.db.models import Model
from django.utils import timezone

from digest.models import Feedback, Item, Reader, Source
from ranking.config_body import body_default
from ranking.models import ConfigVersion, RankConfig
from suggestions.models import Outcome, PreferenceProfile, Suggestion
from tests.support.factories import FeedFactory, ItemFactory, ReaderFactory, SubscriptionFactory
from tests.support.histories import thumbs

# Every text of Ben's holds it; nothing Ada's run reads, writes, logs or shows may.
CANARY = "wrenfeather-7731"
API_KEY = "sk-canary-0f9e8d7c6b5a"
WEIGHTS = {"loved.example": 1.2}
TOPICS = ["Sailing"]
AVOIDED, COOLING = "pinned.example", "cooling.example"
PUSHED = "pushed.example"
# Planted in this order; the split form uses all five, from four sources.
PLANTS = (PUSHED, "loved.example", "middling.example", "loathed.example", PUSHED)
READERS_ROWS = ("advisor", "suggestions", "ranking", "digest")


@dataclass
class World:
    """The readers, the clock, the planted texts, and Ben's rows and all configs before the attack."""

    ada: Reader
    ben: Reader
    now: datetime
    planted: list[str] = field(default_factory=list)
    before: dict[str, Any] = field(default_factory=dict)

    def urls(self, source: str, useful: bool = True, count: int = 3, reader: Reader | None = None):
        """Return the newest items of a source with this verdict, by url."""
        rows = Feedback.objects.filter(reader=reader or self.ada, item__source_id=source, useful=useful)
        return list(rows.order_by("-at").values_list("item__url", flat=True)[:count])

    def plant(self, texts: list[str], where: str) -> None:
        """Put the texts in places where strangers, or the reader, can put text."""
        self.planted = texts
        if where == "flood":  # of every item: planted again it would be the same
            _plant(self.ada, PUSHED, texts[-1], where, 0)
            return
        for text, source in zip(texts * 5 if len(texts) == 1 else texts, PLANTS, strict=False):
            _plant(self.ada, source, text, where, self.planted.index(text))
        if where == "outcome":
            Outcome.objects.filter(reader=self.ada).update(user_reason=" ".join(texts)[:500])


def world_build() -> World:
    """Build a world: Ada's tastes are clear, Ben's rows all hold the canary, and six fake accounts like the
    pushed items."""
    now = timezone.now()
    ada, ben = (ReaderFactory(username=name, time_zone="UTC") for name in ("ada", "ben"))
    _ada(ada, now)
    _ben(ben, now)
    for n in range(6):
        sybil = ReaderFactory(username=f"sybil{n}")
        thumbs(sybil, PUSHED, 8, rate=1.0, days=20, now=now)
        thumbs(sybil, "loved.example", 4, rate=1.0, days=20, now=now)
    world = World(ada, ben, now)
    world.before = photograph(ben)
    return world


def photograph(ben: Reader) -> dict[str, Any]:
    """Return every row of Ben's, and every row of every reader's settings."""
    rows = {model._meta.label: sorted(map(repr, _of(model, ben))) for model in _reader_models()}
    for model in (RankConfig, ConfigVersion, *_models("LearnedWeight", "WeightSnapshot")):
        rows[f"all {model._meta.label}"] = sorted(map(repr, model.objects.values_list()))
    rows["items of Ben"] = sorted(map(repr, Item.objects.filter(feedback__reader=ben).values_list()))
    return rows


def rows_written() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every row of the two rooms a run writes to, but Ben's, as (model, values)."""
    for room in ("advisor", "suggestions"):
        for model in apps.get_app_config(room).get_models():
            rows = model.objects.all()
            if any(f.name == "reader" for f in model._meta.get_fields()):
                rows = rows.exclude(reader__username="ben")
            for values in rows.values():
                yield model._meta.label, values


def _plant(reader: Reader, source: str, text: str, where: str, n: int) -> None:
    rows = Feedback.objects.filter(reader=reader, item__source_id=source, useful=True)
    row = rows.order_by("-at").select_related("item")[1 if n == 4 else 0]
    if where == "tag":
        row.tags.clear()
        Feedback.objects.filter(pk=row.pk).update(other_reasons=[text])
    elif where == "flood":
        Item.objects.filter(feedback__reader=reader).update(title=text[:500], text=text * 30)
    else:
        Item.objects.filter(pk=row.item_id).update(title=text[:500])
    if where == "source":
        # Feeds' own titles are cleaned when they are fetched.
        Source.objects.filter(pk=source).update(title="".join(c for c in text if c.isprintable())[:200])


def _ada(ada: Reader, now: datetime) -> None:
    plain, topical = "{source} note {n}", "Kubernetes in practice {n}"
    thumbs(ada, "loved.example", 16, rate=0.95, days=30, now=now, titles=(topical, plain))
    thumbs(ada, "middling.example", 14, rate=0.5, days=30, now=now, titles=(plain, topical))
    thumbs(ada, "loathed.example", 12, rate=0.1, days=30, now=now)
    thumbs(ada, PUSHED, 10, rate=0.3, days=30, now=now)
    thumbs(ada, AVOIDED, 5, rate=1.0, days=30, now=now)
    thumbs(ada, COOLING, 5, rate=1.0, days=30, now=now)
    sources = ("loathed.example", PUSHED, "loved.example")
    feeds = [FeedFactory(source=Source.objects.get(pk=source)) for source in sources]
    for feed in feeds:
        SubscriptionFactory(reader=ada, feed=feed)
    # News in turns: a page on which a change of any source's weight moves something.
    for n in range(12):
        ItemFactory(
            feed=feeds[n % 3], source=feeds[n % 3].source, published_at=now - timedelta(hours=n + 0.5)
        )
    _config(ada, TOPICS, WEIGHTS, now, avoided=[AVOIDED])
    _settled(ada, COOLING, now - timedelta(days=5), "too much")


def _ben(ben: Reader, now: datetime) -> None:
    for n in range(3):
        thumbs(ben, f"ben{n}.example", 10, rate=1.0 - n / 2, now=now, titles=(f"{CANARY} {{n}}",))
    _config(ben, [f"{CANARY} topic"], {"ben0.example": 1.3}, now)
    ConfigVersion.objects.filter(reader=ben).update(note=f"{CANARY}, as Ben asked in words")
    _settled(ben, "ben1.example", now - timedelta(days=5), f"{CANARY} said so")
    Suggestion.objects.create(
        reader=ben,
        suggestion_type="boost_source",
        field="source_weights",
        target_key="ben2.example",
        label=CANARY,
        suggested_value="1.3",
        reason=f"{CANARY} waits",
        p_helpful=0.9,
        config_version=1,
        created_at=now - timedelta(days=3),
    )


def _config(reader: Reader, topics, weights, now: datetime, **pins) -> None:
    # By the hour: among items of one whole day, a weight moves too little for these attacks to show.
    by_hour = {"recency_by_day": False}
    body = body_default() | {"topics": topics, "source_weights": weights} | by_hour | pins
    settings = {key: value for key, value in body.items() if key != "learned"}
    RankConfig.objects.create(reader=reader, version=1, **settings)
    version = {"cause": "edit", "body": body, "changes": [], "created_at": now}
    ConfigVersion.objects.create(reader=reader, version=1, **version)


def _settled(reader: Reader, target: str, at: datetime, reason: str) -> None:
    suggestion = Suggestion.objects.create(
        reader=reader,
        suggestion_type="boost_source",
        field="source_weights",
        target_key=target,
        suggested_value="1.3",
        reason=reason,
        p_helpful=0.9,
        config_version=1,
        status="rejected",
        created_at=at,
        resolved_at=at,
    )
    Outcome.objects.create(
        suggestion=suggestion,
        reader=reader,
        kind="decision",
        outcome="rejected",
        suggestion_type="boost_source",
        target_key=target,
        user_reason=reason,
        config_before=body_default(),
        created_at=at,
        decided_at=at,
    )
    PreferenceProfile.objects.create(
        reader=reader,
        acceptance_stats={"boost_source": {"accepted": 0, "rejected": 1, "rate": 0.0, "confidence": "low"}},
        total_outcomes=1,
        last_outcome_at=at,
        computed_at=at,
    )


def _models(*names: str) -> list[type[Model]]:
    return [apps.get_model("ranking", name) for name in names]


def _reader_models() -> list[type[Model]]:
    return [
        model
        for room in READERS_ROWS
        for model in apps.get_app_config(room).get_models()
        if any(f.name == "reader" and f.concrete for f in model._meta.get_fields())
    ]


def _of(model: type[Model], reader: Reader):
    return model.objects.filter(reader=reader).values_list()
