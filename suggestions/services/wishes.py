"""Wishes in a reader's own words: drafts of changes with the items they are about, and accepting one.

`wished_searches` drafts those about saved searches.

A draft is not stored: the signed text that names it goes to the reader's page and comes back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import structlog
from django.utils.translation import gettext, gettext_noop

from digest.days import day_of
from digest.items.selectors import items_window, reader_source_titles, subscribed_own_names, subscribed_titles
from digest.items.taken_in import taken_of
from digest.models import Reader
from digest.places import articles_shared
from digest.signed import DRAFT_LIFETIME_S, values_read, values_sign
from ranking.common.text import words_cut
from ranking.config_body import body_changes, effective_body
from ranking.config_words import change_words
from ranking.entities import Candidate, EffectiveConfig, InvalidSetting, RankingError
from ranking.mutes import PHRASE, WORD
from ranking.mutes import SOURCE as MUTE_SOURCE
from ranking.selectors import config_effective, config_versions_by_number, reading_once
from ranking.services import Cause, body_change
from suggestions.changes.boosts import BOOST_WORD, REDUCE_WORD
from suggestions.changes.change import Change
from suggestions.changes.registry import change_of_dict
from suggestions.changes.topics import ADD_TOPIC
from suggestions.preview import previews_of
from suggestions.proposals import Facts, Preview, Refusal
from suggestions.services.wish_models import wishes_by_model
from suggestions.services.wished_searches import (
    SearchDraft,
    search_draft_accept,
    searches_draft,
    searches_draft_again,
)
from suggestions.wishes.changes import change_back, change_of, until_note
from suggestions.wishes.lookup import Lookup
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.wish import WISH_CHARS_MAX, WISHES_MAX, Names, Question, Wish
from suggestions.wishes.written import wishes_of_line

log = structlog.get_logger(__name__)
SALT = "suggestions.services.wishes"
# Of these so many at least by meaning, if there are any.
ITEMS_SHOWN, MEANT_SHOWN = 5, 2
# So much of a reader's words is quoted in a question.
ASKED_CHARS = 80
# What a reader calls a subject counts by meaning, too.
SUBJECTS = (ADD_TOPIC, BOOST_WORD, REDUCE_WORD)
# How far back the last change is looked for that is still in force.
VERSIONS_LOOKED_AT = 10
_CHANGED = gettext_noop("Your settings changed meanwhile, so nothing was applied. Ask again in words.")


@dataclass(frozen=True, slots=True)
class WishDraft:
    """A drafted change of a wish: its effect in words, and the items it is about.

    `signed` names it when it is accepted. `items` are the newest of the `about` items of the last seven days.
    Those in `by_meaning` clearly are about the subject without saying it; they come last. Before them stand
    those of `in_text`, which say it in their text alone, where a word may mean something else. `stays` counts
    items by meaning beside a mute, which hides none of them, because it knows words alone. `is_likely`: the
    words leave it open, and the answer's question has the other meanings.
    """

    signed: str
    change: Change
    sentence: str
    label: str
    items: tuple[Candidate, ...]
    about: int
    preview: Preview
    by_meaning: frozenset[int] = frozenset()
    in_text: frozenset[int] = frozenset()
    stays: int = 0
    is_likely: bool = False

    @property
    def is_word(self) -> bool:
        """Return whether the change is about words that an article says."""
        return self.change.kind in SUBJECTS or _mutes_words(self.change)


@dataclass(frozen=True, slots=True)
class WishAnswer:
    """The answer to a wish: drafts, or a question. `notes` name the parts that were left out.

    `searches` are the drafts about saved searches. `left` are the words of wishes that are too many for one
    time.
    """

    words: str
    drafts: tuple[WishDraft, ...] = ()
    question: Question | None = None
    notes: tuple[str, ...] = ()
    searches: tuple[SearchDraft, ...] = ()
    left: str = ""


@dataclass(frozen=True, slots=True)
class WishAccepted:
    """A change that took effect, in words, with the version of the settings that it made.

    The version is `None` for a change of saved searches, which are no settings.
    """

    sentence: str
    config_version: int | None


@dataclass(frozen=True, slots=True)
class WishOffer:
    """A line in the reader's own words that asks for changes, and each of these in words."""

    words: str
    sentences: tuple[str, ...]


def wishes_draft(*, reader: Reader, words: str, now: datetime, by_model: bool = True) -> WishAnswer | Refusal:
    """Return the changes that `words` ask for, as drafts. A constant number of queries. Changes nothing.

    If the grammar understands nothing and a model is configured, the model is asked, outside any transaction,
    and only its spend is stored. Refuses with `words_missing` and `words_too_long`.
    """
    words = " ".join(words.replace("\0", " ").split())
    if not words:
        return Refusal("words_missing", gettext("Write what you want more or less of."))
    if len(words) > WISH_CHARS_MAX:
        message = gettext(
            "At most {wish_chars_max} characters; you wrote {words}. Ask for less at a time."
        ).format(wish_chars_max=WISH_CHARS_MAX, words=len(words))
        return Refusal("words_too_long", message)
    searches = searches_draft(reader=reader, words=words, now=now)
    if not searches.rest:
        return WishAnswer(words, notes=searches.notes, searches=searches.drafts, left=searches.left)
    with reading_once():
        answer = _settings_draft(reader, words, searches.rest, now, by_model=by_model)
    notes = (*searches.notes, *answer.notes)
    left = "; ".join(filter(None, (searches.left, answer.left)))
    return replace(answer, notes=notes, searches=searches.drafts, left=left)


def wish_offer(*, reader: Reader, lines: Sequence[str], now: datetime) -> WishOffer | None:
    """Return the first of these lines that clearly asks for changes and for nothing else, or `None`.

    The grammar alone reads them. Three queries, or none without a line. Changes nothing.
    """
    if not lines:
        return None
    facts, names = _known(reader)
    lookup = Lookup(names)
    for line in lines:
        wishes = wishes_of_line(line, lookup, day_of(now, reader.zone))
        sentences = tuple(
            sentence for wish in wishes if (sentence := _offered(wish, facts, dict(names.sources)))
        )
        if sentences:
            return WishOffer(line, sentences)
    return None


def _offered(wish: Wish, facts: Facts, titles: dict[str, str]) -> str:
    """Return the change that a wish becomes, in words, or "" if it changes nothing."""
    change = change_of(wish, facts)
    if not isinstance(change, Change):
        return ""
    try:
        after = change.saved(facts.effective)
    except InvalidSetting:
        return ""
    return _sentence(change, facts.effective, after, titles)


def _known(reader: Reader) -> tuple[Facts, Names]:
    """Return the reader's settings, and the names that a wish may use, without those of recent items."""
    titles = subscribed_titles(reader_id=reader.pk)
    facts = Facts(effective=config_effective(reader_id=reader.pk), sources=frozenset(titles))
    config, called = facts.effective.config, subscribed_own_names(reader_id=reader.pk)
    topics = (*config.topics, *config.keyword_boosts)
    muted = tuple(mute.value for mute in config.mutes)
    others = config.other_names
    names = Names(titles, topics, config.topics, called=called, muted=muted, other_names=others)
    return facts, names


def _settings_draft(reader: Reader, words: str, asked: str, now: datetime, *, by_model: bool) -> WishAnswer:
    """Return the drafts for the part `asked` of the `words`, which is about settings."""
    facts, names = _known(reader)
    items = items_window(reader_id=reader.pk, now=now).candidates
    names = replace(names, items=items)
    today = day_of(now, reader.zone)
    reading = wishes_read(asked, names, today)
    if reading.unread and by_model:
        found = wishes_by_model(reader_id=reader.pk, words=asked, names=names, today=today, now=now)
        reading = found or reading
    notes, changes = list(reading.notes), _last_change_back(reader.pk, facts) if reading.undoes else []
    likely = list[Change]()
    for wish in (*reading.wishes, *reading.likely):
        change = change_of(wish, facts)
        if isinstance(change, Refusal):
            notes.append(change.message)
            continue
        changes.append(change)
        likely += [change] if wish in reading.likely else []
        notes += [note] if (note := until_note(wish)) else []
    drafts, problems = _drafts(reader.pk, words, changes, items, facts.effective, now)
    drafts = tuple(replace(draft, is_likely=draft.change in likely) for draft in drafts)
    question = _other_meanings(reading.question, drafts) if reading.question else None
    return WishAnswer(words, drafts, question, (*notes, *problems), left=reading.left)


def _other_meanings(question: Question, drafts: Sequence[WishDraft]) -> Question | None:
    """Return the question without its likely answer, if that is drafted; `None` if nothing is left to ask."""
    first, *others = question.choices or (None,)
    if first is None or not first.leads or not any(draft.is_likely for draft in drafts):
        return question
    text = gettext("Or did you mean something else by “{words}”?").format(
        words=words_cut(question.part, ASKED_CHARS)
    )
    return replace(question, text=text, choices=tuple(others)) if others or question.others else None


def _last_change_back(reader_id: UUID, facts: Facts) -> list[Change]:
    """Return the changes that take back the newest version of which something is in force.

    None if it changed more than a wish may. Two queries.
    """
    newest = facts.effective.config.version
    numbers = range(newest, max(newest - VERSIONS_LOOKED_AT, 0), -1)
    versions = config_versions_by_number(reader_id=reader_id, versions=numbers)
    for row in (versions[number] for number in numbers if number in versions):
        back = [change for one in row.changes if (change := change_back(one, facts.effective))]
        if back and row.cause != Cause.REVERT:
            return back if len(back) == len(row.changes) <= WISHES_MAX else []
    return []


def wish_drafts_again(*, reader: Reader, signed: Sequence[str], now: datetime) -> WishAnswer:
    """Return the drafts that can still be accepted, with fresh figures. As many queries as for one."""
    effective = config_effective(reader_id=reader.pk)
    read = [found for one in signed if (found := _signed_read(one, reader.pk)) is not None]
    words = read[0][1] if read else ""
    changes = [change for change, _ in read if change.state_in(effective) == change.before]
    items = items_window(reader_id=reader.pk, now=now).candidates
    drafts, problems = _drafts(reader.pk, words, changes, items, effective, now)
    searches = searches_draft_again(reader=reader, signed=list(signed), now=now)
    return WishAnswer(words, drafts, None, problems, searches)


def wish_accept(*, reader: Reader, signed: str, now: datetime) -> WishAccepted | Refusal:
    """Make the change of a draft. The words stay with the version of the settings.

    Refuses with `draft_invalid` if it is no draft of this reader or too old, with `config_changed` if its
    target has changed since, and else with the code of the settings' own refusal.
    """
    of_search = search_draft_accept(reader=reader, signed=signed, now=now)
    if of_search is not None:
        return of_search if isinstance(of_search, Refusal) else WishAccepted(of_search, None)
    read = _signed_read(signed, reader.pk)
    if read is None:
        return Refusal(
            "draft_invalid", gettext("That draft is too old, or none of yours. Ask again in words.")
        )
    change, words = read
    effective = config_effective(reader_id=reader.pk)
    if change.state_in(effective) != change.before or _is_gone(change, reader, now):
        return Refusal("config_changed", gettext(_CHANGED), change.label)
    try:
        titles = reader_source_titles(reader_id=reader.pk, keys=[change.label, change.within])
        sentence = _sentence(change, effective, change.saved(effective), titles)
        version = _write(reader.pk, change, effective, words, now)
    except RankingError as error:
        return Refusal(error.code, error.message, change.label)
    log.info("wish_accepted", user_id=str(reader.pk), field=str(change.field), config_version=version)
    return WishAccepted(sentence, version)


def _write(reader_id: UUID, change: Change, effective: EffectiveConfig, words: str, now: datetime) -> int:
    seen = effective.config.version
    return body_change(
        reader_id=reader_id,
        change=change.make,
        cause=Cause.EDIT,
        ref="",
        now=now,
        expected_version=seen,
        note=words,
    )


def _is_gone(change: Change, reader: Reader, now: datetime) -> bool:
    """Return whether the mute's last day is over, or the reader no longer reads the source."""
    if isinstance(change.after, str) and change.after < day_of(now, reader.zone).isoformat():
        return True
    of_source = change.kind.of_source or change.variant == MUTE_SOURCE
    sources = {change.label} if of_source else {change.within} - {""}
    return bool(sources) and not sources <= subscribed_titles(reader_id=reader.pk).keys()


def _drafts(
    reader_id: UUID,
    words: str,
    changes: Sequence[Change],
    items: Sequence[Candidate],
    effective: EffectiveConfig,
    now: datetime,
) -> tuple[tuple[WishDraft, ...], tuple[str, ...]]:
    """Return the drafts of `changes`, and why others can be none."""
    possible: list[tuple[Change, EffectiveConfig]] = []
    problems = []
    for change in changes:
        try:
            possible.append((change, change.saved(effective)))
        except InvalidSetting as error:
            problems.append(error.message)
    if not possible:
        return (), tuple(problems)
    afters = [after for _, after in possible]
    previews = previews_of(reader_id=reader_id, before=effective, afters=afters, now=now)
    keys = {key for change, _ in possible for key in (change.label, change.within)}
    titles = reader_source_titles(reader_id=reader_id, keys=keys)
    subjects = [change.label for change, _ in possible if change.kind in SUBJECTS or _mutes_words(change)]
    found = taken_of(items, subjects) if subjects else []
    by_meaning = {one.topic: one.clear for one in found}
    by_id, made = {item.item_id: item for item in items}, []
    for (change, after), preview in zip(possible, previews, strict=True):
        say = [item for item in articles_shared(items) if change.touches(item)]
        says = {item.item_id for item in say}
        in_text = _text_alone(change, say)
        # A car with "more space" in its text says nothing of space travel.
        say.sort(key=lambda item: item.item_id in in_text)
        clear = [pk for pk in by_meaning.get(change.label, ()) if pk not in says]
        meant = clear if change.kind in SUBJECTS else []
        about = [*say[: ITEMS_SHOWN - min(len(meant), MEANT_SHOWN)], *(by_id[pk] for pk in meant)]
        sentence = _sentence(change, effective, after, titles)
        label = titles.get(change.label, change.label)
        signed = _sign(reader_id, change, words)
        shown, count = tuple(about[:ITEMS_SHOWN]), len(say) + len(meant)
        stays = len(clear) - len(meant)
        ids = frozenset(meant), in_text
        made.append(WishDraft(signed, change, sentence, label, shown, count, preview, *ids, stays))
    return tuple(made), tuple(problems)


def _text_alone(change: Change, items: Sequence[Candidate]) -> frozenset[int]:
    """Return which of these items say the subject of a change in their text alone."""
    if change.kind not in SUBJECTS:
        return frozenset()
    found = (item.item_id for item in items if not change.touches(replace(item, text="")))
    return frozenset(found)


def _mutes_words(change: Change) -> bool:
    """Return whether a change hides everywhere the articles that say a word. Only mutes have variants."""
    return change.variant in (WORD, PHRASE) and change.after is not False and not change.within


def _sentence(change: Change, before: EffectiveConfig, after: EffectiveConfig, titles: dict[str, str]) -> str:
    """Return the change in the words of the history of settings, without that its subject counts by
    meaning."""
    rows = body_changes(effective_body(before), effective_body(after))
    named = [row for row in rows if row["field"] != "by_meaning"]
    return "; ".join(change_words(row, titles) for row in named or rows)


def _sign(reader_id: UUID, change: Change, words: str) -> str:
    values = {"change": change.as_dict(), "words": words}
    return values_sign(salt=SALT, reader_id=reader_id, values=values)


def _signed_read(signed: str, reader_id: UUID) -> tuple[Change, str] | None:
    """Return the change and the words of a draft of this reader's, `None` for any other text."""
    values = values_read(salt=SALT, reader_id=reader_id, signed=signed, lifetime_s=DRAFT_LIFETIME_S)
    return (change_of_dict(values["change"]), values["words"]) if values else None
