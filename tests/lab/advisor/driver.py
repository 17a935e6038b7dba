"""Simulated readers living through their weeks in the real services, one decision after the other.

Each day: ingest, build the digest, read its top 10, give thumbs with reasons. Each week: the learning loop, a
run of the advisor, and the reader's decisions. The true value of a suggestion is measured on held-out pools
at the moment of the decision, against the config of that moment.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_OID, UUID, uuid5

from advisor.guidance.events import guidance_credit
from advisor.guidance.situations import WRITE
from advisor.models import Run, Step
from advisor.run.request import run_request
from digest.daily.compose import Rules
from digest.daily.onboarding import interview_finish, question_next
from digest.daily.services import digest_build
from digest.feedback.onboarding import Headline
from digest.feedback.services import feedback_set, weights_update
from digest.models import Feedback, Item, Reader
from ranking.entities import EffectiveConfig
from ranking.implicit import NO_LEANS
from ranking.selectors import config_effective
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from suggestions.planner import tastes
from suggestions.proposals import Refusal
from suggestions.selectors import suggestions_pending
from suggestions.services.checks import suggestion_check, suggestion_check_begin
from suggestions.services.resolve import suggestion_accept, suggestion_reject
from tests.lab.advisor.day_one import articles_open, early_answer, reading_of
from tests.lab.advisor.feeds import day_ingest, feeds_open, item_number, readers_subscribe
from tests.lab.world.entities import Asked, Course
from tests.lab.world.laws import PLAIN
from tests.lab.world.people import TOP_K, Person, person_make
from tests.lab.world.truth import Judge, judge_for
from tests.lab.world.world import Floats, World, world_make
from tests.support.changes import change_applied

# A Monday; the readers read at six in the evening, UTC.
BEGIN = datetime(2026, 1, 5, 18, 0, tzinfo=UTC)
WEEK = 7
QUESTIONS = 20
DRIFT_WEEK = 6


class EvaluationRefused(Exception):
    """The database is not one that may be deleted."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting of a simulation: a world, its length, its readers, and the active parts of the product.

    `bar` is the false sign rate up to which the planner asks, if it is not its own.
    """

    seed: int
    weeks: int
    readers: tuple[int, ...]
    loop: bool = True
    advisor: bool = True
    drift: bool = False
    spam: bool = False
    plain_titles: bool = False
    shuffled: bool = False
    law: str = PLAIN
    interview: bool = False
    reading: bool = False
    early: bool = False
    checking: bool = False
    bar: float | None = None


@dataclass(slots=True)
class Life:
    """One reader under way."""

    person: Person
    reader: Reader
    judge: Judge
    first: EffectiveConfig
    likes: dict[bool, Floats]
    looks: Counter[int] = field(default_factory=Counter)
    thumbs: list[int] = field(default_factory=list)
    curve: list[float] = field(default_factory=lambda: [0.0])
    asked: list[Asked] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)
    cost_usd: float = 0.0
    writes: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    right_on: int = 0

    def changed(self, before: EffectiveConfig, day: int, flipped: bool) -> None:
        """Note the day (from 0) of the first change since `before` that helped."""
        after = config_effective(reader_id=self.reader.pk)
        if not self.right_on and after != before and self.judge.gain(before, after, flipped=flipped) > 0:
            self.right_on = day + 1

    def course(self, flipped: bool) -> Course:
        """Return the final result."""
        return Course(
            reader=self.person.number,
            null=self.person.null,
            start=self.judge.value(self.first, flipped=flipped),
            curve=tuple(self.curve),
            thumbs=tuple(self.thumbs),
            asked=tuple(self.asked),
            runs=dict(self.runs),
            cost_usd=self.cost_usd,
            writes=dict(self.writes),
            tokens=self.tokens,
            right_on=self.right_on,
        )


def simulate(setting: Setting, progress: Callable[[int], None] = lambda week: None) -> list[Course]:
    """Live through the setting's weeks in the current database, which must be empty and disposable."""
    if Reader.objects.exists() or Item.objects.exists():
        raise EvaluationRefused("There are readers or items in this database. An evaluation needs its own.")
    if setting.bar is not None:
        tastes.FALSE_SIGN_MAX = setting.bar
    world = world_make(
        setting.seed,
        setting.weeks * WEEK,
        spam=setting.spam,
        plain_titles=setting.plain_titles,
        law=setting.law,
    )
    feeds = feeds_open(now=BEGIN)
    lives = [life_begin(world, number, setting.shuffled) for number in setting.readers]
    numbers: dict[int, int] = {}
    for day in range(setting.weeks * WEEK):
        now = BEGIN + timedelta(days=day)
        day_ingest(world=world, feeds=feeds, day=day, now=now)
        numbers |= numbers_new(now)
        if setting.interview and day == 0:
            for life in lives:
                interview_answer(life, numbers, now)
        flipped = setting.drift and day // WEEK >= DRIFT_WEEK
        for life in lives:
            page_read(life, world, numbers, now, flipped, setting)
        if day % WEEK == WEEK - 1:
            week = day // WEEK + 1
            ends_flipped = setting.drift and week >= DRIFT_WEEK
            for life in lives:
                _advise(life, setting, numbers, week, now, ends_flipped)
            guidance_credit(now=now)
            progress(week)
    return [life.course(setting.drift) for life in lives]


def numbers_new(now: datetime) -> dict[int, int]:
    """Return the numbers in the stream of the items first seen at `now`, by id."""
    rows = Item.objects.filter(first_seen_at=now).values_list("pk", "url")
    return {pk: item_number(url) for pk, url in rows}


def life_begin(world: World, number: int, shuffled: bool) -> Life:
    person = person_make(world, number)
    likes = {flipped: person.likes(world.stream, flipped=flipped) for flipped in (False, True)}
    if shuffled:
        person, likes = person.shuffled(), {key: person.dealt_anew(p) for key, p in likes.items()}
    # The id is the same in every run, because random draws depend on it.
    reader = Reader(pk=uuid5(NAMESPACE_OID, person.name), username=person.name)
    reader.set_unusable_password()
    reader.save()
    readers_subscribe(reader, now=BEGIN)
    # The arrays age by the hour.
    edit = ConfigEdit(topics=person.start_topics, recency_by_day=False)
    config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=BEGIN)
    return Life(person, reader, judge_for(world, person), config_effective(reader_id=reader.pk), likes)


def interview_answer(life: Life, numbers: dict[int, int], now: datetime) -> None:
    """Answer the twenty questions of the first evening, by this reader's taste.

    Answered items are not rated again. The answers do not count as a week's thumbs.
    """
    asked: list[Headline] = []
    answered: list[int] = []
    for turn in range(QUESTIONS):
        at = now + timedelta(seconds=5 * turn)
        question = question_next(reader=life.reader, asked=asked, current=None, now=at)
        if question is None:
            break
        item_id = question.headline.item_id
        number = numbers[item_id]
        useful = bool(life.person.like_at[number] < life.likes[False][number])
        feedback_set(
            reader=life.reader,
            item_id=item_id,
            useful=useful,
            now=at,
            origin=Feedback.Origin.INTERVIEW,
            propensity=question.propensity,
        )
        asked.append(question.headline)
        answered.append(item_id)
    before = config_effective(reader_id=life.reader.pk)
    interview_finish(reader=life.reader, item_ids=answered, now=now + timedelta(seconds=5 * QUESTIONS))
    life.changed(before, 0, flipped=False)


def page_read(
    life: Life, world: World, numbers: dict[int, int], now: datetime, flipped: bool, setting: Setting
) -> None:
    """Build the day's digest, look at its top 10, and give the thumbs this reader gives."""
    person, day = life.person, (now - BEGIN).days
    digest = digest_build(reader=life.reader, date=now.date(), now=now, rules=Rules.score_only(TOP_K))
    shown = list(digest.impressions.order_by("rank").values_list("item_id", "rank"))
    rated = set(
        Feedback.objects.filter(reader=life.reader, item_id__in=[pk for pk, _ in shown]).values_list(
            "item_id", flat=True
        )
    )
    given = 0
    for item_id, rank in shown:
        number = numbers[item_id]
        if item_id in rated:
            continue
        useful = person.thumb(number, rank, life.looks[number], life.likes[flipped][number])
        life.looks[number] += 1
        if useful is not None:
            reason = person.reason(world.stream, number, useful, person.feels(flipped))
            tags = [reason] if reason else None
            feedback_set(reader=life.reader, item_id=item_id, useful=useful, now=now, tags=tags)
            given += 1
    if len(life.thumbs) <= day // WEEK:
        life.thumbs.append(0)
    life.thumbs[-1] += given
    if setting.reading:
        articles_open(life.reader, person, digest, numbers, life.likes[flipped], now)
    if setting.early:
        before = config_effective(reader_id=life.reader.pk)
        early_answer(life.reader, person, life.judge, now, flipped=flipped)
        life.changed(before, day, flipped)


def _advise(
    life: Life, setting: Setting, numbers: dict[int, int], week: int, now: datetime, flipped: bool
) -> None:
    """The week's end: the learning loop, the advisor, the reader's answers, and the truth about it all."""
    before = config_effective(reader_id=life.reader.pk)
    if setting.loop:
        weights_update(reader_id=life.reader.pk, now=now)
    if setting.advisor:
        result = run_request(
            reader=life.reader, trigger=Run.Trigger.SCHEDULED, now=now, force=True, inline=True
        )
        silent = "silent" if result.status == "completed" and not result.suggestions_created else ""
        life.runs[silent or result.status] += 1
        _audit(life, result.run_id)
        for suggestion in suggestions_pending(reader_id=life.reader.pk):
            if setting.checking:
                suggestion_checked(life, suggestion, numbers, now, flipped)
            life.asked.append(suggestion_decide(life, suggestion, week, now, flipped))
    life.changed(before, week * WEEK - 1, flipped)
    leans = reading_of(life.reader) if setting.reading else NO_LEANS
    value = life.judge.value(config_effective(reader_id=life.reader.pk), flipped=flipped, leans=leans)
    life.curve.append(value - life.judge.value(life.first, flipped=flipped))


def _audit(life: Life, run_id: UUID | None) -> None:
    """Add the cost of a run, and the outcomes of its writes."""
    if run_id is None:
        return
    run = Run.objects.get(pk=run_id)
    life.cost_usd += float(run.cost_usd)
    life.tokens += run.input_tokens + run.output_tokens
    life.writes.update(Step.objects.filter(run=run, tool=WRITE).values_list("error_code", flat=True))


def suggestion_checked(
    life: Life, suggestion: Suggestion, numbers: dict[int, int], now: datetime, flipped: bool
) -> bool:
    """Answer the headlines that check a suggestion as this reader likes the articles.

    Return whether there were enough of them.
    """
    asked = suggestion_check_begin(reader=life.reader, suggestion_id=suggestion.pk, now=now)
    if isinstance(asked, Refusal):
        return False
    likes = life.likes[flipped]
    number_of = {one.item_id: numbers[one.item_id] for one in asked.headlines}
    answers = {pk: bool(life.person.like_at[n] < likes[n]) for pk, n in number_of.items()}
    suggestion_check(reader=life.reader, suggestion_id=suggestion.pk, answers=answers, now=now)
    suggestion.refresh_from_db()
    return True


def suggestion_decide(life: Life, suggestion: Suggestion, week: int, now: datetime, flipped: bool) -> Asked:
    """Accept or reject one suggestion as this reader would."""
    before = config_effective(reader_id=life.reader.pk)
    kind, target = suggestion.suggestion_type, suggestion.target_key
    gain = life.judge.gain(
        before, change_applied(before, kind, target, suggestion.suggested_value), flipped=flipped
    )
    if suggestion.status == Suggestion.Status.WITHDRAWN:
        p_helpful, confidence = suggestion.p_helpful, suggestion.confidence
        return Asked(week, kind, target, gain, False, p_helpful, confidence, withdrawn=True)
    accepts = life.person.accepts(week, target, gain > 0)
    act = suggestion_accept if accepts else suggestion_reject
    act(reader_id=life.reader.pk, suggestion_id=suggestion.pk, now=now)
    return Asked(week, kind, target, gain, accepts, suggestion.p_helpful, suggestion.confidence)
