"""Preview changes before they are written: today's digest, and trials of drafts and configs.

A preview composes today's page twice at the same moment: with the settings as they are, and with a change.
Both pages have the same articles and ratings, so everything that differs is the effect of the change. The
page that the reader saw last may be an hour older. A preview says at how many places it differs from one made
now. Rated items stay in place. A trial weighs a draft against the reader's ratings.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext

from digest.daily.candidates import DayCandidates, digest_candidates
from digest.daily.compose import PlacedItem, Rules, compose
from digest.days import day_begin, day_of
from digest.entities import DIGEST_SIZE, RatedItem
from digest.feedback.selectors import feedback_recent, feedback_source_counts, reason_tags
from digest.items.selectors import item_is_hidden, mutes_in_force
from digest.models import Feedback, Impression, Item, Reader
from digest.places import turn_let_pass, turn_shared
from ranking.config_body import Body, body_changes, body_default, body_effective, effective_body
from ranking.entities import Config, EffectiveConfig, Mute
from ranking.mutes import MuteFilter
from ranking.selectors import config_bodies, config_effective
from ranking.source_rules import is_past_shelf
from ranking.taste.entities import TasteLevel
from suggestions.changes.change import Change
from suggestions.changes.registry import KINDS
from suggestions.changes.topics import rows_saying
from suggestions.critique import (
    DraftRecord,
    Issue,
    PastOutcome,
    confidence_after,
    critique,
    duplicates,
    refused_issue,
)
from suggestions.models import Outcome, Suggestion
from suggestions.planner.by_taste import taste_counting
from suggestions.planner.evidence import WeighedChange, change_weigh
from suggestions.planner.forecasts import Forecast, forecast_of, split_by_time
from suggestions.proposals import Draft, Facts, Preview, PreviewItem, Refusal, Target, WeekEffect
from suggestions.rules import change_parse, change_wished, check, names_refusal, visibility_refusal
from suggestions.selectors import facts_for
from suggestions.week import week_for

# A digest by rank, each item with its place before and after.
Side = tuple[PreviewItem, ...]
Names = tuple[str, str]
Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of today's digest, the same for every config that is tried on it.

    `rated` and `drawn` are the items that stay, by rank; `names` has (title, source) by item. `placed` are
    the items of today's page as it is stored. `muted` are the mutes in force on `date`; their items are left
    out.
    `rated_items` are all that were rated today. Another item replaces those that the settings hide, and those
    called not useful, `disliked` (`digest.daily.store`).
    """

    material: DayCandidates
    rated: Mapping[int, PlacedItem]
    drawn: Mapping[int, PlacedItem]
    names: Mapping[int, tuple[str, str]]
    date: date
    muted: tuple[Mute, ...] = ()
    placed: tuple[int, ...] = ()
    rated_items: tuple[Item, ...] = ()
    disliked: frozenset[int] = frozenset()

    @property
    def stored(self) -> list[int]:
        """Return the items of today's page as the reader sees it, by rank, without those folded away."""
        return [item for item in self.placed if item not in self.disliked][:DIGEST_SIZE]

    def rated_off_page(self, config: Config) -> set[int]:
        """Return which of the items rated today are not on the page under these settings.

        A mute in force hides them, too, which settings of an earlier version may lack.
        """
        mutes = MuteFilter((*config.mutes, *self.muted), self.date)
        lives, now = config.shelf_lives, self.material.as_of
        hidden = {
            item.pk
            for item in self.rated_items
            if item_is_hidden(mutes, item) or is_past_shelf(lives, item.source_id, item.dated_at, now)
        }
        return hidden | self.disliked


def suggestion_preview(*, suggestion: Suggestion, now: datetime) -> Preview:
    """Return the preview of accepting `suggestion` now; twelve queries at most."""
    previews = suggestion_previews(reader_id=suggestion.reader_id, suggestions=[suggestion], now=now)
    return previews[suggestion.pk]


def suggestion_previews(
    *, reader_id: UUID, suggestions: Sequence[Suggestion], now: datetime
) -> dict[int, Preview]:
    """Return the preview of accepting each suggestion alone, by id. The number of queries is constant."""
    if not suggestions:
        return {}
    before = config_effective(reader_id=reader_id)
    afters = [row.change.applied(before) for row in suggestions]
    previews = previews_of(reader_id=reader_id, before=before, afters=afters, now=now)
    return {row.pk: preview for row, preview in zip(suggestions, previews, strict=True)}


def suggestion_side_by_side(*, suggestion: Suggestion, now: datetime) -> tuple[Side, Side]:
    """Return today's whole digest as it is and as with `suggestion` accepted; twelve queries at most."""
    before = config_effective(reader_id=suggestion.reader_id)
    after = suggestion.change.applied(before)
    return configs_side_by_side(reader_id=suggestion.reader_id, before=before, after=after, now=now)


def configs_side_by_side(
    *, reader_id: UUID, before: EffectiveConfig, after: EffectiveConfig, now: datetime
) -> tuple[Side, Side]:
    """Return today's whole digest under each of two configs; eleven queries at most."""
    today = _today(reader_id, now, [before, after])
    old, new = _orders(today, [before, after])
    was, becomes = ({item: n for n, item in enumerate(order, start=1)} for order in (old, new))
    left, right = (
        tuple(PreviewItem(item, *today.names[item], was.get(item), becomes.get(item)) for item in order)
        for order in (old, new)
    )
    return left, right


def previews_of(
    *,
    reader_id: UUID,
    before: EffectiveConfig,
    afters: Sequence[EffectiveConfig],
    now: datetime,
) -> list[Preview]:
    """Return the items of today's digest that differ in place between `before` and each of `afters`.

    At most eleven queries for any number of configs.
    """
    today = _today(reader_id, now, [before, *afters])
    old, *orders = _orders(today, [before, *afters])
    return [_preview(today, old, order) for order in orders]


def _today(reader_id: UUID, now: datetime, configs: Sequence[EffectiveConfig]) -> _Inputs:
    """Return the inputs of today's digest; taste is among them if it counts in one of `configs`."""
    tasting = next((one for one in configs if one.config.taste is not TasteLevel.OFF), configs[0])
    reader = Reader.objects.get(pk=reader_id)
    day = day_of(now, reader.zone)
    # As in `digest.daily.store`, items rated today keep their place.
    begin = day_begin(day, reader.zone)
    rating = Feedback.objects.filter(reader_id=reader_id, article=OuterRef("item__article"), at__gte=begin)
    shown = Impression.objects.filter(digest__reader_id=reader_id, digest__date=day)
    disliking = Exists(rating.filter(useful=False))
    rated_as = shown.annotate(is_rated=Exists(rating), is_disliked=disliking)
    rows = list(rated_as.select_related("item").order_by("rank"))
    material = digest_candidates(reader=reader, date=day, now=now, effective=tasting)
    rated: dict[int, PlacedItem] = {}
    drawn: dict[int, PlacedItem] = {}
    names = {c.item_id: (c.title, c.source) for c in material.pool.candidates}
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    hidden = {row.item_id for row in rows if item_is_hidden(mutes, row.item)}
    for row in rows:
        story = material.story_of(row.item.article)
        place = PlacedItem(row.item_id, row.item.source_id, story, row.propensity)
        if row.is_rated:
            rated[row.rank] = place
        elif row.slot == Impression.Slot.NOVELTY and row.item_id not in hidden:
            drawn[row.rank] = place
        names[row.item_id] = (row.item.title, row.item.source_id)
    placed = tuple(row.item_id for row in rows if row.item_id not in hidden)
    rated_items = tuple(row.item for row in rows if row.is_rated)
    disliked = frozenset(row.item_id for row in rows if row.is_disliked)
    return _Inputs(material, rated, drawn, names, day, mutes.mutes, placed, rated_items, disliked)


def _orders(today: _Inputs, configs: Sequence[EffectiveConfig]) -> list[list[int]]:
    """Return the items of the digest under each config, by rank. It searches for the topics of all at once.

    A source whose weight differs from the first config's counts as decided on, so taste does not work against
    it.
    """
    orders = []
    today.material.pool.search_for([one.config for one in configs])
    for config in turn_shared(configs):
        made = today.material.deciding(config.sources_moved(configs[0]))
        ranking = made.ranking(config)
        turn_let_pass()
        choices = made.choices(ranking, config)
        turn_let_pass()
        hides = MuteFilter([mute for mute in config.config.mutes if mute not in today.muted], today.date)
        hidden = made.hidden_by(hides)
        off_page = today.rated_off_page(config.config)
        composed = compose(
            [choice for choice in choices if choice.item_id not in hidden],
            Rules(DIGEST_SIZE + len(off_page)),
            made.novelty_draw(config),
            rated=today.rated,
            drawn={rank: place for rank, place in today.drawn.items() if place.item_id not in hidden},
            placed=today.placed,
        )
        orders.append([place.item_id for place in composed.places if place.item_id not in off_page])
    return orders


def _preview(today: _Inputs, old: Sequence[int], new: Sequence[int]) -> Preview:
    before, after = ({item: n for n, item in enumerate(order, start=1)} for order in (old, new))
    changed = [
        PreviewItem(item, *today.names[item], before.get(item), after.get(item))
        for item in {**before, **after}
        if before.get(item) != after.get(item)
    ]
    return Preview(
        enters=tuple(sorted((i for i in changed if i.before is None), key=lambda i: i.after or 0)),
        leaves=tuple(sorted((i for i in changed if i.after is None), key=lambda i: i.before or 0)),
        moves=tuple(sorted((i for i in changed if i.before and i.after), key=lambda i: i.after or 0)),
        shown=len(old),
        free=len({*old} - {place.item_id for place in today.rated.values()}),
        since=sum(stored != made for stored, made in zip_longest(today.stored, old)),
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """A weighed change with its ratings and its effect on the last days.

    `ratings` are the newest ones about it. Of `ratings_considered` (for a topic: the newest 500), `rated` are
    about it, and `liked` of those positive. `refusal` is the rules' answer to the best evidence, `cited`,
    `None` if they permit it.
    """

    weighed: WeighedChange
    ratings: tuple[RatedItem, ...]
    liked: int
    rated: int
    ratings_considered: int
    effect: WeekEffect
    refusal: Refusal | None
    cited: tuple[RatedItem, ...]

    @property
    def names(self) -> dict[str, int]:
        """Return the other names of the change's topic, each with the number of rated items that say it.

        Not how many of them were liked: whoever chooses names by that finds topics in shuffled thumbs.
        """
        names = self.weighed.change.names
        found = rows_saying(names, self.weighed.evidence.rated)
        return {name: len(rows) for name, rows in zip(names, found, strict=True)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configs by name, their differences, the measured effect, and the digest before and after.

    The effect is measured on the holdout ratings; between two versions of the past it is a description, since
    those ratings may have led to the change.
    """

    names: Names
    changes: list[dict[str, Any]]
    forecast: Forecast
    preview: Preview


@dataclass(frozen=True, slots=True)
class Critique:
    """The issues of one draft. `p_helpful` is `None` for one that is no change at all."""

    suggestion_type: str
    target: str
    p_helpful: float | None
    confidence: str
    issues: tuple[Issue, ...]


def change_try(*, reader_id: UUID, draft: Draft, now: datetime) -> Trial | Refusal:
    """Try the change of `draft`; a source without a value moves by the largest step. Writes nothing.

    A refusal means that the draft is no change at all. A fixed number of queries.
    """
    facts = facts_for(reader_id=reader_id, now=now, drafts=[draft])
    change = change_parse(draft, facts)
    if isinstance(change, Refusal):
        return change
    if wished := change_wished(change, facts):
        change = replace(change, words=wished.words)
    weighed = change_weigh(reader_id=reader_id, change=change, effective=facts.effective, now=now)
    ratings = change.among(weighed.evidence.rated)
    sources = feedback_source_counts(reader_id=reader_id) if change.kind.of_source else {}
    liked, rated, _, ratings_considered = _counts(change, ratings, weighed, sources)
    fitting = tuple(item for item in ratings if item.useful is change.kind.liked)
    cited = wished.evidence if wished else fitting
    best = replace(draft, evidence_urls=tuple(item.url for item in cited))
    week = week_for(reader_id=reader_id, before=facts.effective, changes=[change], now=now)
    (effect,) = week.effects([change])
    unsaid = names_refusal(change, weighed.evidence.rated, effect)
    refusal = unsaid or _refusal(best, facts, weighed, cited) or visibility_refusal(change, effect)
    return Trial(weighed, ratings, liked, rated, ratings_considered, effect, refusal, cited)


def configs_compare(
    *, reader_id: UUID, before: int | None, after: int | None, drafts: Sequence[Draft], now: datetime
) -> Comparison | Refusal:
    """Compare two versions of the reader's config, or the current one with the changes of `drafts` together.

    Without numbers the current config is compared with the one before it. Refuses an unknown version with
    `version_not_found`, and an invalid change with a rule's code. At most twenty queries.
    """
    facts = facts_for(reader_id=reader_id, now=now, drafts=drafts)
    pair = _bodies_proposed(drafts, facts) if drafts else _versions(reader_id, before, after, facts)
    if isinstance(pair, Refusal):
        return pair
    names, old, new = pair
    left, right = body_effective(old), body_effective(new)
    holdout = split_by_time(feedback_recent(reader_id=reader_id)).holdout
    signal = taste_counting(reader_id=reader_id, configs=[left, right], now=now)
    (preview,) = previews_of(reader_id=reader_id, before=left, afters=[right], now=now)
    forecast = forecast_of(holdout, left, right, now=now, seed=f"{reader_id}:{names}", taste=signal)
    return Comparison(names, body_changes(old, new), forecast, preview)


def drafts_critique(
    *, reader_id: UUID, run_id: UUID, drafts: Sequence[Draft], now: datetime
) -> list[Critique]:
    """Return a critique of each draft, in order; reads only.

    Each draft is weighed as a write would weigh it, with as many queries; ten more for all of them.
    """
    urls = {url for draft in drafts for url in draft.evidence_urls}
    facts = facts_for(reader_id=reader_id, now=now, run_id=run_id, drafts=drafts, urls=urls)
    changes = [change_parse(draft, facts) for draft in drafts]
    accepted = {n: change for n, change in enumerate(changes) if isinstance(change, Change)}
    past = outcomes_about(reader_id=reader_id, keys={change.target for change in accepted.values()})
    doubles = duplicates(accepted)
    counts = feedback_source_counts(reader_id=reader_id)
    kinds = {tag.slug: tag.kind for tag in reason_tags()}
    found = []
    for n, (draft, change) in enumerate(zip(drafts, changes, strict=True)):
        if isinstance(change, Refusal):
            refused = (refused_issue(change),)
            found.append(Critique(draft.suggestion_type, change.target, None, "low", refused))
            continue
        weighed = change_weigh(reader_id=reader_id, change=change, effective=facts.effective, now=now)
        record = _record(draft, change, weighed, facts, counts, past.get((change.field, change.target), ()))
        issues = (*([doubles[n]] if n in doubles else []), *critique(record, kinds, now))
        confidence = confidence_after(weighed.confidence, issues)
        found.append(Critique(change.suggestion_type, change.target, weighed.p_helpful, confidence, issues))
    return found


def outcomes_about(*, reader_id: UUID, keys: Collection[str]) -> dict[Target, tuple[PastOutcome, ...]]:
    """Return the outcomes of the reader's earlier suggestions about each of the targets; one query."""
    about = Outcome.objects.filter(reader_id=reader_id, target_key__in=keys)
    rows = about.exclude(suggestion__status=Suggestion.Status.TAKEN_BACK).order_by("-decided_at")
    found: defaultdict[Target, list[PastOutcome]] = defaultdict(list)
    for kind, key, outcome, at in rows.values_list("suggestion_type", "target_key", "outcome", "decided_at"):
        found[str(KINDS[kind].field), key].append(PastOutcome(kind, outcome, at))
    return {target: tuple(past) for target, past in found.items()}


def _refusal(
    draft: Draft, facts: Facts, weighed: WeighedChange, rated: Sequence[RatedItem]
) -> Refusal | None:
    """Return the refusal that writing `draft` now would get, with `rated` as the ratings it may cite."""
    known = {item.url: item for item in rated}
    verdict = check(draft, replace(facts, rated=known))
    return verdict if isinstance(verdict, Refusal) else weighed.refusal(verdict)


def _counts(
    change: Change, about: Sequence[RatedItem], weighed: WeighedChange, sources: Counts
) -> tuple[int, int, int, int]:
    """Return (liked, rated) of the target and of all: every rating for a source, else the newest."""
    if not change.kind.of_source:
        newest = weighed.evidence.rated
        return sum(i.useful for i in about), len(about), sum(i.useful for i in newest), len(newest)
    liked, rated = sources.get(change.target, (0, 0))
    return liked, rated, sum(pair[0] for pair in sources.values()), sum(pair[1] for pair in sources.values())


def _record(
    draft: Draft,
    change: Change,
    weighed: WeighedChange,
    facts: Facts,
    sources: Counts,
    past: tuple[PastOutcome, ...],
) -> DraftRecord:
    cited = tuple(facts.rated[url] for url in dict.fromkeys(draft.evidence_urls) if url in facts.rated)
    about = change.among(weighed.evidence.rated)
    liked, rated, all_liked, all_rated = _counts(change, about, weighed, sources)
    return DraftRecord(
        change=change.with_evidence(cited),
        target_ratings=about,
        liked=liked,
        rated=rated,
        all_liked=all_liked,
        all_rated=all_rated,
        gain=weighed.forecast.gain,
        past=past,
        refusal=_refusal(draft, facts, weighed, cited),
    )


def _bodies_proposed(drafts: Sequence[Draft], facts: Facts) -> tuple[Names, Body, Body] | Refusal:
    effective = facts.effective
    for draft in drafts:
        change = change_parse(draft, facts)
        if isinstance(change, Refusal):
            return change
        effective = change.applied(effective)
    return ("current", "proposed"), effective_body(facts.effective), effective_body(effective)


def _versions(
    reader_id: UUID, before: int | None, after: int | None, facts: Facts
) -> tuple[Names, Body, Body] | Refusal:
    current = facts.effective.config.version
    newer = current if after is None else after
    older = max(0, newer - 1) if before is None else before
    bodies = {0: body_default()} | config_bodies(reader_id=reader_id, versions=[older, newer])
    bodies[current] = effective_body(facts.effective)
    for number in (older, newer):
        if number not in bodies:
            return Refusal(
                "version_not_found",
                gettext("There is no version {number}; the current one is {current}.").format(
                    number=number, current=current
                ),
                str(number),
            )
    return (
        (gettext("version {older}").format(older=older), gettext("version {newer}").format(newer=newer)),
        bodies[older],
        bodies[newer],
    )
