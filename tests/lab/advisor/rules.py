"""The rules an advisor has to beat, on tallies of thumbs per source and per true topic. Pure.

They are told the world's real topics, which an advisor has to find in titles first: a head start. Caps,
cooldown and the three thumbs of evidence bind them as they bind the advisor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm

from ranking.common.text import topic_key
from ranking.entities import WEIGHT_MAX, WEIGHT_MIN, EffectiveConfig
from ranking.taste import leans
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.topics import topic_in_config
from suggestions.changes.weights import weight_text
from suggestions.planner.preference import preference_of
from suggestions.planner.tastes import FALSE_SIGN_MAX, LEAN_MIN, Taste, tastes_of
from suggestions.proposals import EVIDENCE_MIN, SUGGESTIONS_PER_RUN_MAX, WEIGHT_STEP_MAX
from tests.lab.world.words import SOURCES, TOPICS
from tests.lab.world.world import Floats
from tests.support.changes import ADD_TOPIC, BOOST_SOURCE, REDUCE_SOURCE, REMOVE_TOPIC, change_applied

# One slot each for sources and topics, and one for either: two of a kind at most.
PER_KIND_MAX = 2
THUMBS_MIN = 10
COOLDOWN_WEEKS = 2
# The Beta rule's prior strength and Wilson's level, as in the rules' first measurement.
BETA_PRIOR = 6.0
WILSON_LEVEL = 0.9
# A deterministic nudge, as in a peer product: this many items of a source, this share of them unwanted.
NUDGE_ITEMS, NUDGE_SHARE = 30, 0.75


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of changes, by number: first the sources, then the topics."""

    sources: tuple[str, ...] = SOURCES
    topics: tuple[str, ...] = TOPICS

    def __len__(self) -> int:
        return len(self.sources) + len(self.topics)


WORLD = Targets()


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a config, about target number `target`."""

    target: int
    kind: str
    key: str
    value: str

    @property
    def is_source(self) -> bool:
        """Return whether it is about a source."""
        return self.kind in (BOOST_SOURCE, REDUCE_SOURCE)

    @property
    def is_up(self) -> bool:
        """Return whether it is more of the target."""
        return self.kind in (ADD_TOPIC, BOOST_SOURCE)

    def applied(self, effective: EffectiveConfig) -> EffectiveConfig:
        """Return the config with it."""
        return change_applied(effective, self.kind, self.key, self.value)


@dataclass(frozen=True, slots=True)
class Tallies:
    """Decayed thumbs and likes per target, and the same undecayed (`None`: nothing has decayed)."""

    n: Floats
    likes: Floats
    targets: Targets = WORLD
    whole: "Tallies | None" = None

    @property
    def total(self) -> float:
        """Return all thumbs: each has one source."""
        return float(self.n[: len(self.targets.sources)].sum())

    @property
    def base(self) -> float:
        """Return the reader's own like-rate."""
        return float((self.likes[: len(self.targets.sources)].sum() + 1) / (self.total + 2))


Open = Callable[[int], bool]
Rule = Callable[[Tallies, EffectiveConfig, Open, np.random.Generator], list[Change]]


def change_of(target: int, up: bool, effective: EffectiveConfig, targets: Targets = WORLD) -> Change | None:
    """Return the change that moves a target up or down by one step, or `None` if there is no room."""
    if target < len(targets.sources):
        key = targets.sources[target]
        weight = effective.weight(key)
        if (up and weight > WEIGHT_MAX - 0.01) or (not up and weight < WEIGHT_MIN + 0.01):
            return None
        wanted = min(WEIGHT_MAX, max(WEIGHT_MIN, weight + (WEIGHT_STEP_MAX if up else -WEIGHT_STEP_MAX)))
        return Change(target, BOOST_SOURCE if up else REDUCE_SOURCE, key, weight_text(wanted))
    topic = targets.topics[target - len(targets.sources)]
    key = topic_key(topic)
    if bool(topic_in_config(key, effective.config.topics)) is up:
        return None
    return Change(target, ADD_TOPIC if up else REMOVE_TOPIC, key, topic)


def changes_all(effective: EffectiveConfig, targets: Targets = WORLD) -> list[Change]:
    """Return every change there is room for."""
    both = (change_of(t, up, effective, targets) for t in range(len(targets)) for up in (True, False))
    return [change for change in both if change is not None]


def capped(changes: Sequence[Change]) -> list[Change]:
    """Return the first of `changes` that a run may make: three, of different targets, two of a kind."""
    kept: list[Change] = []
    for change in changes:
        same = sum(other.is_source is change.is_source for other in kept)
        if same < PER_KIND_MAX and all(other.target != change.target for other in kept):
            kept.append(change)
    return kept[:SUGGESTIONS_PER_RUN_MAX]


def silent(
    tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
) -> list[Change]:
    """Never suggests anything."""
    return []


def random_valid(
    tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
) -> list[Change]:
    """Any three changes that the rules would let through."""
    valid = [
        change
        for change in changes_all(effective, tallies.targets)
        if is_open(change.target) and _grounded(tallies, change.target, change.is_up)
    ]
    return capped([valid[i] for i in rng.permutation(len(valid))])


def nudges(
    tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
) -> list[Change]:
    """Less of a source, or no more of a topic, with 30 items or more of which over 75 % were disliked."""
    bad = [
        t
        for t in range(len(tallies.n))
        if tallies.n[t] >= NUDGE_ITEMS and 1 - tallies.likes[t] / tallies.n[t] > NUDGE_SHARE and is_open(t)
    ]
    found = (
        change_of(t, False, effective, tallies.targets) for t in sorted(bad, key=lambda t: -tallies.n[t])
    )
    return [change for change in found if change is not None][:1]


def greedy(
    tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
) -> list[Change]:
    """Return changes for the like-rates furthest from the reader's own."""
    return _ranked(tallies, effective, is_open, lambda n, k, base: abs(k / n - base))


def wilson(
    tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
) -> list[Change]:
    """Return changes that Wilson's interval (1927), one-sided at 90 %, separates from the reader's own
    rate."""
    z = float(norm.ppf(WILSON_LEVEL))

    def merit(n: float, k: float, base: float) -> float:
        p, scale = k / n, 1 + z * z / n
        middle = (p + z * z / 2 / n) / scale
        half = z * float(np.sqrt(p * (1 - p) / n + z * z / 4 / n**2)) / scale
        return max(middle - half - base, base - middle - half)

    return _ranked(tallies, effective, is_open, merit)


def beta_above(level: float) -> Rule:
    """Return changes that a Beta posterior, centred on the reader's own rate, separates with probability
    `level`."""

    def rule(
        tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
    ) -> list[Change]:
        total = tallies.total

        def merit(n: float, k: float, base: float) -> float:
            p = 1 - float(beta.cdf(base, BETA_PRIOR * base + k, BETA_PRIOR * (1 - base) + n - k))
            if max(p, 1 - p) < level:
                return 0.0
            mean = (BETA_PRIOR * base + k) / (BETA_PRIOR + n)
            distance = abs(np.log(mean / (1 - mean)) - np.log(base / (1 - base)))
            return float(distance * np.sqrt(n * (total - min(n, total)) / total**2 + 1e-9))

        return _ranked(tallies, effective, is_open, merit)

    return rule


def planner_asking(most: float) -> Rule:
    """Return the planner's rule: a lean of .15 or more, with a false sign rate of `most` at most.

    It has the planner's arithmetic with the spread that MovieLens' readers have, without reasons or forecast.
    """

    def rule(
        tallies: Tallies, effective: EffectiveConfig, is_open: Open, rng: np.random.Generator
    ) -> list[Change]:
        found: list[tuple[float, Change]] = []
        for target, taste in enumerate(planner_tastes(tallies)):
            large = taste.is_known and abs(taste.lean) >= LEAN_MIN and is_open(target)
            if not large or taste.false_sign > most or not _grounded(tallies, target, taste.lean > 0):
                continue
            if change := change_of(target, taste.lean > 0, effective, tallies.targets):
                found.append((abs(taste.lean) * taste.reach, change))
        return capped([change for _, change in sorted(found, key=lambda pair: -pair[0])])

    return rule


def planner_tastes(tallies: Tallies) -> list[Taste]:
    """Return the planner's taste for each target, with the spread that MovieLens' readers have."""
    whole = _as_planner(tallies.whole or tallies)
    preference = preference_of(whole, len(whole.thumbs))
    return tastes_of(_as_planner(tallies), SPREAD_PRIOR, preference=preference)


def _as_planner(tallies: Tallies) -> leans.Tallies:
    """Return the planner's tallies. Decay makes a thumb count for less."""
    n, total = tallies.n, tallies.total
    likes = float(tallies.likes[: len(tallies.targets.sources)].sum())
    among = np.full(len(n), total), np.full(len(n), likes)
    return leans.Tallies(n, tallies.likes, n, len(tallies.targets.sources), total, likes, *among)


def _ranked(
    tallies: Tallies, effective: EffectiveConfig, is_open: Open, merit: Callable[[float, float, float], float]
) -> list[Change]:
    """Return the changes towards each target's like-rate, best merit first; merit 0 or less is no case."""
    base = tallies.base
    if tallies.total < THUMBS_MIN:
        return []
    found: list[tuple[float, Change]] = []
    for target, (n, k) in enumerate(zip(tallies.n.tolist(), tallies.likes.tolist(), strict=True)):
        if n < EVIDENCE_MIN or not is_open(target):
            continue
        up = k / n > base
        change = change_of(target, up, effective, tallies.targets) if _grounded(tallies, target, up) else None
        worth = merit(n, k, base)
        if change is not None and worth > 0:
            found.append((worth, change))
    return capped([change for _, change in sorted(found, key=lambda pair: -pair[0])])


def _grounded(tallies: Tallies, target: int, up: bool) -> bool:
    """Three thumbs of the change's polarity (decayed a little, as everything here is)."""
    for_it = tallies.likes[target] if up else tallies.n[target] - tallies.likes[target]
    return bool(for_it >= EVIDENCE_MIN)


RULES: dict[str, Rule] = {
    "no change": silent,
    "random valid": random_valid,
    "greedy like-rate": greedy,
    "peer's nudges": nudges,
    "Wilson 90": wilson,
    "Beta .8": beta_above(0.8),
    "Beta .9": beta_above(0.9),
}
# The false sign rates that were tried for the planner; 1 asks about every lean that is large enough.
PLANNER_RULE = f"planner at {FALSE_SIGN_MAX:g}"
ASKING = {f"planner at {most:g}": planner_asking(most) for most in (1.0, 0.4, 0.35, 0.3, 0.28, 0.25, 0.2)}
