"""`python -m tests.lab model names`: what other names of a topic gain, and how often they ask by chance.

The readers are those of `tests.lab model`, each on an installation of one, or all on one (`--shared`). A run
is played on arrays with the planner's own functions, a hundred times faster than through the services. Each
arm accepts up to three changes after sixty thumbs:

- *planner*: the planner alone, with the wishes that readers wrote.
- *names*: a script that knows other names of six subjects, tries those that titles make likely, or that the
  reader's written reasons name, and follows the planner (`tests.lab.model.phrases`).
- *oracle*: the same with a script that knows which subjects help: the most that these tools allow.
- *no rule*: the oracle's subjects with all their names, whether or not a rule would allow it.
"""

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.change import Change
from suggestions.changes.columns import TOPICS, Attributes, attributes_of
from suggestions.changes.mutes import WORDS
from suggestions.changes.phrases import words_disliked
from suggestions.changes.registry import SUGGESTED
from suggestions.changes.topics import ADD_TOPIC, names_disliked, names_unsaid
from suggestions.planner.hypotheses import (
    HELPS_MIN,
    DecisionHistory,
    evaluate_change,
    evidence_pick,
    select_changes,
    taste_index,
)
from suggestions.planner.tastes import (
    FALSE_SIGN_AFTER_NAMES,
    FALSE_SIGN_MAX,
    Taste,
    batch_sum,
    contribution_of,
    hits_of,
    reader_preference,
    spread_of,
    spreads_for,
    tallies_of,
    tastes_of,
)
from suggestions.proposals import SUGGESTIONS_PER_RUN_MAX, Facts
from suggestions.rules import PER_FIELD_MAX
from suggestions.wishes.wish import Names
from suggestions.wishes.written import changes_written
from tests.lab.advisor.metrics import interval
from tests.lab.command import fail, progress, report_end
from tests.lab.histories.pools import HARMFUL_THUMBS, Pools, start_config, targets_of
from tests.lab.histories.taste import rated_items
from tests.lab.histories.trials import NOW, Trial, about_for, histories_for, readers_tested
from tests.lab.model.phrases import NAMES, topics_liked, topics_that_help, topics_written
from tests.lab.model.readers import DEALT, ORDERS, PREFIX, REASONS, THUMBS
from tests.lab.steer.cases import AG_NEWS, BBC, NEMIG_NEWS

READERS, SEED = 20, 13
KNOWN_TASTE = (BBC, AG_NEWS)
DATA = (*KNOWN_TASTE, f"{BBC}{ORDERS}", f"{BBC}{REASONS}", f"{BBC}{DEALT}", NEMIG_NEWS)
PLANNER, SCRIPT, ORACLE, NO_RULE = "planner", "names", "oracle", "no rule"
ARMS = (PLANNER, SCRIPT, ORACLE, NO_RULE)
GAIN_MIN = 0.02
Json = dict[str, Any]
# A change with its false sign rate.
Idea = tuple[Change, float]


@dataclass(frozen=True, slots=True)
class Case:
    """A reader with their ratings, newest first, the first settings, and the spread of tastes in force.

    `written` are the reasons in the reader's own words.
    """

    rated: tuple[RatedItem, ...]
    first: EffectiveConfig
    spread: float
    written: tuple[str, ...] = ()

    def weighed(self, topic: Change | None = None) -> tuple[Attributes, list[Taste]]:
        """Return columns and tastes, with a new topic and its names among them."""
        titles = {one.source: one.source for one in self.rated}
        topics = self.first.config.topics
        columns = attributes_of(
            self.rated,
            titles=titles,
            given={
                TOPICS: (*topics, *([topic.label] if topic else ())),
                WORDS: words_disliked(self.rated, titles, topics),
            },
            names={topic.target: topic.names} if topic else {},
        )
        columns = replace(columns, whole=frozenset([topic.target] if topic else ()))
        hits = hits_of(self.rated, columns)
        tallies = tallies_of(self.rated, columns, NOW, hits)
        preference = reader_preference(self.rated, columns, hits)
        return columns, tastes_of(tallies, spreads_for(columns, self.spread), preference=preference)

    def planned(self) -> list[Idea]:
        """Return what the planner would propose, best first: what the reader wrote, then what thumbs say."""
        columns, tastes = self.weighed()
        found = [
            change.with_evidence(evidence_pick(self.rated, change))
            for kind in SUGGESTED
            for change in kind.candidates(columns, self.first)
        ]
        chosen = select_changes(
            [change for change in found if change.evidence],
            tastes,
            columns,
            self.rated,
            history=DecisionHistory(),
            limit=len(found),
        ).chosen
        by_thumbs = [
            (one.change, tastes[taste_index(one.change, columns)].false_sign)
            for one in chosen
            if one.p_helpful >= HELPS_MIN
        ]
        known = {(change.field, change.target) for change, _ in by_thumbs}
        by_words = ((one, 0.0) for one in self.wished() if (one.field, one.target) not in known)
        return [*by_words, *by_thumbs]

    def wished(self) -> tuple[Change, ...]:
        """Return the changes that the reader's own words ask for."""
        sources = {one.source: one.source for one in self.rated}
        topics = self.first.config.topics
        facts = Facts(effective=self.first, sources=frozenset(sources))
        return changes_written(self.rated, Names(sources, topics, topics), facts, {}, NOW.date())

    def named(self, subjects: Sequence[str]) -> Iterator[Change]:
        """Yield the topics that the rules allow, of those that a run tries one after the other."""
        for tried, subject in enumerate(subjects, start=1):
            given = NAMES[subject]
            left = {*names_unsaid(given, self.rated), *names_disliked(given, self.rated)}
            names = tuple(name for name in given if name not in left)
            left_out = tuple(name for name in given if name not in names)
            topic = ADD_TOPIC.change(subject, self.first)
            change = replace(topic, names=names, tried=tried, names_tried=left_out)
            change = change.with_evidence(evidence_pick(self.rated, change) if names else ())
            if change.evidence:
                columns, tastes = self.weighed(change)
                one = evaluate_change(change, tastes, columns)
                if one.clear and one.p_helpful >= HELPS_MIN:
                    yield change

    def likely(self) -> list[str]:
        """Return the subjects that this reader wrote about, or else whose titles they like more than the
        rest."""
        if self.written:
            return topics_written({"own_words": [["", 0, words] for words in self.written]})
        rows = [[one.title, one.useful] for one in self.rated]
        return topics_liked({"item_columns": ["title", "useful"], "curated_items": rows})


def run_of(topics: Sequence[Change], planned: Sequence[Idea], *, has_tried: bool) -> list[Change]:
    """Return what a run stores: the topics with other names first, then the planner's ideas."""
    bar = FALSE_SIGN_AFTER_NAMES if has_tried else FALSE_SIGN_MAX
    kept: list[Change] = []
    for change in (*topics, *(change for change, rate in planned if rate <= bar)):
        same = sum(one.field == change.field for one in kept)
        if same < PER_FIELD_MAX and all(one.target != change.target for one in kept):
            kept.append(change)
    return kept[:SUGGESTIONS_PER_RUN_MAX]


def rows_of(data: str, readers: int, seed: int, *, shuffled: bool, shared: bool) -> list[Json]:
    """Return a row for each arm, over the same readers."""
    trial = Trial(PREFIX + data, THUMBS, readers, shuffled=shuffled, seed=seed)
    histories = histories_for(trial)
    first, about = start_config(targets_of(histories)), about_for(trial)
    cases = {n: _rated(histories[n].rated[:THUMBS]) for n in readers_tested(histories, trial)}
    spread = _spread(cases.values()) if shared else SPREAD_PRIOR
    gains: defaultdict[str, list[float]] = defaultdict(list)
    asked: defaultdict[str, list[float]] = defaultdict(list)
    for n, rated in cases.items():
        written = tuple(words for one in histories[n].rated[:THUMBS] for words in one.reasons)
        case = Case(rated, first, spread, written)
        judge = Pools(histories[n].rated[THUMBS:], [n, 0], about)
        for arm, changes in _arms(case, judge).items():
            after = first
            for change in changes:
                after = change.applied(after)
                asked[arm].append(judge.gain(first, change.applied(first)))
            gains[arm].append(judge.gain(first, after))
    name = data + (", shuffled" if shuffled else "")
    return [_row(name, arm, gains[arm], gains[PLANNER], asked[arm]) | {"spread": spread} for arm in ARMS]


def _arms(case: Case, judge: Pools) -> dict[str, list[Change]]:
    """Return the accepted changes of each arm."""
    best = topics_that_help(judge, case.first)
    whole = [replace(ADD_TOPIC.change(s, case.first), names=NAMES[s]) for s in best]
    planned, likely = case.planned(), case.likely()
    return {
        PLANNER: run_of((), planned, has_tried=False),
        SCRIPT: run_of([*case.named(likely)], planned, has_tried=bool(likely)),
        ORACLE: run_of([*case.named(best)], planned, has_tried=bool(best)),
        NO_RULE: run_of(whole, planned, has_tried=bool(best)),
    }


def _row(
    data: str, arm: str, gains: Sequence[float], planner: Sequence[float], asked: Sequence[float]
) -> Json:
    over = [one - other for one, other in zip(gains, planner, strict=True)]
    return {
        "data": data,
        "arm": arm,
        "readers": len(gains),
        "gain": round(float(np.mean(gains)), 4),
        "over_planner": round(float(np.mean(over)), 4),
        "over_planner_95": interval(over),
        "asks": len(asked),
        "harmful": round(float(np.mean(np.array(asked) < HARMFUL_THUMBS)), 3) if asked else None,
    }


def _rated(known: Sequence[Any]) -> tuple[RatedItem, ...]:
    items = zip(rated_items(known), reversed(known), strict=True)
    return tuple(replace(item, text=one.text, other_reasons=one.reasons) for item, one in items)


def _spread(cases: Iterable[tuple[RatedItem, ...]]) -> float:
    """Return the spread of tastes that these readers would publish together, without its noise."""
    batches = []
    for rated in cases:
        titles = {one.source: one.source for one in rated}
        columns = attributes_of(rated, titles=titles)
        batches.append(contribution_of(tallies_of(rated, columns, NOW)))
    return spread_of([batch_sum(batches)])


def targets_of_rows(rows: Sequence[Json]) -> list[Json]:
    """Return the targets: the script gains, and asks no more by chance than the planner."""
    found = []
    by_arm = {(row["data"], row["arm"]): row for row in rows}
    for (data, arm), row in by_arm.items():
        if arm == SCRIPT and "shuffled" in data:
            most = by_arm[data, PLANNER]["asks"]
            found.append(_target(f"{data}: asks", row["asks"], f"≤ {most}", row["asks"] <= most))
        elif arm == SCRIPT and data in KNOWN_TASTE:
            gained = row["over_planner"] >= GAIN_MIN and row["over_planner_95"][0] > 0
            found.append(_target(f"{data}: gain", row["over_planner"], f"≥ {GAIN_MIN}", gained))
    return found


def _target(metric: str, value: float, wanted: str, met: bool) -> Json:
    return {"metric": metric, "value": value, "target": wanted, "met": met}


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for each set of news and arm, with thumbs as they are and shuffled."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab model names")
    parser.add_argument("--data", nargs="+", choices=DATA, default=KNOWN_TASTE, help="data sets")
    parser.add_argument("--readers", type=int, default=READERS, help=f"readers of each set ({READERS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed ({SEED})")
    parser.add_argument("--shared", action="store_true", help="all readers are on one installation")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(argv)
    if not os.environ.get("TIDINGS_DATA"):
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    began, rows = time.monotonic(), list[Json]()
    for data in options.data:
        # Thumbs beside written reasons are chance already.
        for shuffled in (False,) if REASONS in data else (False, True):
            some = rows_of(data, options.readers, options.seed, shuffled=shuffled, shared=options.shared)
            for row in some:
                progress(str(row))
            rows += some
    report = {
        "command": "python -m tests.lab model names",
        "seed": options.seed,
        "rows": rows,
        "targets": targets_of_rows(rows),
        "seconds": round(time.monotonic() - began, 1),
    }
    return report_end(report, as_json=options.json)
