"""Facts on a reader's page in the admin: feeds, last digest, mail and run, and what waits."""

from collections.abc import Iterator
from typing import Final

from django import template
from django.db.models import Model
from django.template.defaultfilters import date as date_words
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime

from advisor.admin.runs import run_state
from advisor.models import Run
from advisor.run.why_none import LAST_RUN, OPERATORS_NO_WORKER, why_none
from digest.feedback.selectors import feedback_counts
from digest.feeds.selectors import in_trouble
from digest.models import Delivery, Digest, Feed, Reader, Subscription
from ranking.common.admin import Fact
from suggestions.selectors import suggestions_pending

register = template.Library()
TIME: Final = "j F Y, H:i"


@register.simple_tag
def reader_facts(reader: Reader, operator: Reader) -> list[Fact]:
    """Return what `operator` may know of this reader's state; at most ten queries."""
    parts = ((Subscription, _feeds), (Digest, _digest), (Delivery, _mail), (Run, _run))
    return [fact for model, part in parts if _may_view(operator, model) for fact in part(reader)]


def _may_view(operator: Reader, model: type[Model]) -> bool:
    return operator.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}")


def _row(row: Model) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def _feeds(reader: Reader) -> Iterator[Fact]:
    read = Feed.objects.filter(subscriptions__reader=reader).order_by()
    troubled = read.filter(in_trouble()).count()
    words = f"{read.count():,}{f', {troubled:,} in trouble' if troubled else ''}"
    href = f"{reverse('admin:digest_subscription_changelist')}?reader__id__exact={reader.pk}"
    yield Fact("Feeds", words, href)


def _digest(reader: Reader) -> Iterator[Fact]:
    last = Digest.objects.filter(reader=reader).order_by("-date").first()
    words = f"of {date_words(last.date, 'j F Y')}, built {_time(last.built_at)}" if last else "none yet"
    yield Fact("Last digest", words, _row(last) if last else "")


def _mail(reader: Reader) -> Iterator[Fact]:
    last = Delivery.objects.filter(reader=reader).order_by("-date").first()
    if last is None:
        off = reader.mail_rhythm == Reader.MailRhythm.OFF
        yield Fact("Last mail", "none; this reader wants no mail" if off else "none yet")
        return
    status = Delivery.Status(last.status).label.lower()
    words = f"{status}, {_time(last.sent_at or last.claimed_at)}{f': {last.error}' if last.error else ''}"
    yield Fact("Last mail", words, _row(last))


def _run(reader: Reader) -> Iterator[Fact]:
    last = Run.objects.filter(reader=reader).order_by("-created_at").first()
    words = f"{run_state(last)}, {_time(last.created_at)}" if last else "none yet"
    yield Fact("Last run", words, _row(last) if last else "")
    counts = feedback_counts(reader_id=reader.pk)
    days = f" over {counts.days:,} day{'s' * (counts.days != 1)}" if counts.total else ""
    yield Fact("Ratings", f"{counts.total:,}{days}, {counts.tagged:,} with a reason")
    waiting = len(suggestions_pending(reader_id=reader.pk))
    yield Fact("Suggestions to answer", f"{waiting:,}")
    if not waiting:
        yield Fact("Why there are none", _why_none(reader))


def _why_none(reader: Reader) -> str:
    """Return why no suggestion waits, with the time of the last run if that is the reason."""
    why = why_none(reader=reader, now=timezone.now())
    looked = f" (looked {_time(why.last.created_at)})" if why.last and why.code == LAST_RUN else ""
    return f"{why.operators}{looked}{f' {OPERATORS_NO_WORKER}' if why.idle else ''}"


def _time(at: object) -> str:
    return date_words(localtime(at), TIME)  # type: ignore[arg-type]
