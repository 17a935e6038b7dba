"""Pages of wishes in a reader's own words: the drafts or the question, and accepting one of the drafts."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import TooManyRequests
from digest.items.own_names import own_names
from digest.items.selectors import source_titles
from digest.models import Reader
from digest.requests import reader_of
from digest.sources.names import NamedFeed, feeds_named
from digest.throttling import DECIDE, WISH, limit_count, long_work, rate_limited
from ranking.common.text import search_terms
from suggestions import sentences
from suggestions.changes.boosts import BOOST_WORD
from suggestions.changes.change import LESS
from suggestions.changes.topics import ADD_TOPIC
from suggestions.proposals import Refusal
from suggestions.services.wishes import (
    ITEMS_SHOWN,
    SUBJECTS,
    WishAnswer,
    WishDraft,
    wish_accept,
    wish_drafts_again,
    wishes_draft,
)
from suggestions.views import moves_shown
from suggestions.wishes.ways import wish_words
from suggestions.wishes.wish import WISH_CHARS_MAX, WISHES_MAX, WORD, Question

# Drafts that stay beside those of an answer: of settings and of searches, of a sentence and of an answer.
OTHERS_MAX = 4 * WISHES_MAX


@login_required
@require_http_methods(["GET", "POST"])
def wishes(request: HttpRequest) -> HttpResponse:
    """Show the changes that the reader's words ask for, or a question back. Changes nothing.

    `?words=` fills their field and is drafted by the grammar alone, so a link spends nothing. A refusal, also
    with 429, leaves the words in their field.
    """
    reader, now = reader_of(request), timezone.now()
    words = (request.POST if request.method == "POST" else request.GET).get("words", "")
    if request.method == "GET" and not words.strip():
        return render(request, "suggestions/wishes.html", {"words": ""})
    try:
        limit_count(limit=WISH, who=reader.pk, now=now)
        with long_work(reader.pk):
            return _answered(request, reader, words, now)
    except TooManyRequests as refused:
        response = _refused(request, words, refused.message, status=429)
        response["Retry-After"] = str(refused.retry_after_s)
        return response


def _refused(request: HttpRequest, words: str, message: str, status: int) -> HttpResponse:
    page = {"words": words, "asked": words, "refused": message}
    return render(request, "suggestions/wishes.html", page, status=status)


def _answered(request: HttpRequest, reader: Reader, words: str, now: datetime) -> HttpResponse:
    answer = wishes_draft(reader=reader, words=words, now=now, by_model=request.method == "POST")
    if isinstance(answer, Refusal):
        return _refused(request, words, answer.message, status=422)
    if signed := request.POST.getlist("others")[:OTHERS_MAX]:
        # Drafts that stood beside the question which this answers.
        earlier = wish_drafts_again(reader=reader, signed=signed, now=now)
        answer = replace(
            answer,
            drafts=(*earlier.drafts, *answer.drafts),
            searches=(*earlier.searches, *answer.searches),
        )
    answer = replace(answer, left="; ".join(filter(None, (answer.left, _left(request)))))
    return render(request, "suggestions/wishes.html", _page(answer, reader_of(request).pk, now))


@login_required
@require_POST
@rate_limited(DECIDE)
def wish_accepted(request: HttpRequest) -> HttpResponse:
    """Make the change of one draft, and show those that are left."""
    reader, now = reader_of(request), timezone.now()
    signed = request.POST.get("draft", "")
    done = wish_accept(reader=reader, signed=signed, now=now)
    if isinstance(done, Refusal):
        messages.error(request, done.message)
    elif done.config_version is None:
        messages.success(request, done.sentence)
    else:
        messages.success(
            request,
            format_html(
                _('Saved: {sentence}. It can be undone under <a href="{history}">History</a>.'),
                sentence=done.sentence,
                history=f"{reverse('ranking:versions')}#history",
            ),
        )
    others = [one for one in request.POST.getlist("others")[:OTHERS_MAX] if one != signed]
    answer = replace(wish_drafts_again(reader=reader, signed=others, now=now), left=_left(request))
    if answer.drafts or answer.searches:
        return render(request, "suggestions/wishes.html", _page(answer, reader_of(request).pk, now))
    if answer.left:
        return redirect(f"{reverse('suggestions:wishes')}?{urlencode({'words': answer.left})}")
    return redirect("suggestions:list")


def _left(request: HttpRequest) -> str:
    """Return the words that an earlier page left for the next time."""
    return request.POST.get("left", "")[:WISH_CHARS_MAX]


def _page(answer: WishAnswer, reader_id: UUID, now: datetime) -> dict[str, Any]:
    sources = {item.source for draft in answer.drafts for item in draft.items}
    moved = {
        item.source
        for draft in answer.drafts
        for item in (*draft.preview.enters, *draft.preview.leaves, *draft.preview.moves)
    }
    titles = source_titles(keys=sources | moved) if answer.drafts else {}
    titles = own_names(reader_id=reader_id).over(titles)
    cards = [
        {
            "draft": draft,
            "items": [(item, titles.get(item.source, item.source)) for item in draft.items],
            "is_word": draft.is_word,
            "named": _named_so(draft.label, now) if _lacks_articles(draft) else [],
            "more_items": draft.about - len(draft.items),
            "in_text": len(draft.in_text) if " " not in draft.label else 0,
            "is_thin": draft.change.kind in SUBJECTS and draft.about < ITEMS_SHOWN,
            "lower": urlencode({"words": wish_words(LESS, WORD, draft.label)}) if draft.stays else "",
            "moves": moves_shown(draft.preview, titles),
            "today": sentences.today_words(draft.preview),
            "since": sentences.since_words(draft.preview),
        }
        for draft in answer.drafts
    ]
    signed = [*(one.signed for one in answer.searches), *(one.signed for one in answer.drafts)]
    likely = [one.signed for one in answer.drafts if one.is_likely]
    words = answer.left or answer.words
    also = _also_asked(answer.question) if answer.question else []
    return {
        "words": words,
        "asked": answer.words,
        "left": answer.left,
        "answer": answer,
        "also": also,
        "cards": cards,
        "signed": signed,
        "likely": likely,
        "kept": [one for one in signed if one not in likely],
    }


def _also_asked(question: Question) -> list[tuple[str, str]]:
    """Return the parts of a wish that wait behind a question, each with the words that ask about it first."""
    found = []
    for n, part in enumerate(question.others):
        words = "; ".join((part, question.part, *question.others[:n], *question.others[n + 1 :]))
        found += [(part, words)] if len(words) <= WISH_CHARS_MAX else []
    return found


def _lacks_articles(draft: WishDraft) -> bool:
    """Return whether articles about a topic are wished for, and none of the last days says it."""
    return not draft.items and draft.change.kind in (ADD_TOPIC, BOOST_WORD)


def _named_so(words: str, now: datetime) -> list[NamedFeed]:
    """Return feeds with all of these words in their own name. One query."""
    wanted = {*search_terms(words)}
    return [feed for feed in feeds_named(name=words, now=now) if wanted <= {*search_terms(feed.title)}]
