"""Views for reading: days, calendar, items, saved items, left-out items, and trends."""

from datetime import UTC, datetime, time, timedelta
from datetime import date as Date
from typing import Any, Literal

from allauth.account.adapter import get_adapter
from csp.decorators import csp_update
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from digest.accounts.asks import may_ask_today
from digest.accounts.services import (
    reader_nudge_quiet,
)
from digest.daily.onboarding import offer_of_today
from digest.daily.presentation import responses_of
from digest.daily.selectors import digest_for
from digest.daily.store import exposures_log
from digest.days import day_of
from digest.entities import RatedItem
from digest.errors import DigestError, InvalidRating
from digest.feedback.naming import article_name, item_forget
from digest.feedback.selectors import feedback_by_items, feedback_counts, feedback_weeks
from digest.feedback.services import (
    feedback_give,
    feedback_tags_set,
    feedback_take_back,
    feedback_words_set,
)
from digest.feedback.trends import trends_of, weeks_until
from digest.items.own_names import own_names
from digest.items.reading import item_open, item_save, item_unread, items_read
from digest.items.selectors import item_for, source_titles
from digest.models import Exposure, Item, Reader, Reading
from digest.notifications.destinations import saving_destination
from digest.requests import is_seen, page_of, reader_of, referrer_path, return_path
from digest.web.pages.articles import article_of
from digest.web.pages.catch_up import CAUGHT_UP
from digest.web.pages.contexts import (
    OLDEST,
    calendar_page,
    day_page,
    digest_items,
    item_page,
    left_out_page,
    moved_page,
    saved_page,
)
from digest.web.pages.effects import effect_words
from digest.web.pages.forms import ThumbForm
from digest.web.pages.item_parts import item_part
from digest.web.pages.marked import marking_keep, page_made, page_stamp
from digest.web.pages.neighbours import neighbours_of
from ranking.language import gettext_noop
from ranking.selectors import config_effective, weight_history

DAY = timedelta(days=1)
# What a tap took back besides: that the reader asked for more, or a rating of not useful.
Ended = RatedItem | Literal["named", ""]
NO_LONGER_NAMED = gettext_noop("“More like this” was taken back.")
NO_LONGER_RATED = gettext_noop("“Not useful” was taken back.")
# Sound and film may come from any host and be redirected to others: publishers count their listeners
# so. A browser asks for it once the reader presses play, since players preload nothing.
PLAYING = {"media-src": ["https:"]}


@require_safe
def today(request: HttpRequest) -> HttpResponse:
    """Show today's digest, in the reader's time zone. Show visitors the front page."""
    if not request.user.is_authenticated:
        return _visitors_answer(request)
    reader, now = reader_of(request), timezone.now()
    return _day_answer(request, reader, day_of(now, reader.zone), now)


@login_required
@require_safe
def day(request: HttpRequest, date: Date) -> HttpResponse:
    """Show the digest of one day; a day in the future, or over two years ago, is not found."""
    reader, now = reader_of(request), timezone.now()
    if reason := _day_missing(reader, date, now):
        return render(request, "404.html", {"reason": reason}, status=404)
    return _day_answer(request, reader, date, now)


@login_required
@require_safe
def moved(request: HttpRequest) -> HttpResponse:
    """Show the articles that the last change moved on today's page; without one, today's page itself."""
    page = moved_page(reader_of(request), timezone.now())
    return render(request, "digest/moved.html", page) if page else redirect("digest:today")


@login_required
@require_safe
def calendar(request: HttpRequest) -> HttpResponse:
    """Show a month of digests to choose from: `?month=2026-03`, this month without."""
    page = calendar_page(reader_of(request), request.GET.get("month", ""), timezone.now())
    return render(request, "digest/calendar.html", page)


@login_required
@require_POST
def read(request: HttpRequest, date: Date) -> HttpResponse:
    """Mark a day's digest as read."""
    reader, now = reader_of(request), timezone.now()
    if reason := _day_missing(reader, date, now):
        raise Http404(reason)
    items, seen_by = digest_items(reader, date, now), page_made(request.POST.get("seen", ""), now)
    here = date == day_of(now, reader.zone)
    name = _("Today") if here else date_format(date, _("j F Y"))
    marking_keep(request, items_read(reader=reader, item_ids=items, now=now, seen_by=seen_by), name, now)
    return redirect("digest:today") if here else redirect("digest:day", date)


@login_required
@require_POST
def nudge_dismiss(request: HttpRequest) -> HttpResponse:
    """Hide the note about pending suggestions for a week."""
    reader_nudge_quiet(reader=reader_of(request), now=timezone.now())
    return redirect("digest:today")


def _visitors_answer(request: HttpRequest) -> HttpResponse:
    """Show the front page with a digest of the demo and the ways in. No query."""
    page = {"signup_open": get_adapter(request).is_open_for_signup(request), "signup": settings.SIGNUP}
    answer = render(request, "digest/visitors.html", page)
    # After signing in, the same address is the reader's digest.
    answer["Cache-Control"] = "no-store"
    return answer


def _day_answer(request: HttpRequest, reader: Reader, date: Date, now: datetime) -> HttpResponse:
    """Show the page of a day, and log its items as exposures."""
    page = day_page(reader, date, now, all_items="all" in request.GET)
    if page["digest"] and is_seen(request):
        exposures_log(digest=page["digest"], door=Exposure.Door.PAGE, now=now)
    page["caught_up"] = request.session.get(CAUGHT_UP) == date.isoformat()
    is_back = page["away_since"] and not page["caught_up"]
    page["may_ask"] = page["is_today"] and not is_back and may_ask_today(reader=reader, now=now)
    asks = page["may_ask"] and page["shown"]
    page["seen"] = page_stamp(now)
    page["offer"] = offer_of_today(reader=reader, now=now) if asks else ""
    return render(request, "digest/day.html", page)


def _day_missing(reader: Reader, date: Date, now: datetime) -> str:
    """Return why there can be no digest of `date`, and which days have one; "" if there can be one."""
    today = day_of(now, reader.zone)
    if today - OLDEST <= date <= today:
        return ""
    if date == today + DAY and digest_for(reader_id=reader.pk, date=date):
        return ""  # built before the reader moved west, when it was tomorrow already
    first, last = (date_format(day, _("j F Y")) for day in (today - OLDEST, today))
    return _("There is no digest of that day. Digests go back from today, {last}, to {first}.").format(
        last=last, first=first
    )


@login_required
@require_safe
def item(request: HttpRequest, item_id: int) -> HttpResponseBase:
    """Show one item, its text and its score breakdown; looking at it marks it as read.

    With `?pane=1` only the piece that a script shows beside a list; `?from=mail` and `?from=feed` are in the
    links of those.
    """
    reader, now = reader_of(request), timezone.now()
    found = _item_or_404(reader, item_id)
    if is_seen(request):
        came_by = request.GET.get("from", "")
        door = came_by if came_by in (Reading.Door.MAIL, Reading.Door.FEED) else Reading.Door.PAGE
        item_open(reader=reader, item_id=item_id, door=door, now=now)
    page = item_page(reader, found, now) | {"came_from": referrer_path(request)}
    article = article_of(reader=reader, item=found)
    page |= {"article": article, "send_on": saving_destination(reader_id=reader.pk)}
    if "pane" in request.GET:
        return render(request, "digest/item_pane.html", page | {"back": page["came_from"]})

    page["neighbours"] = neighbours_of(reader=reader, item=found, now=now)

    def answer(request: HttpRequest) -> HttpResponse:
        return render(request, "digest/item.html", page)

    return csp_update(PLAYING)(answer)(request) if article.has_media else answer(request)


@login_required
@require_POST
def feedback(request: HttpRequest, item_id: int) -> HttpResponse:
    """Store a rating, its undo, a reason or own words; a script gets the changed part of the page back."""
    found = _item_or_404(reader_of(request), item_id)
    form = ThumbForm(request.POST)
    try:
        if not form.is_valid():
            raise InvalidRating(_("A rating is 1, 0 or clear, a reason one of those on offer."))
        if "words" in request.POST and not form.cleaned_data["useful"]:
            return _words_answer(request, found)
        ended = _feedback_store(reader_of(request), found, form.cleaned_data)
    except InvalidRating as error:
        return JsonResponse({"error": error.code, "message": error.message}, status=error.status)
    except DigestError as error:
        return HttpResponse(error.message, status=error.status, content_type="text/plain")
    useful = form.cleaned_data["useful"]
    is_first = useful in ("0", "1") and feedback_counts(reader_id=reader_of(request).pk).total == 1
    tells = effect_words(request, more=useful == "1", named=False) if is_first else ""
    return _response_answer(request, found, ended, tells=tells)


@login_required
@require_POST
def save(request: HttpRequest, item_id: int) -> HttpResponse:
    """Save an item for later (`saved=1`), or stop; answers as `feedback` does."""
    found = _item_or_404(reader_of(request), item_id)
    saved = request.POST.get("saved") == "1"
    item_save(reader=reader_of(request), item_id=item_id, saved=saved, now=timezone.now())
    return _response_answer(request, found)


@login_required
@require_POST
def name(request: HttpRequest, item_id: int) -> HttpResponse:
    """Ask for more like an item (`named=1`), or take that back; answers as `feedback` does.

    Asking ends a rating of not useful, and taking it back brings that rating back (`rated_before`) with its
    reasons (`tag_before`, `words_before`).
    """
    reader, now = reader_of(request), timezone.now()
    found = _item_or_404(reader, item_id)
    before = feedback_by_items(reader_id=reader.pk, items=[found]).get(found.pk)
    if request.POST.get("named") == "1":
        article_name(reader=reader, item_id=item_id, now=now)
        ended: Ended = before if before and not before.useful else ""
        return _response_answer(request, found, ended, tells=effect_words(request, more=True))
    item_forget(reader=reader, item_id=item_id)
    if request.POST.get("rated_before") == "1" and before is None:
        try:
            tags, words = (request.POST.getlist(name) for name in ("tag_before", "words_before"))
            feedback_give(reader=reader, item_id=item_id, useful=False, now=now, tags=tags, words=words)
        except DigestError as error:
            return HttpResponse(error.message, status=error.status, content_type="text/plain")
    return _response_answer(request, found)


@login_required
@require_POST
def unread(request: HttpRequest, item_id: int) -> HttpResponse:
    """Mark an item as unread and go back to the reader's last page, or to today's digest."""
    found = _item_or_404(reader_of(request), item_id)
    item_unread(reader=reader_of(request), item_id=item_id)
    messages.success(request, _("“{title}” is unread again.").format(title=found.title))
    return redirect(return_path(request))


def _words_answer(request: HttpRequest, item: Item) -> HttpResponse:
    """Store the reader's own words, say so, and offer the change that they ask for, if they ask for one."""
    written = request.POST.getlist("words")
    new = feedback_words_set(reader=reader_of(request), item_id=item.pk, words=written)
    notice = render_to_string("digest/_words_kept.html", {"new": new}, request)
    ended: Ended = "named" if request.POST.get("named_before") == "1" else ""
    return _response_answer(request, item, ended, notice)


def _response_answer(
    request: HttpRequest, item: Item, ended: Ended = "", notice: str = "", tells: str = ""
) -> HttpResponse:
    """Return the changed part of the page to a script, else a redirect to the item on the page it was on.

    `ended` is what the tap took back of the item: "named" or a rating of not useful. The page says so, and
    `notice` what was stored, and `tells` what that changes, both HTML of ours.
    """
    back = return_path(request)
    if request.headers.get("X-Requested-With") == "fetch":
        changed = responses_of(reader=reader_of(request), items=[item])[item.pk]
        return HttpResponse(item_part(request, "response", changed, back, True, ended, notice, tells))
    if notice:
        messages.success(request, notice)
    elif ended:
        messages.info(request, _(NO_LONGER_NAMED if ended == "named" else NO_LONGER_RATED))
    if tells:
        messages.info(request, tells)
    return redirect(f"{back}#item-{item.pk}")


def _feedback_store(reader: Reader, item: Item, typed: dict[str, Any]) -> Ended:
    """Store one tap; a reason counts only beside a rating. Return what the tap ended.

    A rating of not useful ends that the reader asked for more like the item; its undo brings that back.
    """
    now = timezone.now()
    if typed["useful"] == "clear":
        feedback_take_back(reader=reader, item_id=item.pk)
        if typed["named_before"]:
            article_name(reader=reader, item_id=item.pk, now=now)
    elif typed["useful"] == "0":
        named = responses_of(reader=reader, items=[item])[item.pk].named_at
        feedback_give(reader=reader, item_id=item.pk, useful=False, now=now)
        return "named" if named else ""
    elif typed["useful"]:
        feedback_give(reader=reader, item_id=item.pk, useful=True, now=now)
    elif rating := feedback_by_items(reader_id=reader.pk, items=[item]).get(item.pk):
        tags = sorted(({*rating.tags} | {typed["tag"]}) - {typed["untag"], ""})
        feedback_tags_set(reader=reader, item_id=item.pk, tags=tags)
        return "named" if typed["named_before"] else ""
    return ""


def _item_or_404(reader: Reader, item_id: int) -> Item:
    found = item_for(reader_id=reader.pk, item_id=item_id)
    if found is None:
        raise Http404(_("No such item among your sources."))
    return found


@login_required
@require_safe
def left_out(request: HttpRequest, date: Date) -> HttpResponse:
    """Show the items a day's digest left out: `?reason=` picks a reason, `?page=` a page. No future days."""
    reader, now = reader_of(request), timezone.now()
    if date > day_of(now, reader.zone):
        raise Http404(_("There is no digest of that day."))
    typed = request.GET.get("page", "1")
    page = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 5 else 1
    context = left_out_page(reader, date, request.GET.get("reason", ""), page, now)
    return render(request, "digest/left_out.html", context)


@login_required
@require_safe
def saved(request: HttpRequest) -> HttpResponse:
    """Show the saved items, the latest first."""
    return render(
        request, "digest/saved.html", saved_page(reader_of(request), page_of(request), timezone.now())
    )


@login_required
@require_safe
def trends(request: HttpRequest) -> HttpResponse:
    """Show the sources the reader rates most: share found useful, and weight, week by week."""
    reader = reader_of(request)
    starts = weeks_until(day_of(timezone.now(), UTC))
    tallies = feedback_weeks(reader_id=reader.pk, starts=starts)
    since = datetime.combine(starts[0], time.min, UTC)
    found = trends_of(
        tallies,
        weight_history(reader_id=reader.pk, since=since),
        config_effective(reader_id=reader.pk).weights(),
        own_names(reader_id=reader.pk).over(source_titles(keys={tally.source for tally in tallies})),
        starts,
    )
    return render(request, "digest/trends.html", {"trends": found, "weeks": len(starts)})
