"""The posterior of one reader's tastes: how source and topics together make a rating positive.

**Columns.** Sources, and topics: the config's own, and the most frequent phrases of rated titles. A phrase
is one to three words that follow each other, neither starting nor ending in a stop word, no source's name,
in the titles of at least three items from at least two sources. Where a longer phrase covers nearly the
same items, the shorter one goes: "electric car" rather than "electric". Phrases are chosen by how often
they occur, never by how much they are liked, so that the choice itself proves nothing.

**Reasons.** A reason says which attribute was meant. "My kind of topic" and "not my topic" name the topics;
depth, original reporting, hype, clickbait or a paywall name the source; "well explained" or "already knew
this" the one item. So each reason is an observation of its own, as in a choice among alternatives
(McFadden, 1974): the named attribute pulled harder than either of the others, in the direction of the
rating.

**Regression.** Like-rates taken one by one confuse a source with its topics. So all of them are estimated
at once, in a logistic regression per reader:

    logit P(up) = base + source + sum of the topics in the title

with Gaussian priors around 0 (or, as a second explanation, around other readers' opinions of a source),
fitted by Laplace's approximation. How widely sources and topics vary is unknown, so a grid of scales is
averaged by evidence (MacKay, 1992): the smallest scale means "no preferences at all", and a reader who has
none falls back to it. Topics are sparse besides: most phrases of a title mean nothing to a reader. A draw
includes each topic with the probability that it matters at all, its Savage-Dickey ratio against the slab
(Dickey, 1971); the share of topics that matter is estimated from all of them by expectation maximisation.
Pure.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit, logit

from digest.entities import RatedItem
from ranking.common.text import TOPIC_MAX_CHARS, fold, term_matches, topic_key
from ranking.entities import SourceTally
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS, base_rate
from suggestions.entities import SOURCE_WEIGHTS

Array = NDArray[np.float64]

TOPICS_MAX = 40
PHRASE_WORDS_MAX = 3
PHRASE_ITEMS_MIN = 3
PHRASE_SOURCES_MIN = 2
# A shorter phrase goes where a longer one has this share of its items.
COVERED = 0.8
# The attribute that a reason names (slugs of the taxonomy).
ABOUT_TOPIC = frozenset({"on-topic", "off-topic"})
ABOUT_SOURCE = frozenset({"depth", "original", "practical", "hype", "clickbait", "paywall"})
ABOUT_ITEM = frozenset({"clarity", "surprising", "shallow", "known"})
# The weight of one comparison, against 1 for a rating: readers pick reasons loosely, and the two
# comparisons of one reason are not independent. Tried in simulation: 0, 0.5, 0.7 and 0.9.
REASON_WEIGHT = 0.7
# Ratings beyond the sample count by source only, and together for no more than the sample itself.
OLDER_MAX = 500.0
# Rates are clipped to this range, since logits end at 0 and 1.
RATE_MIN, RATE_MAX = 0.05, 0.95
# English and German words that name nothing.
_STOP_TEXT = """
a about after again against all also an and any are around as at back be because been before being
best better between big biggest both but by can come could day days did do does doing down during
each even ever every everyone everything few finally first five for four from full get gets getting
give gives go goes going good got great had has have he her here him his how i if in inside into is
it its just keep know last latest least less let like little long look made make makes making man
many may me might mine more most much must my near need needs never new news next no not nothing now
of off old on one only or other our out over own part people per put really report review right said
same say says second see set she should show shows since six so some something still such take takes
tell ten than that the their them then there these they thing things this those three through time
times to today together tomorrow too top two under until up update us use used using very via video
want wants was way ways we week weeks well went were what when where which while who whose why will
with without won work world would year years yes yet you your yours aber alle als am an auch auf aus
bei beim bis da das dass dem den der des die doch durch ein eine einem einen einer er es für gegen
hat haben ich ihr im in ist kann kein keine man mehr mit nach neue neuen nicht noch nur oder sein
sich sie sind so über um und uns unter vom von vor war warum was wegen wenn wer werden wie wieder
will wird wir zu zum zur zwei
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
_TOKEN = re.compile(r"\w+(?:['’.\-+&]\w+)*")
# Prior of the base in logits: a reader may like one item in twenty or nearly all.
BASE_SCALE = 1.5
# The scales tried for sources and topics, with their prior weights; set by simulation.
SCALES = (0.001, 0.35, 0.8)
SCALE_WEIGHTS = (0.35, 0.3, 0.35)
# Share of topics that matter, as if so many (yes, no) had been seen before.
TOPIC_SHARE_PRIOR = (2.0, 8.0)
EM_ROUNDS = 12
NEWTON_ROUNDS = 12
NEWTON_TOLERANCE = 1e-4
DRAWS = 160


@dataclass(frozen=True, slots=True)
class Attributes:
    """The columns: source keys, topic keys and the spelling of each topic, in a fixed order."""

    sources: tuple[str, ...]
    topics: tuple[str, ...]
    labels: Mapping[str, str]

    def column(self, field: str, key: str) -> int:
        """Return the index of a target among all columns. Raises `ValueError` for an unknown one."""
        if field == SOURCE_WEIGHTS:
            return self.sources.index(key)
        return len(self.sources) + self.topics.index(key)


@dataclass(frozen=True, slots=True)
class Design:
    """Ratings as a regression sees them.

    `features` (observations x columns) are 1 where an observation has a column: the base, then `source_count`
    sources, then topics. `liked` is 1 or 0, `weight` the weight of each observation, `prior_means` the prior
    mean of each source and topic in logits.
    """

    features: Array
    liked: Array
    weight: Array
    source_count: int
    prior_means: Array


def attributes_of(
    rated: Sequence[RatedItem], *, sources: Sequence[str], topics: Sequence[str], titles: dict[str, str]
) -> Attributes:
    """Return the columns for these ratings; `topics` are always among them, in their own spelling."""
    labels = {topic_key(topic): topic for topic in topics}
    for found in phrases_frequent(rated, titles)[:TOPICS_MAX]:
        labels.setdefault(found.key, found.label)
    keys = {*sources, *(item.source for item in rated)}
    return Attributes(tuple(sorted(keys)), tuple(sorted(labels)), labels)


def design_of(
    rated: Sequence[RatedItem],
    attributes: Attributes,
    *,
    older: Sequence[SourceTally],
    deviation: Mapping[str, float],
    now: datetime,
) -> Design:
    """Return the ratings as a regression sees them.

    `older` are the decayed ratings beyond `rated`, by source; `deviation` the difference between the rate at
    which the reader's peers like a source and their usual rate.
    """
    at = {source: 1 + n for n, source in enumerate(attributes.sources)}
    width = 1 + len(at) + len(attributes.topics)
    rows = np.zeros((len(rated), width))
    rows[:, 0] = 1.0
    for n, item in enumerate(rated):
        rows[n, at[item.source]] = 1.0
        rows[n, 1 + len(at) :] = _topics_in(item.title, attributes)
    weight = np.array([rating_weight(item.at, now) for item in rated])
    compared, counts = _comparisons(rated, rows, weight, 1 + len(at))
    past, past_liked, past_weight = _older_rows(older, at, width)
    base = base_rate(sum(item.useful for item in rated), len(rated))
    prior_means = np.zeros(width - 1)
    for source, lead in deviation.items():
        if source in at:
            prior_means[at[source] - 1] = float(
                logit(min(RATE_MAX, max(RATE_MIN, base + lead))) - logit(base)
            )
    return Design(
        features=np.vstack([rows, compared, past]),
        liked=np.concatenate([[float(item.useful) for item in rated], np.ones(len(counts)), past_liked]),
        weight=np.concatenate([weight, counts, past_weight]),
        source_count=len(at),
        prior_means=prior_means,
    )


def reasons_count(rated: Sequence[RatedItem]) -> int:
    """Return how many of these ratings have a reason that names one attribute."""
    return sum(_named_attribute(item) is not None for item in rated)


def _named_attribute(item: RatedItem) -> frozenset[str] | None:
    """Return the attribute that a rating's reasons name; `None` for none, or several at once."""
    named = [kind for kind in (ABOUT_TOPIC, ABOUT_SOURCE, ABOUT_ITEM) if not kind.isdisjoint(item.tags)]
    return named[0] if len(named) == 1 else None


def _comparisons(
    rated: Sequence[RatedItem], rows: Array, weight: Array, first_topic: int
) -> tuple[Array, Array]:
    """Return two observations per rating with a reason: the named attribute beats each of the others."""
    found: list[Array] = []
    counts: list[float] = []
    for n, item in enumerate(rated):
        named = _named_attribute(item)
        if named is None:
            continue
        sign = 1.0 if item.useful else -1.0
        source, topics = (sign * rows[n] for _ in "12")
        source[0] = source[first_topic:] = 0.0
        topics[:first_topic] = 0.0
        if named is ABOUT_TOPIC:
            found += [topics, topics - source]
        elif named is ABOUT_SOURCE:
            found += [source, source - topics]
        else:
            found += [-source, -topics]
        counts += [REASON_WEIGHT * float(weight[n])] * 2
    return np.array(found).reshape(len(found), rows.shape[1]), np.array(counts)


def _older_rows(
    tallies: Sequence[SourceTally], at: Mapping[str, int], width: int
) -> tuple[Array, Array, Array]:
    """Return two rows per source, the likes and the dislikes, each with its weight."""
    known = [tally for tally in tallies if tally.source in at and tally.n > 0]
    rows = np.zeros((2 * len(known), width))
    liked, weight = np.tile([1.0, 0.0], len(known)), np.zeros(2 * len(known))
    share = min(1.0, OLDER_MAX / max(1.0, sum(tally.n for tally in known)))
    for n, tally in enumerate(known):
        rows[2 * n : 2 * n + 2, [0, at[tally.source]]] = 1.0
        weight[2 * n], weight[2 * n + 1] = share * tally.likes, share * max(0.0, tally.n - tally.likes)
    return rows, liked, weight


def _topics_in(text: str, attributes: Attributes) -> Array:
    folded = fold(text)
    found = [float(term_matches(attributes.labels[key], folded)) for key in attributes.topics]
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that could be a topic, with the indices of the items whose titles have it."""

    key: str
    label: str
    items: frozenset[int]


def phrases_frequent(rated: Sequence[RatedItem], titles: Mapping[str, str]) -> list[Phrase]:
    """Return the phrases of the rated titles that could be topics, most frequent first.

    `titles` are the sources by key: a source's title, its key, and the key without its ending are no topics.
    """
    barred = {
        topic_key(name)
        for key, title in titles.items()
        for name in (key, title, key.split(".")[0])
        if name.strip()
    }
    items: dict[str, set[int]] = defaultdict(set)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for index, item in enumerate(rated):
        for key, phrase in _phrases(item.title):
            items[key].add(index)
            spellings[key][phrase] += 1
    frequent = {
        key: frozenset(found)
        for key, found in items.items()
        if len(found) >= PHRASE_ITEMS_MIN
        and key not in barred
        and len({rated[i].source for i in found}) >= PHRASE_SOURCES_MIN
    }
    return [
        Phrase(key, spellings[key].most_common(1)[0][0], found)
        for key, found in sorted(frequent.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        if not _covered(key, frequent)
    ]


def phrase_contains(longer: str, shorter: str) -> bool:
    """Return True if `shorter` is inside `longer` as whole words and is not all of it."""
    return longer != shorter and f" {shorter} " in f" {longer} "


def _covered(key: str, frequent: dict[str, frozenset[int]]) -> bool:
    found = frequent[key]
    # Only phrases that share an item can cover; titles are short, so a scan of the longer ones is cheap.
    return any(
        phrase_contains(other, key) and len(found & items) >= COVERED * len(found)
        for other, items in frequent.items()
        if len(other) > len(key)
    )


def _phrases(title: str) -> set[tuple[str, str]]:
    """Return the (key, spelling) of each phrase of `title`, once each."""
    text = " ".join(unicodedata.normalize("NFKC", title).split())
    tokens = list(_TOKEN.finditer(text))
    found: dict[str, str] = {}
    for start in range(len(tokens)):
        for end in range(start, min(start + PHRASE_WORDS_MAX, len(tokens))):
            if end > start and text[tokens[end - 1].end() : tokens[end].start()] != " ":
                break
            phrase = text[tokens[start].start() : tokens[end].end()]
            if _is_topic(tokens[start].group(), tokens[end].group(), phrase):
                found.setdefault(topic_key(phrase), phrase)
    return set(found.items())


def _is_topic(first: str, last: str, phrase: str) -> bool:
    if len(phrase) > TOPIC_MAX_CHARS or fold(first) in STOP_WORDS or fold(last) in STOP_WORDS:
        return False
    # Two letters make a topic only as an abbreviation ("AI"); a bare number never does.
    return any(map(str.isalpha, phrase)) and (len(phrase) > 2 or (len(phrase) == 2 and phrase.isupper()))


def rating_weight(at: datetime, now: datetime) -> float:
    """Return the weight of a rating: 2^(-age / 60 days), the age in whole UTC days as in source tallies."""
    days = (now.timestamp() // 86400) - (at.timestamp() // 86400)
    return float(0.5 ** (max(0.0, days) / FEEDBACK_HALF_LIFE_DAYS))


def posterior_draws(design: Design, seed: int, draws: int = DRAWS) -> Array:
    """Return `draws` samples of (base, attributes...) from the posterior; the same for the same seed."""
    rng = np.random.default_rng(seed)
    modes = _modes(design)
    evidence = np.array([mode[2] for mode in modes])
    shares = np.exp(evidence - evidence.max())
    counts = rng.multinomial(draws, shares / shares.sum())
    return np.concatenate(
        [_sample(mode, count, design, rng) for mode, count in zip(modes, counts, strict=True) if count]
    )


def _modes(design: Design) -> list[tuple[Array, Array, float, float]]:
    """Return (mode, Cholesky factor of the precision, log evidence, topic scale) per pair of priors."""
    topics = design.features.shape[1] - 1 - design.source_count
    found = []
    for source_scale, source_share, mean in _source_priors(design):
        for topic_scale, topic_share in zip(SCALES, SCALE_WEIGHTS, strict=True):
            if not topics and topic_scale != SCALES[0]:
                continue
            scales = np.repeat([BASE_SCALE, source_scale, topic_scale], [1, design.source_count, topics])
            mode, factor, evidence = _laplace(design, scales, mean)
            weight = float(np.log(source_share) + np.log(topic_share))
            found.append((mode, factor, evidence + weight, topic_scale))
    return found


def _source_priors(design: Design) -> Iterator[tuple[float, float, Array]]:
    """Yield (scale, prior weight, prior means) of each explanation of the sources.

    Others' opinions are an explanation beside the reader's own, each half as likely at first, and never part
    of "no preferences at all": a reader who agrees with nobody must not get what others like.
    """
    own = np.zeros(len(design.prior_means) + 1)
    others = np.concatenate([[0.0], design.prior_means])
    for scale, share in zip(SCALES, SCALE_WEIGHTS, strict=True):
        if scale == SCALES[0] or not design.prior_means.any():
            yield scale, share, own
        else:
            yield scale, share / 2, own
            yield scale, share / 2, others


def _laplace(design: Design, scales: Array, mean: Array) -> tuple[Array, Array, float]:
    """Return the mode by Newton's method, the factor of the precision there, and the log evidence."""
    features, precision = design.features, 1 / scales**2
    theta = mean.copy()
    for _ in range(NEWTON_ROUNDS):
        p = expit(features @ theta)
        slope = features.T @ (design.weight * (design.liked - p)) - precision * (theta - mean)
        bend = (features * (design.weight * p * (1 - p))[:, None]).T @ features
        bend[np.diag_indices_from(bend)] += precision
        step = np.linalg.solve(bend, slope)
        theta += step
        if np.abs(step).max() < NEWTON_TOLERANCE:
            break
    factor = np.linalg.cholesky(bend)
    z = features @ theta
    fit = float((design.weight * (design.liked * z - np.logaddexp(0, z))).sum())
    prior = -0.5 * float((precision * (theta - mean) ** 2).sum()) + 0.5 * float(np.log(precision).sum())
    return theta, factor, fit + prior - float(np.log(np.diag(factor)).sum())


def _sample(
    mode: tuple[Array, Array, float, float], count: int, design: Design, rng: np.random.Generator
) -> Array:
    """Return `count` draws around one mode, with topics that do not matter set to 0."""
    theta, factor, _, topic_scale = mode
    noise = rng.normal(size=(len(theta), count))
    drawn: Array = theta + solve_triangular(factor.T, noise, lower=False).T
    first = 1 + design.source_count
    if len(theta) > first and topic_scale > SCALES[0]:
        matters = _matters(theta[first:], _spreads(factor)[first:], topic_scale)
        drawn[:, first:] *= rng.random((count, len(theta) - first)) < matters
    return drawn


def _spreads(factor: Array) -> Array:
    """Return the posterior standard deviation of each coefficient, from the factor of the precision."""
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    spread: Array = np.sqrt((inverse**2).sum(axis=0))
    return spread


def _matters(mean: Array, spread: Array, scale: float) -> Array:
    """Return the probability of each topic that it matters at all."""
    log_factor = np.log(spread / scale) + 0.5 * (mean / spread) ** 2
    yes, no = TOPIC_SHARE_PRIOR
    share = yes / (yes + no)
    for _ in range(EM_ROUNDS):
        likely = expit(log_factor + np.log(share / (1 - share)))
        share = (yes + likely.sum()) / (yes + no + len(mean))
    result: Array = expit(log_factor + np.log(share / (1 - share)))
    return result
