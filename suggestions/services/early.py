"""The early change of a reader's day: found in their first answers, applied as one version or put off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from digest.accounts.services import reader_early_claim
from digest.daily.selectors import digest_for
from digest.days import day_of
from digest.feedback.selectors import feedback_counts, feedback_recent, feedback_tallies
from digest.items.selectors import subscribed_titles
from digest.models import Reader
from digest.signed import DRAFT_LIFETIME_S, values_read, values_sign
from ranking.config_words import EARLY
from ranking.entities import EffectiveConfig, RankingError, SourceTally
from ranking.selectors import config_effective, weights_on_hold
from ranking.services import Cause, body_change
from suggestions.changes.change import Change
from suggestions.changes.registry import change_of_dict, changes_make
from suggestions.models import EarlyForecast
from suggestions.planner.early import (
    answers_differ,
    answers_on,
    changes_early,
    early_words,
    wishes_early,
)
from suggestions.proposals import Facts, Refusal
from suggestions.rules import visibility_refusal
from suggestions.selectors import facts_of
from suggestions.week import week_for

log = structlog.get_logger(__name__)
SALT = "suggestions.services.early"
# What is stored of a change; a forecast of another form is made again.
FORM = 2
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

    `None` if nothing is clear or visible, or if the reader has answered one today (in their zone). Whether
    answers suffice for suggestions instead is for the caller to ask.

    The changes are forecast once for the same day, thumbs, sources, settings and digest, and stored. Seven
    queries if they are stored, else a constant number.
    """
    if _is_answered(reader, now):
        return None
    tallies = feedback_tallies(reader_id=reader.pk, now=now)
    if not answers_differ(tallies):
        return None
    titles, effective = subscribed_titles(reader_id=reader.pk), config_effective(reader_id=reader.pk)
    basis = _basis(reader, tallies, titles, effective, now)
    stored = EarlyForecast.objects.filter(reader_id=reader.pk, basis=basis).first()
    if stored is None:
        found = _forecast(reader.pk, tallies, titles, now)
        made = {"basis": basis, "changes": found, "made_at": now}
        stored, _created = EarlyForecast.objects.update_or_create(reader_id=reader.pk, defaults=made)
    if not stored.changes:
        return None
    answers, version = sum(tally.count for tally in tallies), effective.config.version
    values = {"changes": stored.changes, "answers": answers, "version": version}
    signed = values_sign(salt=SALT, reader_id=reader.pk, values=values)
    words = early_words(
        map(change_of_dict, stored.changes), titles, [one["answers"] for one in stored.changes]
    )
    return EarlyChange(words, answers, signed)


def _basis(
    reader: Reader,
    tallies: Sequence[SourceTally],
    titles: Mapping[str, str],
    effective: EffectiveConfig,
    now: datetime,
) -> str:
    """Return a hash of all that a forecast follows from. Learned weights change without a version."""
    today = day_of(now, reader.zone)
    digest = digest_for(reader_id=reader.pk, date=today)
    parts = (
        FORM,
        today,
        digest and digest.built_at,
        feedback_counts(reader_id=reader.pk).last_at,
        [(tally.source, tally.count, round(tally.likes, 6)) for tally in tallies],
        sorted(titles),
        effective.config.version,
        sorted(effective.deltas.items()),
    )
    return sha256(repr(parts).encode()).hexdigest()


def _forecast(
    reader_id: UUID, tallies: Sequence[SourceTally], titles: Mapping[str, str], now: datetime
) -> list[dict[str, Any]]:
    """Return the changes that the answers support, whose effect would have been seen last week.

    Each has its own answers beside it: how many are likes, and how many there are.
    """
    rated = feedback_recent(reader_id=reader_id)
    if not (wishes := wishes_early(tallies=tallies, rated=rated, titles=titles)):
        return []
    facts = _facts(reader_id, frozenset(titles), now)
    changes = changes_early(wishes, facts=facts, settled=weights_on_hold(reader_id=reader_id, now=now))
    return [
        {**one.as_dict(), "answers": answers_on(one, rated)}
        for one in _visible(reader_id, changes, facts.effective, now)
    ]


def early_change_apply(*, reader: Reader, signed: str, now: datetime) -> int | Refusal:
    """Make an early change, as one version of the settings. Return the version's number.

    It uses up the reader's day. Refuses with `draft_invalid` if it is not this reader's or too old, with
    `already_resolved` a second one of the day, and with `config_changed` if its settings have changed since.
    """
    values = values_read(salt=SALT, reader_id=reader.pk, signed=signed, lifetime_s=DRAFT_LIFETIME_S)
    if values is None:
        return Refusal("draft_invalid", gettext("That early change is too old, or none of yours."))
    if _is_answered(reader, now):
        return Refusal("already_resolved", gettext(_ANSWERED))
    changes = [change_of_dict(one) for one in values["changes"]]
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
    return replace(facts_of(reader_id=reader_id, now=now, with_wished=False), sources=sources)


def _visible(
    reader_id: UUID, changes: list[Change], effective: EffectiveConfig, now: datetime
) -> list[Change]:
    """Return the changes whose effect on the last days would have been seen, each by itself."""
    if not changes:
        return []
    week = week_for(reader_id=reader_id, before=effective, changes=changes, now=now)
    effects = zip(changes, week.effects(changes), strict=True)
    return [
        change for change, effect in effects if effect.reordered and not visibility_refusal(change, effect)
    ]
