"""What guidance for a reader rests on, in short: when a part differs, what was found is no longer so."""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection

from advisor.models import GuidancePacket, Memory
from digest.models import Feedback, Reader, Spend
from ranking.selectors import config_tables
from suggestions.models import Outcome, Suggestion

CONFIG, FEEDBACK, OUTCOME, RULE, MEMORIES, EXPIRED = (
    "config_changed",
    "feedback",
    "outcome",
    "rule_changed",
    "memories_changed",
    "expired",
)
DIGEST_CHARS = 12
# How many columns of the query below make which part, in order.
_PARTS = {
    "shares": 1,
    "config": 3,
    "feedback": 2,
    "outcomes": 2,
    "rules": 4,
    "memories": 4,
    "suggestions": 5,
    "packets": 1,
    "spent": 2,
}
# One row of plain aggregates, each over an index. Written out, as it is asked at every call: putting the
# same together from the models would take longer than answering it. %s is a reader's id, the last a run's.
_SQL = """
SELECT (SELECT peers_enabled FROM {reader} WHERE id = %s),
       (SELECT version FROM {config} WHERE reader_id = %s), l.number, l.changed,
       (SELECT MAX(at) FROM {feedback} WHERE reader_id = %s),
       (SELECT id FROM {feedback} WHERE reader_id = %s ORDER BY at DESC LIMIT 1),
       o.number, o.newest, m.a, m.b, m.c, m.d, m.e, m.f, m.g, m.h, s.a, s.b, s.c, s.d, s.e,
       (SELECT MAX(invalid_at) FROM {packet} WHERE reader_id = %s), d.settled, d.reserved
FROM (SELECT COUNT(*) AS number, MAX(updated_at) AS changed
      FROM {learned} WHERE reader_id = %s AND delta <> 0) l,
     (SELECT COUNT(*) AS number, MAX(id) AS newest FROM {outcome} WHERE reader_id = %s) o,
     (SELECT COUNT(*) FILTER (WHERE {written}) AS a, MAX(id) FILTER (WHERE {written}) AS b,
             MAX(updated_at) FILTER (WHERE {written}) AS c,
             COUNT(superseded_by_id) FILTER (WHERE {written}) AS d,
             COUNT(*) FILTER (WHERE NOT {written}) AS e, MAX(id) FILTER (WHERE NOT {written}) AS f,
             MAX(updated_at) FILTER (WHERE NOT {written}) AS g,
             COUNT(superseded_by_id) FILTER (WHERE NOT {written}) AS h
      FROM {memory} WHERE (reader_id = %s OR reader_id IS NULL) AND retired_at IS NULL) m,
     (SELECT COUNT(*) AS a, MAX(id) AS b, MAX(resolved_at) AS c,
             COUNT(*) FILTER (WHERE status IN ('pending', 'snoozed')) AS d,
             COUNT(*) FILTER (WHERE status IN ('accepted', 'rejected')) AS e
      FROM {suggestion} WHERE reader_id = %s) s,
     (SELECT SUM(settled_usd) AS settled, SUM(reserved_usd) FILTER (WHERE settled_usd IS NULL) AS reserved
      FROM {spend} WHERE run_id = %s) d
"""
_WRITTEN = "(reader_id IS NULL AND kind IN ('rule', 'insight'))"
_TABLES = {
    "reader": Reader,
    "feedback": Feedback,
    "packet": GuidancePacket,
    "outcome": Outcome,
    "memory": Memory,
    "suggestion": Suggestion,
    "spend": Spend,
}


@dataclass(frozen=True, slots=True)
class Versions:
    """The config's number, and digests of the thumbs, decisions, operators' words and memories there are."""

    config: int
    feedback: str
    outcomes: str
    rules: str
    memories: str

    @property
    def memory_version(self) -> str:
        """All but the config's, as a packet stores them: 51 characters."""
        return ".".join((self.feedback, self.outcomes, self.rules, self.memories))

    def why_stale(self, config: int, memory_version: str) -> str:
        """What has changed since a packet of that version was made; "" where nothing has."""
        then = memory_version.split(".")
        if len(then) != 4:
            return MEMORIES
        changed = {
            CONFIG: config != self.config,
            FEEDBACK: then[0] != self.feedback,
            OUTCOME: then[1] != self.outcomes,
            RULE: then[2] != self.rules,
            MEMORIES: then[3] != self.memories,
        }
        return next((why for why, is_so in changed.items() if is_so), "")


@dataclass(frozen=True, slots=True)
class Stamp:
    """One look at all that guidance reads for a reader and a run: equal parts, nothing to read anew.

    Each part is a few plain values: how many rows, the newest, the last change. `rules` are what operators
    wrote for all, `memories` the others; `suggestions` begin with how many, and end with how many wait and
    how many were answered; `packets` is when one was last found stale; `spent` are dollars, settled and held.
    """

    shares: tuple[Any, ...]
    config: tuple[Any, ...]
    feedback: tuple[Any, ...]
    outcomes: tuple[Any, ...]
    rules: tuple[Any, ...]
    memories: tuple[Any, ...]
    suggestions: tuple[Any, ...]
    packets: tuple[Any, ...]
    spent: tuple[Any, ...]

    @property
    def versions(self) -> Versions:
        """The versions in force."""
        parts = (self.feedback, self.outcomes, self.rules, self.memories)
        return Versions(self.config[0] or 0, *map(_digest, parts))

    @property
    def spent_usd(self) -> float:
        """What the run has spent, with the worst case of calls that never came back."""
        return float(sum(value or 0 for value in self.spent))


def stamp_of(*, reader_id: UUID, run_id: UUID) -> Stamp:
    """What stands for a reader and a run at this moment; one query."""
    sql = _sql()
    reader = Reader._meta.pk.get_db_prep_value(reader_id, connection)
    run = Reader._meta.pk.get_db_prep_value(run_id, connection)
    with connection.cursor() as cursor:
        cursor.execute(sql, [*[reader] * (sql.count("%s") - 1), run])
        row = cursor.fetchone()
    parts, at = {}, 0
    for name, columns in _PARTS.items():
        parts[name] = row[at : at + columns]
        at += columns
    return Stamp(**parts)


@cache
def _sql() -> str:
    tables = {name: model._meta.db_table for name, model in _TABLES.items()}
    return _SQL.format(written=_WRITTEN, **tables, **config_tables())


def _digest(what: object) -> str:
    return hashlib.sha1(repr(what).encode(), usedforsecurity=False).hexdigest()[:DIGEST_CHARS]
