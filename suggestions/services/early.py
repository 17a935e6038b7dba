"""The early change of a reader's day: found in their first answers, applied as one version or put off."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from digest.accounts.services import reader_early_claim
from digest.days import day_of
from digest.feedback.selectors import feedback_recent, feedback_tallies
from digest.items.selectors import subscribed_titles
from digest.models import Reader
from digest.signed import DRAFT_LIFETIME_S, values_read, values_sign
from ranking.config_words import EARLY
from ranking.entities import EffectiveConfig, RankingError
from ranking.selectors import config_effective, weights_on_hold
from ranking.services import Cause, body_change
from suggestions.changes.change import Change
from suggestions.changes.registry import change_read, changes_make
from suggestions.planner.early import answers_differ, changes_early, early_words, wishes_early
from suggestions.preview import previews_of
from suggestions.proposals import Facts, Refusal
from suggestions.selectors import facts_for

log = structlog.get_logger(__name__)
SALT = "suggestions.services.early"
_ANSWERED = gettext_noop(
    "Today’s early change is answered already. The next one comes tomorrow at the earliest."
)
_CHANGED = gettext_noop("Your settings changed meanwhile, so nothing was applied.")


@dataclass(frozen=True, slots=True)
class EarlyChange:
    """A change of settings that waits for its reader's yes, in words; `signed` names it."""

    words: str
    answers: int
    signed: str


def early_change_find(*, reader: Reader, now: datetime) -> EarlyChange | None:
    """Return the early change that the reader's answers support. Each part of it moves today's page.

    `None` where nothing is clear or visible, or where the reader has answered one today (in their zone).
    Whether answers suffice for suggestions instead is for the caller to ask. A constant number of queries.
    """
    if _is_answered(reader, now):
        return None
    tallies = feedback_tallies(reader_id=reader.pk, now=now)
    if not answers_differ(tallies):
        return None
    titles, rated = subscribed_titles(reader_id=reader.pk), feedback_recent(reader_id=reader.pk)
    if not (wishes := wishes_early(tallies=tallies, rated=rated, titles=titles)):
        return None
    answers, facts = sum(tally.count for tally in tallies), _facts(reader.pk, frozenset(titles), now)
    changes = changes_early(wishes, facts=facts, settled=weights_on_hold(reader_id=reader.pk, now=now))
    shown = _visible(reader.pk, changes, facts.effective, now)
    if not shown:
        return None
    values = {"changes": [one.as_dict() for one in shown], "answers": answers}
    version = {"version": facts.effective.config.version}
    signed = values_sign(salt=SALT, reader_id=reader.pk, values=values | version)
    return EarlyChange(early_words(shown, titles), answers, signed)


def early_change_apply(*, reader: Reader, signed: str, now: datetime) -> int | Refusal:
    """Make an early change, as one version of the settings, and return its number.

    It takes the reader's day. Refuses with `draft_invalid` what is none of this reader's, or too old; with
    `already_resolved` a second one of the day; with `config_changed` one whose settings have changed since.
    """
    values = values_read(salt=SALT, reader_id=reader.pk, signed=signed, lifetime_s=DRAFT_LIFETIME_S)
    if values is None:
        return Refusal("draft_invalid", gettext("That early change is too old, or none of yours."))
    if _is_answered(reader, now):
        return Refusal("already_resolved", gettext(_ANSWERED))
    changes = [change_read(one) for one in values["changes"]]
    effective = config_effective(reader_id=reader.pk)
    if any(change.state_in(effective) != change.before for change in changes):
        return Refusal("config_changed", gettext(_CHANGED))
    try:
        with transaction.atomic():
            if not reader_early_claim(reader=reader, now=now):
                return Refusal("already_resolved", gettext(_ANSWERED))
            version = body_change(
                reader_id=reader.pk,
                change=lambda body: changes_make(changes, body),
                expected_version=values["version"],
                now=now,
                cause=Cause.ACCEPT,
                ref=f"{EARLY}{values['answers']}",
            )
    except RankingError as error:
        return Refusal(error.code, error.message)
    log.info("early_change_applied", user_id=str(reader.pk), changes=len(changes), config_version=version)
    return version


def early_change_put_off(*, reader: Reader, now: datetime) -> None:
    """Ask about no early change any more on this day of the reader's."""
    reader_early_claim(reader=reader, now=now)


def _is_answered(reader: Reader, now: datetime) -> bool:
    answered = reader.early_answered_on
    return answered is not None and answered >= day_of(now, reader.zone)


def _facts(reader_id: UUID, sources: frozenset[str], now: datetime) -> Facts:
    """Return the facts of the rules for a reader of `sources`."""
    return replace(facts_for(reader_id=reader_id, now=now), sources=sources)


def _visible(
    reader_id: UUID, changes: list[Change], effective: EffectiveConfig, now: datetime
) -> list[Change]:
    """Return the changes that move something of today's page each by itself."""
    if not changes:
        return []
    afters = [change.saved(effective) for change in changes]
    previews = previews_of(reader_id=reader_id, before=effective, afters=afters, now=now)
    return [change for change, preview in zip(changes, previews, strict=True) if not preview.is_still]
