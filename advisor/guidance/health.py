"""What guidance's health is judged by: figures of seven days, memories in force, the folder of notes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Q

from advisor.guidance.export import DASHBOARD, INDEX, PACKETS, export_folder, exported_keys, is_ours
from advisor.guidance.figures import Tunables
from advisor.guidance.health_rules import EXPIRED_DAYS, Vitals
from advisor.guidance.observability import EXPORT_FAILED, guidance_observed
from advisor.guidance.predicates import predicate_check
from advisor.guidance.retrieval import CONDITION
from advisor.guidance.tunables import tunables
from advisor.models import GuidanceEvent, GuidancePacket, Memory

WINDOW_DAYS = 7
# A packet that was made or changed while its note was being written is not out of step yet.
GRACE = timedelta(minutes=5)
NAMED_MAX = 10


def guidance_vitals(*, now: datetime) -> Vitals:
    """The figures of the last seven days and how things stand; eight queries.

    One more for the notes, and one where there was no call.

    Tunables that cannot be read are a finding here, not an error.
    """
    try:
        wanted, problem = tunables(), ""
    except ValueError as error:
        wanted, problem = Tunables(), str(error)
    seen = guidance_observed(now=now, days=WINDOW_DAYS)
    memories = _memories(now)
    return Vitals(
        enabled=settings.ADVISOR_GUIDANCE,
        tunables_problem=problem,
        calls=seen.calls,
        failed=seen.failed,
        failures_max=wanted.failures_max,
        p95_ms=seen.p95_ms,
        budget_ms=wanted.budget_ms,
        missing=seen.missing,
        tries=seen.drawn,
        held_out=seen.held_out,
        holdout=wanted.holdout,
        ready=seen.packets.ready,
        stale=seen.packets.stale,
        invalid=seen.packets.invalid,
        unsigned=memories["unsigned"],
        expired=memories["expired"],
        bad_rules=_bad_rules(),
        ever=seen.calls > 0 or GuidanceEvent.objects.filter(n__gt=0).exists(),
        export_failures=_export_failures(now),
        export=_export_trouble(wanted, now) if wanted.export and not problem else None,
    )


def _memories(now: datetime) -> Mapping[str, int]:
    """Of the memories not retired: those nobody finds by their words, and those long expired."""
    unsigned = Q(text_sig="") | Q(tokens=[])
    rows = Memory.objects.filter(retired_at=None, superseded_by=None)
    return rows.aggregate(
        unsigned=Count("pk", filter=unsigned),
        expired=Count("pk", filter=Q(expires_at__lte=now - timedelta(days=EXPIRED_DAYS))),
    )


def _bad_rules() -> list[str]:
    """The titles of the rules in force whose condition cannot be read, ten at most."""
    rows = Memory.objects.filter(kind=Memory.Kind.RULE, retired_at=None, superseded_by=None)
    found = (title for title, data in rows.values_list("title", "data") if _unreadable(data))
    return [title for title, _ in zip(found, range(NAMED_MAX), strict=False)]


def _unreadable(data: Any) -> bool:
    if not isinstance(data, dict) or CONDITION not in data:
        return True
    return bool(predicate_check(data[CONDITION], whole=True))


def _export_failures(now: datetime) -> int:
    since = now - timedelta(days=WINDOW_DAYS)
    return GuidanceEvent.objects.filter(at__gt=since, error_code__startswith=EXPORT_FAILED).count()


def _export_trouble(wanted: Tunables, now: datetime) -> dict[str, str]:
    """What is wrong with the folder of notes, by code, in words."""
    folder = export_folder()
    try:
        noted = exported_keys(folder)
        missing = [path.name for path in (folder / DASHBOARD, folder / PACKETS / INDEX) if not path.exists()]
        foreign = [path.name for path in (folder / DASHBOARD,) if path.exists() and not is_ours(path)]
    except OSError as error:
        return {"folder": f"The folder of notes cannot be read: {error.strerror or error}."}
    trouble = {}
    if missing:
        trouble["missing"] = f"There is no {' and no '.join(missing)}. Run manage.py export_guidance."
    if foreign:
        trouble["foreign"] = f"{foreign[0]} is somebody else's file. Export to another folder."
    if words := _out_of_step(noted, wanted, now):
        trouble["sync"] = words
    return trouble


def _out_of_step(noted: Mapping[str, str], wanted: Tunables, now: datetime) -> str:
    """How notes differ from the packets there are; empty where only the last minutes differ. One query.

    A note that says `ready` of what is stale meanwhile is no fault: its packet's time is in it.
    """
    newest = GuidancePacket.objects.order_by("-made_at", "-id")
    rows = list(newest.values_list("key", "made_at", "invalid_at")[: wanted.export_max])
    settled = now - GRACE
    absent = sum(key not in noted for key, made, _ in rows if made <= settled)
    unmarked = sum(
        noted.get(key, "invalid") != "invalid" for key, _, invalid in rows if invalid and invalid <= settled
    )
    left = len(noted.keys() - {key for key, _, _ in rows})
    if not (absent or unmarked) and left <= wanted.export_max:
        return ""
    return (
        f"{absent} packets have no note, {unmarked} notes call an invalid packet ready, {left} notes are of "
        f"packets that are no more. Run manage.py export_guidance."
    )
