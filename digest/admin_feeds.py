"""Feeds for operators: which fail, which are gone, which have fallen silent, and what to do about it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from digest.health import QUIET_AFTER, Condition, FeedFacts, feed_condition
from digest.models import Feed
from digest.services.feeds import feeds_check, feeds_pause
from ranking.readonly import OperatorAdmin


def _fine(now: datetime) -> Q:
    well = Q(state=Feed.State.ACTIVE, failures=0, last_fetched_at__isnull=False)
    return well & (Q(last_new_at=None) | Q(last_new_at__gte=now - QUIET_AFTER))


# The same words as `feed_condition`, as questions to the database.
CONDITIONS: dict[Condition, Callable[[datetime], Q]] = {
    Condition.FAILING: lambda now: Q(state=Feed.State.ACTIVE, failures__gt=0),
    Condition.GONE: lambda now: Q(state=Feed.State.GONE),
    Condition.QUIET: lambda now: Q(
        state=Feed.State.ACTIVE, failures=0, last_fetched_at__isnull=False, last_new_at__lt=now - QUIET_AFTER
    ),
    Condition.NEW: lambda now: Q(state=Feed.State.ACTIVE, failures=0, last_fetched_at=None),
    Condition.PAUSED: lambda now: Q(state=Feed.State.PAUSED),
    Condition.IMPORTED: lambda now: Q(state=Feed.State.IMPORTED),
    Condition.FINE: _fine,
}


class ConditionFilter(admin.SimpleListFilter):
    """Feeds by how they are doing."""

    title, parameter_name = "condition", "condition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every condition, the worst first."""
        return [(condition.value, condition.value) for condition in CONDITIONS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Those in the chosen condition."""
        chosen = self.value()
        if chosen not in set(CONDITIONS):
            return queryset
        return queryset.filter(CONDITIONS[Condition(chosen)](timezone.now()))


class ErrorFilter(admin.SimpleListFilter):
    """Feeds by what went wrong the last time they were asked."""

    title, parameter_name = "error", "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every code that some feed has, in words; a feed without an error is in none."""
        codes = Feed.objects.exclude(error_code="").order_by("error_code")
        return [
            (code, code.replace("_", " ")) for code in codes.values_list("error_code", flat=True).distinct()
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Those with the chosen code."""
        return queryset.filter(error_code=self.value()) if self.value() else queryset


@admin.register(Feed)
class FeedAdmin(OperatorAdmin):
    """Feeds and how fetching them goes."""

    list_display = [
        "url",
        "source",
        "condition",
        "failures",
        "error_message",
        "last_fetched_at",
        "last_new_at",
        "check_minutes",
        "next_check",
    ]
    list_filter = [ConditionFilter, ErrorFilter]
    list_select_related = ["source"]
    raw_id_fields = ["source"]
    search_fields = ["url", "title"]
    actions = ["check_soon", "pause", "resume"]

    @admin.display(description="condition")
    def condition(self, feed: Feed) -> str:
        """How it is doing, in a word."""
        facts = FeedFacts(feed.state, feed.failures, feed.last_fetched_at, feed.last_new_at)
        return feed_condition(facts, now=timezone.now()).value

    @admin.display(description="next check", ordering="next_check_at")
    def next_check(self, feed: Feed) -> datetime | None:
        """When it is asked again; nothing for one that nobody asks."""
        return feed.next_check_at if feed.state == Feed.State.ACTIVE else None

    @admin.action(description="Fetch the chosen feeds at the next round, given-up ones too, paused ones not")
    def check_soon(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Ask them again; whoever paused a feed had a reason."""
        rows = list(queryset.values_list("pk", "state"))
        asked = [pk for pk, state in rows if state != Feed.State.PAUSED]
        if done := feeds_check(feed_ids=asked, now=timezone.now()):
            self.message_user(request, f"{_feeds(done)} asked at the next round.", messages.SUCCESS)
        if paused := len(rows) - len(asked):
            said = f"{_feeds(paused)} still paused; “Resume the chosen feeds” takes paused ones up again."
            self.message_user(request, said, messages.WARNING)
        if imported := len(asked) - done:
            said = f"{_feeds(imported)} not asked: imported from a file, without an address."
            self.message_user(request, said, messages.WARNING)

    @admin.action(description="Pause the chosen feeds")
    def pause(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Stop asking them."""
        done = feeds_pause(feed_ids=list(queryset.values_list("pk", flat=True)))
        self.message_user(request, f"{_feeds(done)} paused now.", messages.SUCCESS)

    @admin.action(description="Resume the chosen feeds")
    def resume(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Ask paused ones again, from the next round on."""
        paused = queryset.filter(state=Feed.State.PAUSED).values_list("pk", flat=True)
        done = feeds_check(feed_ids=list(paused), now=timezone.now())
        self.message_user(request, f"{_feeds(done)} taken up at the next round.", messages.SUCCESS)


def _feeds(count: int) -> str:
    return "1 feed is" if count == 1 else f"{count} feeds are"
