"""Scripted policies that know other names of topics, as a language model would. Pure.

- `phrases` tries the subjects whose titles are liked.
- `reasons` tries those that the reader's own words name.
- `oracle_of_names` tries those that will help: the most that the tools and rules allow.

The lists are frozen: everyday words of 2004 and 2005, written down before anyone looked at the texts or at a
result. Who writes for these years knows them, so the result is an upper guess.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from advisor.agent.planner import proposal_arguments
from advisor.conversation import Call, calls_of, calls_to, result_of
from digest.llm.entities import Message
from ranking.common.text import fold, term_matches
from ranking.entities import EffectiveConfig
from suggestions.changes.topics import ADD_TOPIC
from suggestions.proposals import SUGGESTIONS_PER_RUN_MAX
from tests.lab.histories.pools import Pools
from tests.lab.model.policies import FEEDBACK, FINISH, TRY, WRITE, WRITES_MAX, Policy, calling, reader_of

_LISTS = """
sport: match, coach, cup, league, champion, goal, rugby, cricket, tennis, olympic, season, injury, team, \
football, player, game
politics: minister, mp, parliament, election, labour, tory, blair, party, government, vote, commons, \
chancellor, lords, campaign, conservative, policy
business: shares, profit, stock, bank, oil price, economy, growth, dollar, market, firm, sales, quarter, \
investor, merger, deficit, chief executive
technology: software, internet, computer, microsoft, broadband, mobile, phone, web, virus, online, google, \
apple, gadget, chip, nasa, space
entertainment: film, movie, music, album, singer, actor, actress, oscar, tv, band, star, box office, \
hollywood, award, festival, comedy
world: iraq, baghdad, president, troops, killed, bomb, palestinian, israel, un, nuclear, rebel, iran, \
afghanistan, militant, hostage, prime minister
"""
NAMES: Mapping[str, tuple[str, ...]] = {
    topic: tuple(name.strip() for name in names.split(","))
    for topic, _, names in (line.partition(": ") for line in _LISTS.replace("\\\n", "").strip().split("\n"))
}
# The topics that are tried, those first that are liked more than the rest of the sample.
TOPICS_MAX = 3


def phrases(messages: Sequence[Message]) -> Message:
    """Propose topics whose titles are liked, with other names; then `follow`."""
    return _next(messages, topics_liked)


def reasons(messages: Sequence[Message]) -> Message:
    """Propose topics that the reader's own words name, with other names; then `follow`."""
    return _next(messages, topics_written)


def oracle_of_names(truth: Callable[[str], list[str]]) -> Policy:
    """Return the policy that proposes the topics that help each reader, by id, with other names."""
    return lambda messages: _next(messages, lambda _facts: truth(reader_of(messages)))


def topics_that_help(judge: Pools, first: EffectiveConfig) -> list[str]:
    """Return the topics that gain with all their names, most first."""
    changes = {topic: replace(ADD_TOPIC.change(topic, first), names=NAMES[topic]) for topic in NAMES}
    worth = {topic: judge.gain(first, change.applied(first)) for topic, change in changes.items()}
    return [topic for topic in sorted(NAMES, key=lambda one: -worth[one]) if worth[topic] > 0][:TOPICS_MAX]


def _next(messages: Sequence[Message], topics_of: Callable[[Mapping[str, Any]], list[str]]) -> Message:
    """Return the next trial or write. Each topic is tried first, without the names that do not fit."""
    calls = calls_of(messages)
    if not calls:
        return calling(calls, [(FEEDBACK, {})])
    facts, writes = result_of(calls, FEEDBACK) or {}, calls_to(calls, WRITE)
    if sum(w.succeeded for w in writes) >= SUGGESTIONS_PER_RUN_MAX or len(writes) >= WRITES_MAX:
        return calling(calls, [FINISH])
    if calls[-1].name == TRY and (wanted := _after(calls[-1])):
        return calling(calls, [wanted])
    tried = {call.arguments.get("target") for call in calls_to(calls, TRY)}
    if left := [topic for topic in topics_of(facts) if topic not in tried]:
        return calling(calls, [(TRY, _change(left[0], NAMES[left[0]]))])
    written = {call.arguments.get("target") for call in writes}
    for idea in facts.get("hypotheses", []):
        if idea["target"] not in written:
            return calling(calls, [(WRITE, proposal_arguments(idea))])
    return calling(calls, [FINISH])


def topics_liked(facts: Mapping[str, Any]) -> list[str]:
    """Return the topics whose titles in the sample are liked more often than all, most first."""
    columns = facts.get("item_columns", [])
    rows = [dict(zip(columns, row, strict=True)) for row in facts.get("curated_items", [])]
    likes = sum(bool(row["useful"]) for row in rows)
    lead: dict[str, float] = {}
    for topic, names in NAMES.items():
        said = Counter(
            bool(row["useful"])
            for row in rows
            if any(term_matches(name, fold(str(row["title"]))) for name in (topic, *names))
        )
        lead[topic] = said[True] - said.total() * likes / max(1, len(rows))
    return sorted((topic for topic, by in lead.items() if by > 0), key=lambda one: -lead[one])[:TOPICS_MAX]


def topics_written(facts: Mapping[str, Any]) -> list[str]:
    """Return the topics that the reader's own words name."""
    said = [fold(words) for _, _, words in facts.get("own_words", [])]
    return [topic for topic in NAMES if any(term_matches(topic, words) for words in said)][:TOPICS_MAX]


def _after(trial: Call) -> tuple[str, dict[str, Any]] | None:
    """Return the trial again without the names that do not fit, else the write; `None` to drop the topic.

    Names fit if an article says them and the refusal does not ask to leave them out.
    """
    result, topic = trial.result, str(trial.arguments["target"])
    given = list(trial.arguments.get("other_names", []))
    refused = result.get("details", "") if result.get("would_be_refused") == "name_disliked" else ""
    names = result.get("names", {}).items()
    fitting = [name for name, rated in names if rated and f"“{name}”" not in refused]
    if fitting != given:
        return (TRY, _change(topic, fitting)) if fitting else None
    urls = [row["url"] for row in result.get("examples", []) if row["useful"]]
    if result.get("would_be_refused") or not urls:
        return None
    return WRITE, _change(topic, fitting) | {"evidence": urls, "reason": ""}


def _change(topic: str, names: Sequence[str]) -> dict[str, Any]:
    return {"suggestion_type": "add_topic", "target": topic, "other_names": [*names]}
