"""The admin pages of feeds and sources: the state of each, what to do about it, fetches and moves."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet, TextChoices
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.template.defaultfilters import date as date_words
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from digest.daily.first_fetch import INLINE_REQUEST_S, INLINE_S
from digest.daily.item_words import feed_health
from digest.errors import DigestError
from digest.feeds.addresses import address_label, feed_address
from digest.feeds.entities import UNREACHABLE
from digest.feeds.fetch_batch import feeds_fetch
from digest.feeds.health import NETWORK_TO_DO, QUIET_AFTER, FeedCondition, feed_condition
from digest.feeds.identity import FILE_PREFIX, SOURCE_KEY_MAX_CHARS, URN_PREFIX
from digest.feeds.pauses import feed_pauses
from digest.feeds.problem_words import note_words, problem_words
from digest.feeds.selectors import NEWSLETTER_PREFIX, feed_facts, in_trouble, is_read, network_trouble
from digest.feeds.services import SourceMove, feeds_check, feeds_pause, source_move, source_move_plan
from digest.models import Feed, Source, Subscription
from digest.places import LOOKUPS
from ranking.common.admin import Fact, FactsAdmin
from ranking.selectors import key_current

_HEALTHY = Q(state=Feed.State.ACTIVE, failures=0, last_fetched_at__isnull=False)
# The conditions of `feed_condition`, as database filters.
CONDITIONS: dict[FeedCondition, Callable[[datetime], Q]] = {
    FeedCondition.FAILING: lambda now: Q(state=Feed.State.ACTIVE, failures__gt=0),
    FeedCondition.GONE: lambda now: Q(state=Feed.State.GONE),
    FeedCondition.REFUSED: lambda now: Q(state=Feed.State.REFUSED),
    FeedCondition.DOUBTFUL: lambda now: _HEALTHY & ~Q(note=""),
    FeedCondition.QUIET: lambda now: _HEALTHY & Q(note="", last_new_at__lt=now - QUIET_AFTER),
    FeedCondition.NEW: lambda now: Q(state=Feed.State.ACTIVE, failures=0, last_fetched_at=None),
    FeedCondition.PAUSED: lambda now: Q(state=Feed.State.PAUSED),
    FeedCondition.IMPORTED: lambda now: Q(state=Feed.State.IMPORTED),
    FeedCondition.WAITING: lambda now: Q(state=Feed.State.WAITING),
    FeedCondition.FINE: lambda now: (
        _HEALTHY & Q(note="") & (Q(last_new_at=None) | Q(last_new_at__gte=now - QUIET_AFTER))
    ),
}


# What readers' pages and the admin's first page count.
TROUBLE = "trouble"


class ConditionFilter(admin.SimpleListFilter):
    """Feeds by condition."""

    title, parameter_name = "condition", "condition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return those in trouble, then every condition, the worst first."""
        return [(TROUBLE, "in trouble"), *((condition.value, condition.value) for condition in CONDITIONS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Return the feeds in the chosen condition."""
        chosen = self.value()
        if chosen == TROUBLE:
            return queryset.filter(in_trouble(), is_read())
        if chosen not in set(CONDITIONS):
            return queryset
        return queryset.filter(CONDITIONS[FeedCondition(chosen)](timezone.now()))


class ErrorFilter(admin.SimpleListFilter):
    """Feeds by the error of their last fetch."""

    title, parameter_name = "error", "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return every error code of some feed, with its label."""
        failing = Feed.objects.exclude(error_code="").order_by("error_code")
        codes = failing.values_list("error_code", flat=True).distinct()
        return [(code, code.replace("_", " ")) for code in codes]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Return the feeds with the chosen code."""
        return queryset.filter(error_code=self.value()) if self.value() else queryset


class Kind(TextChoices):
    """Where the items of a feed come from."""

    FETCHED = "fetched", "feed"
    PRIVATE = "private", "private feed"
    NEWSLETTER = "newsletter", "newsletter"
    FILE = "file", "file"
    RATINGS = "ratings", "imported ratings"


KINDS: dict[str, Q] = {
    Kind.NEWSLETTER: Q(own_address__startswith=NEWSLETTER_PREFIX),
    Kind.PRIVATE: Q(owner__isnull=False) & ~Q(own_address__startswith=NEWSLETTER_PREFIX),
    Kind.FILE: Q(url__startswith=FILE_PREFIX),
    Kind.RATINGS: Q(url__startswith=URN_PREFIX),
    Kind.FETCHED: Q(owner=None) & ~Q(url__startswith=FILE_PREFIX) & ~Q(url__startswith=URN_PREFIX),
}
KIND_WORDS: dict[str, str] = {
    Kind.NEWSLETTER: "By mail: nothing is fetched.",
    Kind.FILE: "From a file on this machine: the demo reads it, nothing is fetched.",
    Kind.RATINGS: "Articles of an imported history: nothing is fetched.",
}


def kind_of(feed: Feed) -> Kind:
    """Return where the items of `feed` come from."""
    if feed.own_address.startswith(NEWSLETTER_PREFIX):
        return Kind.NEWSLETTER
    if feed.owner_id:
        return Kind.PRIVATE
    prefixes = {FILE_PREFIX: Kind.FILE, URN_PREFIX: Kind.RATINGS}
    return next((kind for prefix, kind in prefixes.items() if feed.url.startswith(prefix)), Kind.FETCHED)


def feed_named(feed: Feed) -> SafeString:
    """Return the feed's title, with the address and number that tell it from feeds with the same title.

    The address is shown without parameters, which may hold a secret. A private feed's is its reader's own
    affair. The number is the one in the address of the feed's page.
    """
    title = str(feed.source) if not feed.title or feed.title == feed.url else feed.title
    label = address_label(feed.url) if kind_of(feed) == Kind.FETCHED else ""
    mark = " · ".join(filter(None, (label, f"no. {feed.pk}")))
    return format_html('{} <span class="host">{}</span>', title, mark)


class KindFilter(admin.SimpleListFilter):
    """Feeds by where their items come from."""

    title, parameter_name = "kind", "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return every kind."""
        return [(kind.value, str(kind.label)) for kind in Kind]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feed]) -> QuerySet[Feed]:
        """Return the feeds of the chosen kind."""
        chosen = self.value()
        return queryset.filter(KINDS[chosen]) if chosen in KINDS else queryset


# What an operator can do about a feed in each condition.
TO_DO: dict[FeedCondition, str] = {
    FeedCondition.FINE: "Nothing.",
    FeedCondition.NEW: "Nothing: a worker fetches it within minutes. If not, see Health on the first page.",
    FeedCondition.DOUBTFUL: (
        "Look at its document: only its publisher can mend it. If another address has the feed, its readers "
        "type that on its page under Sources."
    ),
    FeedCondition.QUIET: "Nothing: it answers, but has had nothing new for 60 days or more.",
    FeedCondition.FAILING: (
        "Nothing at first: it is tried again by itself, ever more rarely. If most feeds fail, the network of "
        "this machine does not work."
    ),
    FeedCondition.GONE: (
        "It is not fetched any more. “Fetch now” tries it once more. If it has a new address, its readers "
        "type that on its page under Sources."
    ),
    FeedCondition.REFUSED: "Its reader has to type the password again, on its page under Sources.",
    FeedCondition.MOVED: "Nothing: its readers read the new address.",
    FeedCondition.PAUSED: "An operator paused it. “Fetch now” ends the pause.",
    FeedCondition.IMPORTED: "Nothing.",
    FeedCondition.WAITING: "Nothing: it waits for its reader’s yes, and is deleted after 30 days.",
}
NOT_FETCHED = (Feed.State.IMPORTED, Feed.State.WAITING, Feed.State.MOVED)


class FeedForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form of a feed."""

    def clean_url(self) -> str:
        """Return the address as it is fetched, without a user name and a password."""
        url: str = self.cleaned_data["url"]
        if url == self.instance.url:  # a private feed and a file have none
            return url
        if not (address := feed_address(url)):
            raise forms.ValidationError("This is not a web address; it should start with https://.")
        return address


@admin.register(Feed)
class FeedAdmin(FactsAdmin):
    """Feeds and their fetches."""

    form = FeedForm
    change_form_template = "admin/digest/feed/change_form.html"
    list_display = ["name", "kind", "condition", "why", "failures", "last_fetched_at", "last_new_at"]
    list_display += ["next_check"]
    list_filter = [ConditionFilter, KindFilter, ErrorFilter]
    list_select_related = ["source"]
    raw_id_fields = ["source", "owner"]
    # The address of a private feed is its owner's own affair. No admin page shows its credentials.
    exclude = ["own_address"]
    readonly_fields = ["owner"]
    search_fields = ["url", "source", "title"]
    actions = ["check_soon", "pause", "resume"]
    MAIN = ("title", "url", "source", "site_url", "state", "owner")
    STORED = (
        *(
            "check_minutes",
            "next_check_at",
            "pause_until",
            "last_fetched_at",
            "last_new_at",
            "failures",
            "missing",
        ),
        *("error_code", "error_message", "etag", "last_modified"),
        *("moved_url", "answered_by", "moved_sightings", "moved_since"),
    )
    fieldsets = ((None, {"fields": MAIN}), ("As stored", {"fields": STORED, "classes": ["collapse"]}))

    @admin.display(description="feed", ordering="title")
    def name(self, feed: Feed) -> SafeString:
        """Return the feed's title, address and number."""
        return feed_named(feed)

    @admin.display(description="kind")
    def kind(self, feed: Feed) -> str:
        """Return where the feed's items come from."""
        return str(kind_of(feed).label)

    @admin.display(description="condition")
    def condition(self, feed: Feed) -> str:
        """Return the feed's condition in a word."""
        return feed_condition(feed_facts(feed), now=timezone.now()).value

    @admin.display(description="why", ordering="error_code")
    def why(self, feed: Feed) -> str:
        """Return the feed's problem in words."""
        return problem_words(feed.error_code, feed.error_message) or note_words(feed.note)

    @admin.display(description="next fetch", ordering="next_check_at")
    def next_check(self, feed: Feed) -> datetime | None:
        """Return when an active feed is fetched next; `None` for all others."""
        return feed.next_check_at if feed.state == Feed.State.ACTIVE else None

    def facts(self, request: HttpRequest, row: Feed) -> Iterator[Fact]:
        """Yield the feed's state, what to do about it, and the number of its readers, its fetches and items.

        Three queries, and one more if no server answered.
        """
        now, kind = timezone.now(), kind_of(row)
        condition = feed_condition(feed_facts(row), now=now)
        readers = row.subscriptions.count()
        yield Fact("State", _sentence(condition.value, KIND_WORDS.get(kind) or _health(row, now)))
        is_unread = not readers and row.state == Feed.State.ACTIVE
        to_do = "Nothing: without readers it is not fetched." if is_unread else TO_DO[condition]
        if row.failures and row.error_code in UNREACHABLE and (offline := network_trouble()):
            to_do = f"{offline} {NETWORK_TO_DO}"
        yield Fact("What to do", to_do)
        href = ""
        if request.user.has_perm("digest.view_subscription"):
            href = f"{reverse('admin:digest_subscription_changelist')}?feed__id__exact={row.pk}"
        yield Fact("Readers", f"{readers:,}" if readers else "nobody", href if readers else "")
        if kind in (Kind.FETCHED, Kind.PRIVATE):
            yield Fact("Last fetch", _last_fetch(row))
            if row.state == Feed.State.ACTIVE and readers:
                pause = f"; {_pause_words(row.pause_until)}" if (row.pause_until or now) > now else ""
                every = f"{_when(row.next_check_at)}; every {row.check_minutes:,} minutes"
                yield Fact("Next fetch", every + pause)
        yield Fact("Last new item", _when(row.last_new_at))
        yield Fact("Items", _items_words(row, now))

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Show the feeds, and say if most of them fail by this machine's own network."""
        if request.method == "GET" and (offline := network_trouble()):
            messages.warning(request, f"{offline} {NETWORK_TO_DO}")
        return super().changelist_view(request, *args, **options)

    def row_context(self, request: HttpRequest, row: Feed | None) -> dict[str, Any]:
        """Return the facts, and whether the feed can be fetched now."""
        fetchable = (
            row is not None and row.state not in NOT_FETCHED and self.has_change_permission(request, row)
        )
        return super().row_context(request, row) | {"fetchable": fetchable}

    def get_urls(self) -> list[URLPattern]:
        """Add the address that fetches a feed now."""
        fetch = self.admin_site.admin_view(self.fetch_view)
        return [path("<int:feed_id>/fetch/", fetch, name="digest_feed_fetch"), *super().get_urls()]

    def fetch_view(self, request: HttpRequest, feed_id: int) -> HttpResponse:
        """POST: fetch a feed within ten seconds, or leave it to the next fetch batch."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        feed = Feed.objects.filter(pk=feed_id).first()
        if feed is None:
            raise Http404("There is no such feed.")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        level, words = feed_fetch_now(feed=feed, who=request.user.pk, now=timezone.now())
        self.log_change(request, feed, "Fetched now.")
        messages.add_message(request, level, words)
        return redirect("admin:digest_feed_change", feed.pk)

    @admin.action(
        description="Fetch the chosen feeds at the next round, given-up ones too, paused ones not",
        permissions=["change"],
    )
    def check_soon(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Make the chosen feeds due, except paused ones, because there was a reason to pause them."""
        rows = list(queryset.values_list("pk", "state"))
        unpaused = [pk for pk, state in rows if state != Feed.State.PAUSED]
        if due := feeds_check(feed_ids=unpaused, now=timezone.now()):
            text = f"{_feeds(due)} asked at the next round{_pauses_words(unpaused)}."
            self.message_user(request, text, messages.SUCCESS)
        if paused := len(rows) - len(unpaused):
            text = f"{_feeds(paused)} still paused; “Resume the chosen feeds” takes paused ones up again."
            self.message_user(request, text, messages.WARNING)
        if imported := len(unpaused) - due:
            text = f"{_feeds(imported)} not asked: imported from a file, without an address."
            self.message_user(request, text, messages.WARNING)

    @admin.action(description="Pause the chosen feeds", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Stop fetching the chosen feeds."""
        paused = feeds_pause(feed_ids=list(queryset.values_list("pk", flat=True)))
        self.message_user(request, f"{_feeds(paused)} paused now.", messages.SUCCESS)

    @admin.action(description="Resume the chosen feeds", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Feed]) -> None:
        """Make the paused feeds among the chosen ones due at the next fetch batch."""
        paused = list(queryset.filter(state=Feed.State.PAUSED).values_list("pk", flat=True))
        resumed = feeds_check(feed_ids=paused, now=timezone.now())
        text = f"{_feeds(resumed)} taken up at the next round{_pauses_words(paused)}."
        self.message_user(request, text, messages.SUCCESS)


def feed_fetch_now(*, feed: Feed, who: object, now: datetime) -> tuple[int, str]:
    """Fetch `feed` within ten seconds. Return the level and the words of a message about the result.

    If it cannot be fetched at once, it is due at the next fetch batch, or when the pause ends that its server
    asked for.
    """
    if not feeds_check(feed_ids=[feed.pk], now=now):
        return messages.WARNING, "Nothing to fetch: it has no address."
    feed.refresh_from_db()
    if until := feed_pauses(feeds=[feed], now=now).get(feed.pk):
        return messages.WARNING, f"Not fetched: {_pause_words(until)}. It is fetched after that."
    with LOOKUPS.place(who) as has_place:
        if has_place:
            report = feeds_fetch(
                now=now, feeds=[feed], seconds=INLINE_S, request_s=INLINE_REQUEST_S, clock=timezone.now
            )
            for _, problem in report.errors:
                return messages.ERROR, f"The fetch failed. {problem_words(problem.code, problem.message)}"
            for _, result in report.per_feed:
                return messages.SUCCESS, f"Fetched: {result.items_new:,} new of {result.items_seen:,} items."
    return messages.INFO, "Its site is busy: the next fetch batch takes it, within five minutes."


def _pause_words(until: datetime | None) -> str:
    return f"its server asked for a pause until {_when(until)}"


def _pauses_words(feed_ids: Sequence[int]) -> str:
    """Return how many of these feeds wait for the pauses that their servers asked for, "" if none does."""
    pauses = feed_pauses(feeds=Feed.objects.filter(pk__in=feed_ids), now=timezone.now())
    last = max(pauses.values(), default=None)
    return (
        f", but {len(pauses):,} after pauses that servers asked for, the last at {_when(last)}"
        if last
        else ""
    )


def _sentence(word: str, words: str) -> str:
    return f"{word.capitalize()}. {words}"


def _health(feed: Feed, now: datetime) -> str:
    """Return how the last fetch went, as readers are told."""
    error = problem_words(feed.error_code, feed.error_message)
    return feed_health(
        feed.state, error, feed.failures, feed.last_fetched_at, now, note=note_words(feed.note)
    )


def _when(at: datetime | None) -> str:
    return date_words(localtime(at), "j F Y, H:i") if at else "never"


def _last_fetch(feed: Feed) -> str:
    """Return when the feed was last fetched and with which result."""
    if not feed.last_fetched_at:
        return "never"
    code = feed.error_code.replace("_", " ")
    well = f"it answered{f', but {feed.get_note_display()}' if feed.note else ''}"
    return f"{_when(feed.last_fetched_at)}: {f'failed ({code})' if feed.failures else well}"


def _items_words(feed: Feed, now: datetime) -> str:
    """Return how many items of the last four weeks there are, by week."""
    weeks = [(now - timedelta(days=7 * (n + 1)), now - timedelta(days=7 * n)) for n in range(4)]
    counts = {
        f"week_{n}": Count("pk", filter=Q(dated_at__gt=since, dated_at__lte=until))
        for n, (since, until) in enumerate(weeks)
    }
    found = feed.items.filter(dated_at__gt=weeks[-1][0]).aggregate(**counts)
    return f"{', '.join(f'{found[name]:,}' for name in counts)} in the last four weeks, the latest first"


def _feeds(count: int) -> str:
    return "1 feed is" if count == 1 else f"{count} feeds are"


class MoveForm(forms.Form):
    """The form for the new key of a source."""

    into = forms.CharField(
        label="New key",
        max_length=SOURCE_KEY_MAX_CHARS,
        help_text="A key that exists joins the two; any other renames this one.",
    )


@admin.register(Source)
class SourceAdmin(FactsAdmin):
    """Publishers.

    A title is edited in place. Changing a key moves everything that uses it, after confirmation.
    """

    change_form_template = "admin/digest/source/change_form.html"
    list_display = ["name", "key"]
    ordering = ["key"]
    search_fields = ["key", "title"]

    @admin.display(description="source", ordering="title")
    def name(self, source: Source) -> str:
        """Return the source's title, or its key if it has none."""
        return str(source)

    def facts(self, request: HttpRequest, row: Source) -> Iterator[Fact]:
        """Yield the source's feeds, readers and items. Four queries."""
        feeds = Feed.objects.filter(source=row).order_by()
        troubled = feeds.filter(in_trouble(), is_read()).count()
        words = f"{feeds.count():,}{f', {troubled:,} in trouble' if troubled else ''}"
        yield Fact(
            "Feeds", words, f"{reverse('admin:digest_feed_changelist')}?source__key__exact={quote(row.pk)}"
        )
        readers = Subscription.objects.filter(feed__source=row).values("reader").distinct().count()
        yield Fact("Readers", f"{readers:,}" if readers else "nobody")
        last = row.items.order_by("-dated_at").values_list("dated_at", flat=True).first()
        yield Fact("Newest item", _when(last))

    def get_readonly_fields(self, request: HttpRequest, obj: Source | None = None) -> list[str]:
        """Forbid editing a key in the form: saving it would create a second source."""
        return ["key"] if obj else []

    def get_urls(self) -> list[URLPattern]:
        """Add the page that moves a source. It comes before the admin's own pages, which match any path."""
        move = self.admin_site.admin_view(self.move_view)
        return [path("<path:object_id>/move/", move, name="digest_source_move"), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one source. Redirect to its new key if it was moved."""
        if (key := key_current(key=unquote(object_id))) != unquote(object_id):
            return redirect("admin:digest_source_change", quote(key))
        return super().change_view(request, object_id, form_url, extra_context)

    def move_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the new key, show the effect of the move, and move the source after confirmation."""
        if not (self.has_change_permission(request) and self.has_delete_permission(request)):
            raise PermissionDenied
        source = self.get_object(request, key_current(key=unquote(object_id)))
        if source is None:
            raise Http404("There is no such source.")
        form, plan = MoveForm(request.POST or None), None
        if request.method == "POST" and form.is_valid():
            into = form.cleaned_data["into"]
            try:
                if request.POST.get("confirmed"):
                    return self._report(request, source_move(key=source.pk, into=into, now=timezone.now()))
                plan = source_move_plan(key=source.pk, into=into)
            except DigestError as error:
                form.add_error("into", error.message)
        context: dict[str, Any] = self.admin_site.each_context(request) | {
            "title": f"Move {source.pk}",
            "opts": self.opts,
            "source": source,
            "back": reverse("admin:digest_source_change", args=[quote(source.pk)]),
            "form": form,
            "plan": plan,
        }
        return render(request, "admin/digest/source/move.html", context, status=422 if form.errors else 200)

    def _report(self, request: HttpRequest, move: SourceMove) -> HttpResponse:
        self.log_change(request, Source.objects.get(pk=move.into), f"Took over everything of “{move.key}”.")
        counts = ((move.feeds, "feed"), (move.items, "item"), (move.configs, "setting"))
        moved = ", ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
        messages.success(request, f"“{move.key}” is now “{move.into}”: {moved}.")
        return redirect(f"{reverse('admin:digest_source_changelist')}?{urlencode({'q': move.into})}")
