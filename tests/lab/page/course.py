"""The pages of one reader under one arm, morning by morning, made by the product's own functions.

Candidates, score, shares of sources, novelty, learning loop and planner are the product's; only the database
between them is left out. Each reader is alone on the installation: no figures of others, and tastes vary as
they do before anything is published. There are no stories and no topics but accepted ones.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from digest.daily.candidates import KNOWN_EXPOSURES, KNOWN_RATINGS, DayCandidates
from digest.daily.compose import Rules, compose
from digest.daily.diversity import choices_make
from digest.daily.gone import Dealt, articles_gone
from digest.daily.onboarding import FEED_NEWEST, HEADLINES_MAX
from digest.days import day_begin
from digest.entities import DIGEST_SIZE, ITEM_WINDOW_DAYS, UNREAD_DAYS, RatedItem
from digest.feedback.onboarding import Headline, question_choose
from digest.items.meanings import about_of
from ranking.common.text import topic_key
from ranking.entities import EffectiveConfig, SourceTally
from ranking.freshness import day_ages, freshness_by_day
from ranking.learning import learn
from ranking.meaning.spread import tells_more
from ranking.meaning.table import unit_rows, usual_centre
from ranking.meaning.topics import topic_meaning
from ranking.pool import About, Floats, Ids, ItemValues, Pool
from ranking.scoring import Signals
from ranking.similarity import EMPTY, profile_of, similarities, taste_update, vectors_stack
from ranking.taste.entities import NAMED_WEIGHT, Example, TasteLevel
from ranking.taste.learn import columns_of
from ranking.taste.likeness import LIKENESS_MAX, centre_of, pulls_of
from ranking.taste.signal import EXAMPLES_MAX, TasteSignal, likeness_made
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.planner.forecasts import split_by_time
from suggestions.planner.hypotheses import DecisionHistory, candidate_changes, select_changes
from suggestions.planner.tastes import SPREAD_PRIOR, rating_weight, tallies_of, tastes_of
from tests.lab.page.arms import NEWEST, ORACLE, Arm
from tests.lab.page.feeds import BEGIN, Stream
from tests.lab.page.readers import PLACES, REAL, Reader

DAY_S = 86_400.0
# After these days' thumbs suggestions are decided, at most this many at once. The learning loop runs each
# week.
SUGGESTION_DAYS, SUGGESTIONS_MAX, WEEK = frozenset({2, 5, 9, 13, 16}), 3, 7
# Articles older than a week are named, if there are more than this many.
NAMED_FROM_MIN = 50
# Hours after which an item is worth half to a reader, if freshness counts (clicks of MIND).
WORTH_HALF_HOURS = 96.0


@dataclass(frozen=True, slots=True)
class Page:
    """Figures of one morning's first fifteen places.

    `to_taste`, `first_five`: the share to taste among the items that stand there for the first time, or None
    without any. `base` is that share of all candidates. `liked` is the mean P(like), `worth` the same
    discounted by age, `sources` the number of sources as if there were fifteen places, `repeats` the share
    that stood on the page of the day before, `passed` that stood among its first places, `found` how many are
    to taste and there for the first time, `age_days` the mean age, `thumbs` the reader's thumbs so far.
    `others` is the share that is there only because of taste, if the reader's thumbs are uninformative.
    Figures of an empty page are None.
    """

    to_taste: float | None
    first_five: float | None
    base: float
    thumbs: int
    liked: float | None = None
    worth: float | None = None
    sources: float | None = None
    repeats: float | None = None
    passed: float | None = None
    found: int | None = None
    age_days: float | None = None
    others: float | None = None


@dataclass(slots=True)
class Course:
    """The history of a reader so far."""

    effective: EffectiveConfig
    rated: dict[int, tuple[bool, datetime]] = field(default_factory=dict)
    named: dict[int, datetime] = field(default_factory=dict)
    pages: defaultdict[int, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    exposed: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    shown: set[int] = field(default_factory=set)
    yesterday: list[int] = field(default_factory=list)
    decided: dict[tuple[str, str], tuple[datetime, bool]] = field(default_factory=dict)


class Simulation:
    """One reader's installation: their items in a pool of their own."""

    def __init__(self, stream: Stream, reader: Reader, arm: Arm) -> None:
        """Set up the pool; the arm may deal the vectors of meaning to other items, or take them away."""
        self.stream, self.reader, self.arm = stream, reader, arm
        rows = reader.rows
        self.meanings = stream.meanings[rows] if arm.has_meaning else np.zeros_like(stream.meanings[rows])
        if arm.is_dealt:
            self.meanings = self.meanings[np.random.default_rng(77).permutation(len(rows))]
        vectors = [row.tobytes() if row.any() else b"" for row in self.meanings]
        self.vectors = dict(zip(rows.tolist(), vectors, strict=True))
        early = self.meanings[stream.stamps[rows] <= BEGIN.timestamp()]
        self.centre = centre_of(unit_rows(early).sum(axis=0), float(early.any(axis=1).sum()), usual_centre())
        self.pool = Pool([stream.items[row] for row in rows.tolist()], self._find_about)
        self.origins = {c.item_id: (c.source, c.item_id) for c in self.pool.candidates}
        self.packed = [stream.terms[row].packed() for row in rows.tolist()]

    def _find_about(self, topics: Sequence[str], ids: Ids) -> dict[str, About]:
        found = {}
        for topic in topics:
            if (meaning := topic_meaning(self.meanings, self.pool.matches(topic))) is not None:
                found[topic_key(topic)] = about_of(meaning.worth(self.meanings))
        return found

    def run(self, days: int) -> list[Page]:
        """Return the reader's pages of this many mornings."""
        arm = self.arm
        course = Course(EffectiveConfig(arm.config))
        self._interview(course, arm.answers)
        self._name(course, arm.named)
        pages = []
        for day in range(1, days + 1):
            now = BEGIN + timedelta(days=day - 1)
            found = self._candidates(course, day, now)
            items = self._page(course, found)
            pages.append(self._figures(course, found, items, now))
            self._read(course, day, items, now + timedelta(hours=1))
            if day % WEEK == 0:
                self._learn(course, now + timedelta(hours=2))
            if arm.accepts and day in SUGGESTION_DAYS:
                self._accept(course, now + timedelta(hours=2))
        return pages

    def _interview(self, course: Course, answers: int) -> None:
        """Answer this many questions of the interview, an hour before the first page. Then the loop
        learns."""
        asked: list[Headline] = []
        headlines, waiting = self._headlines()
        rows = np.searchsorted(self.pool.ids, [headline.item_id for headline in headlines])
        for n in range(answers):
            known = self.meanings[np.searchsorted(self.pool.ids, [one.item_id for one in asked])]
            tells = {
                headlines[place].item_id: float(gain)
                for place, gain in enumerate(tells_more(self.meanings[rows], known))
                if self.meanings[rows[place]].any()
            }
            tells |= {one.item_id: 0.0 for one in asked if one.item_id in tells}
            tallies = self._tallies(course, BEGIN)
            seed = f"{self.reader.name}|{n}"
            question = question_choose(
                headlines, waiting=waiting, tallies=tallies, asked=asked, seed=seed, tells=tells
            )
            if question is None:
                break
            asked.append(question.headline)
            item = question.headline.item_id
            said = self.reader.thumbs if self.arm.has_luck and not self.arm.is_sure else self.reader.to_taste
            course.rated[item] = (bool(said[item]), BEGIN - timedelta(hours=1))
        if answers:
            self._learn(course, BEGIN)

    def _name(self, course: Course, count: int) -> None:
        """Name this many articles of each group that the reader likes, older than a week if there are
        many."""
        rows, stamps = self.reader.rows, self.stream.stamps
        old = rows[stamps[rows] <= BEGIN.timestamp() - WEEK * DAY_S]
        old = old if len(old) > NAMED_FROM_MIN else rows
        for group in sorted(self.reader.liked) if count else ():
            rng = np.random.default_rng([self.reader.seed, group])
            for item in rng.permutation(old[self.reader.groups[old] == group])[:count].tolist():
                course.named[item] = BEGIN - timedelta(hours=1)

    def _headlines(self) -> tuple[list[Headline], Counter[str]]:
        """Return the newest headlines of each feed of the last thirty days, and how many each has."""
        until = BEGIN.timestamp()
        waiting: Counter[str] = Counter()
        found = []
        for place in np.argsort(-self.pool.timestamps, kind="stable").tolist():
            item, stamp = self.pool.candidates[place], self.pool.timestamps[place]
            if until - UNREAD_DAYS * DAY_S < stamp <= until:
                waiting[item.source] += 1
                if waiting[item.source] <= FEED_NEWEST:
                    found.append(Headline(item.item_id, item.source, item.item_id, item.item_id))
        return found[:HEADLINES_MAX], waiting

    def _candidates(self, course: Course, day: int, now: datetime) -> DayCandidates:
        stamps = self.pool.timestamps
        until = now.timestamp()
        rows = np.flatnonzero((stamps <= until) & (stamps > until - ITEM_WINDOW_DAYS * DAY_S))
        self.window = rows
        if self.arm.goes:
            rows = rows[~np.isin(self.pool.ids[rows], self._gone(course, now))]
        source_of = self.origins
        counts = Counter(source_of[item][0] for item in course.rated)
        known = {source for source, count in counts.items() if count >= KNOWN_RATINGS}
        known |= {source for source, items in course.exposed.items() if len(items) >= KNOWN_EXPOSURES}
        return DayCandidates(
            as_of=now,
            seed=f"{self.reader.name}|{day}",
            pool=self.pool,
            origins=self.origins,
            rows=rows,
            known=frozenset(known),
            passed=course.shown if self.arm.sinks else frozenset(),
            signals=Signals(similarity=self._similarity(course, rows), taste=self._taste(course, rows, now)),
        )

    def _gone(self, course: Course, now: datetime) -> list[int]:
        """Return the items that have left the reader's page."""
        dealt = {
            item: Dealt(
                rated_at=course.rated.get(item, (False, None))[1],
                pages=len(shown),
                first_shown=shown[0] if shown else None,
                last_shown=shown[-1] if shown else None,
            )
            for item in {*course.rated, *course.pages}
            for shown in [course.pages.get(item, [])]
        }
        return list(articles_gone(dealt, day_begin(now.date(), UTC)))

    def _taste(self, course: Course, rows: Ids, now: datetime) -> TasteSignal | None:
        """Return the reader's examples and the likeness of the candidates, as the digest reads them."""
        if self.arm.config.taste is TasteLevel.OFF:
            return None
        thumbs = [self._example(item, up, at) for item, (up, at) in course.rated.items()]
        named = [
            replace(self._example(item, True, at), weight=NAMED_WEIGHT, named=True)
            for item, at in course.named.items()
        ]
        examples = sorted([*named, *thumbs], key=lambda one: one.at, reverse=True)[:EXAMPLES_MAX]
        ids = self.pool.ids[rows]
        packed = [self.vectors[item] for item in ids.tolist()]
        likeness = (
            self._likeness_by_groups(examples, ids, now)
            if self.arm.knows_groups
            else likeness_made(examples, packed, self.centre, now)
        )
        likeness[np.isin(ids, [one.item_id for one in examples])] = 0.0
        return TasteSignal(
            examples,
            now,
            likeness=ItemValues(ids, likeness),
            vectors=self.vectors,
            centre=self.centre,
        )

    def _likeness_by_groups(self, examples: Sequence[Example], ids: Ids, now: datetime) -> Floats:
        """Return the lean towards each item if two items are alike exactly if they are of one true group."""
        of_item, columns = self.reader.groups, columns_of(examples, now)
        groups = of_item[[one.item_id for one in examples]]
        same = np.equal.outer(groups, groups).astype(np.float64)
        leans = np.equal.outer(of_item[ids], groups) @ pulls_of(same, columns.weight, columns.liked)
        found: Floats = np.clip(leans, -LIKENESS_MAX, LIKENESS_MAX)
        return found

    def _example(self, item: int, up: bool, at: datetime) -> Example:
        one = self.stream.items[item]
        return Example(
            item, one.source, up, at, one.title, tuple(one.categories), one.author, meaning=self.vectors[item]
        )

    def _similarity(self, course: Course, rows: Ids) -> ItemValues:
        ids = self.pool.ids[rows]
        if not any(up for up, _ in course.rated.values()):
            return ItemValues(ids, np.zeros(len(ids)))
        changes = [(self.stream.terms[item], up, 1.0) for item, (up, _) in course.rated.items()]
        profile = profile_of(taste_update(EMPTY, changes))
        found = similarities(profile, vectors_stack([self.packed[row] for row in rows.tolist()]))
        found[np.isin(ids, list(course.rated))] = 0
        return ItemValues(ids, found)

    def _page(self, course: Course, found: DayCandidates) -> list[int]:
        """Return the items of the page, by rank."""
        assert found.rows is not None
        arm = self.arm
        ids, stamps = self.pool.ids[found.rows], self.pool.timestamps[found.rows]
        if arm.name == NEWEST:
            order = np.lexsort((ids, -stamps))[:DIGEST_SIZE]
            return [int(item) for item in ids[order]]
        if arm.name == ORACLE:
            hours = (found.as_of.timestamp() - stamps) / 3600
            fresh = freshness_by_day(day_ages(stamps, found.as_of), hours, arm.config.recency_half_life_hours)
            scores = self.reader.likes[ids] * fresh
            order = np.lexsort((ids, -stamps, -scores))
            totals = scores[order].tolist()
            choices = choices_make(
                ids[order].tolist(), totals, totals, origins=self.origins, stories={}, weights={}
            )
            rules = Rules(novelty=False)
        else:
            return self._composed(found, course.effective)
        composed = compose(choices, rules, found.novelty_draw(course.effective))
        return [place.item_id for place in composed.places]

    def _composed(self, found: DayCandidates, effective: EffectiveConfig) -> list[int]:
        """Return the page that these settings give, by rank."""
        choices = found.choices(found.ranking(effective), effective)
        rules = Rules() if self.arm.has_rules else Rules.score_only(DIGEST_SIZE)
        composed = compose(choices, rules, found.novelty_draw(effective))
        return [place.item_id for place in composed.places]

    def _figures(self, course: Course, found: DayCandidates, items: Sequence[int], now: datetime) -> Page:
        assert found.rows is not None
        reader, first = self.reader, items[:PLACES]
        hours = (now.timestamp() - self.stream.stamps[first]) / 3600
        likes, taste = reader.likes[first], reader.to_taste
        sources = {self.origins[item][0] for item in first}
        page = Page(
            to_taste=_share(taste, [item for item in first if item not in course.shown]),
            first_five=_share(taste, [item for item in items[:5] if item not in course.shown]),
            base=float(taste[self.pool.ids[self.window]].mean()) if len(self.window) else 0.0,
            thumbs=len(course.rated),
        )
        if not first:
            return page
        return replace(
            page,
            liked=float(likes.mean()),
            worth=float((likes * 0.5 ** (hours / WORTH_HALF_HOURS)).mean()),
            sources=PLACES * len(sources) / len(first),
            repeats=float(np.mean([item in course.yesterday for item in first])),
            passed=float(np.mean([item in course.yesterday[:PLACES] for item in first])),
            found=int(taste[[item for item in first if item not in course.shown]].sum()),
            age_days=float(hours.mean() / 24),
            others=self._others(course, found, first),
        )

    def _others(self, course: Course, found: DayCandidates, first: Sequence[int]) -> float | None:
        """Return the share of the first places that would hold other items with taste off.

        It is computed for readers whose thumbs are uninformative. None for others, and if taste is off.
        """
        config = course.effective.config
        if config.taste is TasteLevel.OFF or self.reader.law == REAL:
            return None
        plain = replace(course.effective, config=replace(config, taste=TasteLevel.OFF))
        kept = {*self._composed(found, plain)[:PLACES]}
        return float(np.mean([item not in kept for item in first]))

    def _read(self, course: Course, day: int, items: Sequence[int], at: datetime) -> None:
        """Rate some of the first places, and note the shown items."""
        first = items[:PLACES]
        said = self.reader.to_taste if self.arm.is_sure else self.reader.thumbs
        for item in self.reader.rated_on(day, first, set(course.rated)):
            course.rated[item] = (bool(said[item]), at)
        for item in first:
            course.exposed[self.origins[item][0]].add(item)
        for item in items:
            course.pages[item].append(at)
        course.shown |= {*first}
        course.yesterday = [*items]

    def _rated(self, course: Course) -> list[RatedItem]:
        """Return the reader's thumbs as the planner reads them, newest first."""
        return [rated_item(self.stream, item, up, at) for item, (up, at) in reversed(course.rated.items())]

    def _learn(self, course: Course, now: datetime) -> None:
        """Run the learning loop once; it rests while taste is on."""
        if self.arm.config.taste is not TasteLevel.OFF:
            return
        weights = course.effective.config.source_weights
        moved = {
            change.source: change.after - weights.get(change.source, 1.0)
            for change in learn(self._tallies(course, now), course.effective)
            if change.moved
        }
        course.effective = replace(course.effective, deltas={**course.effective.deltas, **moved})

    def _tallies(self, course: Course, now: datetime) -> list[SourceTally]:
        """Return the reader's thumbs by source."""
        sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
        for item, (up, at) in course.rated.items():
            weight, row = rating_weight(at, now), sums[self.origins[item][0]]
            row[0], row[1], row[2] = row[0] + weight, row[1] + up * weight, row[2] + 1
        return [SourceTally(source, n, likes, int(count)) for source, (n, likes, count) in sums.items()]

    def _accept(self, course: Course, now: datetime) -> None:
        """Accept every change that the planner would propose."""
        rated = list(split_by_time(self._rated(course)).training)[::-1]
        titles = {item.source: item.source for item in rated}
        given = {TOPICS: course.effective.config.topics}
        attributes = attributes_of(rated, titles=titles, given=given)
        chosen = select_changes(
            candidate_changes(attributes, course.effective, rated),
            tastes_of(
                tallies_of(rated, attributes, now),
                SPREAD_PRIOR,
                with_taste=course.effective.config.taste is not TasteLevel.OFF,
            ),
            attributes,
            rated,
            history=DecisionHistory(decided=course.decided),
            limit=SUGGESTIONS_MAX,
        ).chosen
        for one in chosen:
            course.effective = one.change.applied(course.effective)
            course.decided[one.change.field, one.change.target] = (now, True)


def rated_item(stream: Stream, item: int, up: bool, at: datetime) -> RatedItem:
    """Return a thumb as the planner reads it."""
    c = stream.items[item]
    named = tuple(c.categories), c.author
    return RatedItem(item, c.url, c.title, c.text, c.source, up, (), (), at, c.dated_at, item, *named)


def _share(to_taste: np.ndarray[tuple[int], np.dtype[np.bool_]], items: Sequence[int]) -> float | None:
    return float(to_taste[list(items)].mean()) if items else None
