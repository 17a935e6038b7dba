"""The effect of taste on the score in real histories: a reader's first thumbs, judged by much later ones.

The score of later items is the product's on arrays (weights, topics, freshness). Rows differ in the use of
the first thumbs:

- *today*: the learning loop runs once, and every change that the planner proposes is accepted;
- *taste*: only the taste factor, without the loop; *full*: the factor, and every change as well;
- *flat logistic*: P(like) by logistic regression on sources, topics and categories, times freshness.

The spread of readers' tastes is the published figure of all of them, with its noise. Pure, but for data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from digest.entities import RatedItem
from ranking.community import spread_with_noise
from ranking.entities import Candidate, EffectiveConfig, SourceTally
from ranking.learning import learn
from ranking.other_names import topic_names
from ranking.scoring import Pool
from ranking.taste.columns import TasteColumns, taste_learned
from ranking.taste.entities import NO_HOLD, Example, TasteLevel
from ranking.taste.foretold import Foretold
from ranking.taste.leans import SPREAD_PRIOR, rating_weight
from ranking.taste.signal import TasteSignal
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.planner.by_taste import SURE_Z, THUMBS_MIN, sureness_p
from suggestions.planner.hypotheses import (
    DecisionHistory,
    EvaluatedChange,
    candidate_changes,
    select_changes,
)
from suggestions.planner.tastes import Batch, batch_sum, contribution_of, spread_of, tallies_of, tastes_of
from tests.lab.advisor.metrics import calibration, interval
from tests.lab.advisor.stage import Say
from tests.lab.histories.pools import History, Pools, Rated, start_config, targets_of
from tests.lab.histories.trials import NOW, SPAN, Trial, histories_for, readers_tested
from tests.lab.world.entities import Asked
from tests.lab.world.world import Floats

READERS, CHANGES_MAX = 60, 3
# NeMig has 25 to 30 answers of a reader, and nothing is to be found in them.
NOTHING, NOTHING_THUMBS, NOTHING_HELD = ("nemig-en", "nemig-de"), 20, 5
THUMBS, SHUFFLED_THUMBS = (20, 50, 100), (50, 100)
TODAY, TASTE, FULL, LOGISTIC = "today", "taste", "full", "flat logistic"
RANKERS = (TODAY, TASTE, FULL, LOGISTIC)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """The gain of each ranker for one reader in nDCG@10, and the changes with their stated probabilities.

    `by_taste` is the offer to order the page, `None` if the reader's thumbs do not support it.
    """

    gains: dict[str, float]
    asked: tuple[Asked, ...]
    by_taste: Asked | None


def taste_rows(names: Sequence[str], seed: int, say: Say, *, readers: int = 0) -> list[Json]:
    """Return a row for each set, source and number of thumbs, and the calibration of probabilities.

    Calibration uses readers with an odd number, because those with an even one set the constants.
    """
    sets = [(name, by_genre) for name in names for by_genre in (False, True)]
    trials = [Trial(d, t, readers or READERS, by_genre=g, seed=seed) for d, g in sets for t in THUMBS]
    trials += [
        Trial(d, t, readers or READERS, shuffled=True, by_genre=g, seed=seed)
        for d, g in sets
        for t in SHUFFLED_THUMBS
    ]
    rows, odd = [], list[Judged]()
    for trial in trials:
        judged = _judged(trial)
        row: Json = {"name": _name(trial), "readers": len(judged), "spread": round(_spread(trial), 4)}
        for ranker in RANKERS:
            row[ranker] = _mean([one.gains[ranker] for _, one in judged])
        for ranker in (TASTE, FULL, LOGISTIC):
            over = [one.gains[ranker] - one.gains[TODAY] for _, one in judged]
            row |= {f"{ranker} over today": _mean(over), f"{ranker} over today, 95 %": interval(over)}
        own = [one.gains[TASTE] for _, one in judged]
        rows.append(row | {f"{TASTE}, 95 %": interval(own)})
        odd += [] if trial.shuffled else [one for number, one in judged if number % 2]
        say(f"{row['name']}: done")
    asked, pages = [a for one in odd for a in one.asked], [one.by_taste for one in odd if one.by_taste]
    return [
        *rows,
        {"name": "taste on: other changes, odd readers", "suggestions": len(asked), **calibration(asked)},
        {"name": "order by taste, odd readers", "suggestions": len(pages), **calibration(pages)},
    ]


def nothing_rows(seed: int) -> list[Json]:
    """Return a row for each language of NeMig, with thumbs as they are and shuffled: its offers.

    AUC of later answers, where taste orders the page only of readers who are offered that; one half without
    taste. The spread is the one that an installation of one reader begins with.
    """
    rows: list[Json] = []
    for name in NOTHING:
        for shuffled in (False, True):
            trial = Trial(name, NOTHING_THUMBS, shuffled=shuffled, seed=seed, held=NOTHING_HELD)
            histories = histories_for(trial)
            found = [_offered(histories[n].rated) for n in readers_tested(histories, trial)]
            judged = [one for one in found if one]
            row = {"name": _name(trial), "readers": len(judged), "offered": sum(one[0] for one in judged)}
            rows.append(row | {"AUC": _mean([auc if is_offered else 0.5 for is_offered, auc in judged])})
    return rows


def _offered(rated: Sequence[Rated]) -> tuple[bool, float] | None:
    """Return whether an order by taste is offered after the first thumbs, and its AUC on the later ones."""
    known, later = rated[:NOTHING_THUMBS], rated[NOTHING_THUMBS:]
    liked = [one.liked for one in later]
    if len(set(liked)) < 2:
        return None
    signal = _signal(rated_items(known), SPREAD_PRIOR)
    pool = _pool(later)
    columns = TasteColumns(pool, None, signal, TasteLevel.ON, taste_learned(signal, {}), np.zeros(len(later)))
    return _is_offered(signal.foretold({})), float(roc_auc_score(liked, columns.factors))


def _is_offered(foretold: Foretold) -> bool:
    return len(foretold.rows) >= THUMBS_MIN and foretold.sureness >= SURE_Z


def _pool(later: Sequence[Rated]) -> Pool:
    return Pool(
        [Candidate(n, r.source, r.title, "", NOW, "", r.url, r.categories) for n, r in enumerate(later)]
    )


def _judged(trial: Trial) -> list[tuple[int, Judged]]:
    histories = histories_for(trial)
    first = start_config(targets_of(histories))
    spread = _spread(trial)
    return [
        (n, _reader(n, histories[n], first, trial.thumbs, spread)) for n in readers_tested(histories, trial)
    ]


def _reader(number: int, history: History, first: EffectiveConfig, thumbs: int, spread: float) -> Judged:
    known, later = history.rated[:thumbs], history.rated[thumbs:]
    rated = rated_items(known)
    signal = _signal(rated, spread)
    judge = Pools(later, [number, 0])
    pool = _pool(later)
    on = replace(first, config=replace(first.config, taste=TasteLevel.ON))

    def value(config: EffectiveConfig, decided: Mapping[str, int] = NO_HOLD) -> float:
        level = config.config.taste
        if level is TasteLevel.OFF:
            return judge.value(config)
        held = signal.holding(decided)
        leans = taste_learned(held, topic_names(config.config))
        columns = TasteColumns(pool, None, held, level, leans, np.zeros(len(later)))
        return judge.value(config, columns.factors)

    start, chosen = judge.value(first), _chosen(rated, first, spread)
    today, full = _learned(rated, first), on
    for one in chosen:
        today, full = one.change.applied(today), one.change.applied(full)
    asked = tuple(_asked(one, value, on) for one in chosen)
    gain = value(on) - start
    foretold = signal.foretold(topic_names(first.config))
    return Judged(
        {
            TODAY: judge.value(today) - start,
            TASTE: gain,
            FULL: value(full, full.sources_moved(on)) - start,
            LOGISTIC: judge.value(EffectiveConfig(replace(first.config, topics=())), _logistic(known, later))
            - start,
        },
        asked,
        Asked(1, "order_by_taste", "page", gain, True, sureness_p(foretold.sureness))
        if _is_offered(foretold)
        else None,
    )


def _asked(one: EvaluatedChange, value: Any, on: EffectiveConfig) -> Asked:
    after = one.change.applied(on)
    gain = value(after, after.sources_moved(on)) - value(on)
    return Asked(1, one.change.suggestion_type, one.change.target, gain, True, one.p_helpful)


def _chosen(rated: list[RatedItem], first: EffectiveConfig, spread: float) -> tuple[EvaluatedChange, ...]:
    """Return the changes that the planner proposes of these ratings."""
    titles = {item.source: item.source for item in rated}
    attributes = attributes_of(rated, titles=titles, given={TOPICS: first.config.topics})
    return select_changes(
        candidate_changes(attributes, first, rated),
        tastes_of(tallies_of(rated, attributes, NOW), spread, with_taste=True),
        attributes,
        rated,
        history=DecisionHistory(decided={}),
        limit=CHANGES_MAX,
    ).chosen


def _learned(rated: Sequence[RatedItem], first: EffectiveConfig) -> EffectiveConfig:
    """Return the config after the learning loop has run once."""
    tallies = []
    for source in sorted({item.source for item in rated}):
        own = [(item.useful, rating_weight(item.at, NOW)) for item in rated if item.source == source]
        likes = sum(weight for useful, weight in own if useful)
        tallies.append(SourceTally(source, sum(weight for _, weight in own), likes, len(own)))
    moved = {c.source: c.after - c.before for c in learn(tallies, first) if c.moved}
    return replace(first, deltas=moved)


def rated_items(known: Sequence[Rated]) -> list[RatedItem]:
    """Return the thumbs as the planner reads them, newest first, spread evenly over sixty days."""
    found = []
    for n, one in enumerate(known):
        at = NOW - SPAN + SPAN * (n + 1) / (len(known) + 1)
        dated = at - timedelta(hours=1)
        found.append(
            RatedItem(n, one.url, one.title, "", one.source, one.liked, (), (), at, dated, n, one.categories)
        )
    return found[::-1]


def _signal(rated: Sequence[RatedItem], spread: float) -> TasteSignal:
    examples = [
        Example(one.item_id, one.source, one.useful, one.at, one.title, tuple(one.categories))
        for one in rated
    ]
    return TasteSignal(examples, NOW, spread)


@cache
def _spread(trial: Trial) -> float:
    """Return the spread of tastes as published from everybody's first thumbs."""
    batches = []
    for history in histories_for(trial):
        rated = rated_items(history.rated[: trial.thumbs])
        titles = {item.source: item.source for item in rated}
        attributes = attributes_of(rated, titles=titles)
        batches.append(contribution_of(tallies_of(rated, attributes, NOW)))
    total = batch_sum(batches)
    uniforms = 1 - np.random.default_rng(trial.seed).random((2, 2))
    return spread_of([Batch(*spread_with_noise(total.estimates, total.weights, uniforms))])


def _logistic(known: Sequence[Rated], later: Sequence[Rated]) -> Floats:
    """Return P(like) of later items by logistic regression on everything that items say."""
    names = sorted({name for one in known for name in (one.source, *one.named)})
    number = {name: n for n, name in enumerate(names)}

    def rows(some: Sequence[Rated]) -> Floats:
        found = np.zeros((len(some), len(names)))
        for row, one in enumerate(some):
            found[row, [number[name] for name in (one.source, *one.named) if name in number]] = 1.0
        return found

    liked = [one.liked for one in known]
    if len(set(liked)) == 1:
        return np.ones(len(later))
    fit = LogisticRegression(C=0.3, max_iter=300).fit(rows(known), liked)
    p: Floats = fit.predict_proba(rows(later))[:, 1]
    return p


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _name(trial: Trial) -> str:
    parts = [trial.data, f"{trial.thumbs} thumbs"]
    parts += ["genre as source"] if trial.by_genre else []
    return ", ".join(["taste", *parts, *(["shuffled"] if trial.shuffled else [])])
