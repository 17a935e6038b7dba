"""Pages of the onboarding interview: one headline at a time, and at its end the effect of the answers.

The reader's session holds its state: the questions asked, the ratings, and the open question.
"""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from digest.daily.changes import order_change_read
from digest.daily.item_words import lede_cut
from digest.daily.onboarding import interview_finish, offer_end, question_next
from digest.daily.presentation import age_of
from digest.daily.selectors import digest_for
from digest.daily.services import digest_current
from digest.days import day_of
from digest.errors import ItemNotFound
from digest.feedback.onboarding import QUESTIONS, Headline, Question
from digest.feedback.services import feedback_give
from digest.feedback.subjects import HEADLINES, SUBJECTS_MAX, subjects_find, subjects_name
from digest.feeds.selectors import subscriptions_of
from digest.items.own_names import items_name_sources
from digest.items.selectors import item_for
from digest.models import Feedback, Reader
from digest.requests import reader_of
from digest.summaries.summarise import lead_of
from digest.throttling import TEACH, rate_limited
from digest.web.pages.effects import effect_words
from ranking.selectors import config_effective
from ranking.taste.entities import TasteLevel

UNDER_WAY, DONE = "teach", "teach_done"
ANSWERS = {"yes": True, "no": False, "skip": None}


@login_required
@require_safe
def teach(request: HttpRequest) -> HttpResponse:
    """Show the open question, or the next one. Begin an interview if none is under way."""
    reader, now = reader_of(request), timezone.now()
    state = request.session.get(UNDER_WAY)
    if state is None:
        # Today's digest before the first answer, which the digest after the last one is compared with.
        digest_current(reader=reader, date=day_of(now, reader.zone), now=now)
        state = {"asked": [], "rated": [], "open": None}
    asked = [Headline(*one) for one in state["asked"]]
    question = question_next(reader=reader, asked=asked, current=_open_question(state), now=now)
    if question:
        headline = question.headline
        fields = [headline.item_id, headline.source, headline.article, headline.story]
        state["open"] = [fields, question.propensity]
        request.session[UNDER_WAY] = state
    return render(request, "digest/onboarding.html", _question_page(reader, question, state, now))


@login_required
@require_POST
@rate_limited(TEACH)
def answer(request: HttpRequest) -> HttpResponse:
    """Store the answer (`yes`, `no`, `skip`) to the open question, and go on to the next or to the end.

    An answer to another question, as of a second press, changes nothing.
    """
    reader, now = reader_of(request), timezone.now()
    state = request.session.get(UNDER_WAY) or {}
    question, typed = _open_question(state), request.POST.get("answer", "")
    if question is None or typed not in ANSWERS:
        return redirect("digest:teach")
    item_id = question.headline.item_id
    if request.POST.get("item") != str(item_id):
        return redirect("digest:teach")
    useful = ANSWERS[typed]
    if useful is not None:
        try:
            feedback_give(
                reader=reader,
                item_id=item_id,
                useful=useful,
                now=now,
                origin=Feedback.Origin.INTERVIEW,
                propensity=question.propensity,
            )
            state["rated"].append(item_id)
        except ItemNotFound:  # its feed was removed meanwhile
            pass
    state["asked"].append(state["open"][0])
    state["open"] = None
    request.session[UNDER_WAY] = state
    return _finish(request, reader, now) if len(state["asked"]) >= QUESTIONS else redirect("digest:teach")


@login_required
@require_POST
@rate_limited(TEACH)
def stop(request: HttpRequest) -> HttpResponse:
    """End the interview, and show the effect of its answers."""
    return _finish(request, reader_of(request), timezone.now())


@login_required
@require_safe
def done(request: HttpRequest) -> HttpResponse:
    """Show the effect of the last interview on today's digest, or begin one if there was none."""
    reader, now = reader_of(request), timezone.now()
    ended = request.session.get(DONE)
    if ended is None:
        return redirect("digest:teach")
    digest = digest_for(reader_id=reader.pk, date=day_of(now, reader.zone))
    change = order_change_read(digest.change) if digest else None
    is_about_it = change is not None and change.has_effect and [*change.answers] == ended["rated"]
    page = {"rated": len(ended["rated"]), "asked": ended["asked"], "change": change if is_about_it else None}
    return render(request, "digest/onboarding_done.html", page)


@login_required
@require_safe
def subjects(request: HttpRequest) -> HttpResponse:
    """Show the subjects of the reader's feeds, each with three headlines, to choose from."""
    found = subjects_find(reader=reader_of(request), now=timezone.now())
    page = {
        "subjects": found,
        "has_sources": bool(found) or bool(subscriptions_of(reader_id=reader_of(request).pk)),
    }
    return render(request, "digest/subjects.html", page)


@login_required
@require_POST
@rate_limited(TEACH)
def subjects_chosen(request: HttpRequest) -> HttpResponse:
    """Name the articles of the chosen subjects (`subject`: the ids of three items), and list them."""
    reader, now = reader_of(request), timezone.now()
    typed = ",".join(request.POST.getlist("subject")[:SUBJECTS_MAX]).split(",")[: SUBJECTS_MAX * HEADLINES]
    ids = [int(one) for one in typed if one.isascii() and one.isdigit() and len(one) < 19]
    count = subjects_name(reader=reader, item_ids=dict.fromkeys(ids), now=now)
    offer_end(reader=reader, now=now)
    if not count:
        messages.info(request, _("You chose no subject, so nothing changes."))
        return redirect("digest:today")
    messages.success(
        request,
        ngettext(
            "You asked for more like this article.", "You asked for more like these {count} articles.", count
        ).format(count=count),
    )
    if config_effective(reader_id=reader.pk).config.taste is TasteLevel.OFF:
        return redirect("suggestions:order")
    messages.info(request, effect_words(request, more=True))
    return redirect("digest:taste")


@login_required
@require_POST
def offer_put_off(request: HttpRequest) -> HttpResponse:
    """Hide today's offer about a reader's interests until tomorrow."""
    offer_end(reader=reader_of(request), now=timezone.now())
    return redirect("digest:today")


def _finish(request: HttpRequest, reader: Reader, now: datetime) -> HttpResponse:
    state = request.session.pop(UNDER_WAY, None)
    if not state or not state["asked"]:
        return redirect("digest:today")
    interview_finish(reader=reader, item_ids=state["rated"], now=now)
    offer_end(reader=reader, now=now)
    request.session[DONE] = {"rated": state["rated"], "asked": len(state["asked"])}
    return redirect("digest:teach_done")


def _open_question(state: dict[str, Any]) -> Question | None:
    if not (found := state.get("open")):
        return None
    return Question(Headline(*found[0]), found[1])


def _question_page(
    reader: Reader, question: Question | None, state: dict[str, Any], now: datetime
) -> dict[str, Any]:
    number = len(state["asked"]) + 1
    page: dict[str, Any] = {"number": number, "total": QUESTIONS, "answered": number - 1}
    item = item_for(reader_id=reader.pk, item_id=question.headline.item_id) if question else None
    if item is None:
        return {**page, "has_sources": bool(subscriptions_of(reader_id=reader.pk))}
    items_name_sources(reader_id=reader.pk, items=[item])
    age = age_of(item, reader=reader, now=now)
    lede = lede_cut(lead_of(item.title, item.text) or item.text)
    return {**page, "item": item, "age": age, "lede": lede, "href": item.address}
