"""Facts put into words, layer by layer, with other sentences for the test split. Pure.

A: causal, specific and measured. B: sound but vague. C: needs its columns to be understood. D: edges, that is
cut short, half table, long, short. E: one fact in four styles. F: the shapes that Tidings' sources write.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from advisor.evaluation.guidance_entities import Fact
from advisor.evaluation.guidance_facts import facets
from advisor.guidance.entities import Kind

Rng = np.random.Generator
DEV, TEST = "dev", "test"
NOW = datetime(2026, 3, 18, 12, 0)  # noqa: DTZ001 -- only the names of months are taken from it
WHAT = {
    "add_topic": "the topic {}",
    "boost_source": "more of {}",
    "reduce_source": "less of {}",
    "remove_topic": "removing {}",
}
DO = {
    ("add_topic", 1): "propose {} as a topic",
    ("add_topic", -1): "leave {} out of the topics",
    ("boost_source", 1): "raise {}",
    ("boost_source", -1): "leave the weight of {} alone",
    ("reduce_source", 1): "lower {}",
    ("reduce_source", -1): "spare {} a reduction",
    ("remove_topic", 1): "drop {} from the topics",
    ("remove_topic", -1): "keep {} among the topics",
}
# The same advice in other words, for the test split.
DO_TEST = {
    ("add_topic", 1): "bring {} in as a topic",
    ("add_topic", -1): "do without {} as a topic",
    ("boost_source", 1): "give {} more weight",
    ("boost_source", -1): "stay away from boosting {}",
    ("reduce_source", 1): "turn {} down a little",
    ("reduce_source", -1): "let {} keep its weight",
    ("remove_topic", 1): "let {} go from the topics",
    ("remove_topic", -1): "hold on to {} as a topic",
}
KINDS = {
    "add_topic": "new topics",
    "boost_source": "boosted sources",
    "reduce_source": "reduced sources",
    "remove_topic": "topics to remove",
}
WHY = {
    1: (
        "it is read to the end on most mornings",
        "nothing else in the digest covers it",
        "likes for it carry the tag depth",
        "its stories were saved more than others",
        "it kept its place after the last change",
        "its likes are spread over many weeks",
        "two other sources point the same way",
        "the forecast on later thumbs was clear",
    ),
    -1: (
        "it is read at work anyway",
        "the summaries are enough",
        "most of it sits behind a wall",
        "it was a passing interest",
        "its likes come from one busy day",
        "somebody else in the house reads it",
        "the last change to it was undone",
        "its stories reach this reader elsewhere",
    ),
}
RESULT = {1: "accepted", -1: "turned down"}
# By layer: sentences of the development split, then those kept apart for the test split.
FRAMES = {
    "A": (
        (
            "When {what} comes up, {do}, because {why}: {k} of {n} answers went that way.",
            "{Do}: {k} of {n} suggestions about {what} were {result}, since {why}.",
            "For {what}, {k} of {n} outcomes say to {do}, because {why} ({month}).",
        ),
        (
            "Before {what}, {do}; it held in {k} of {n} cases, since {why}.",
            "Whenever {what} is at stake, {do}. {k} of {n} decisions were {result} because {why}.",
            "Use what {month} showed about {what}: {do}, because {why} ({k} of {n} {result}).",
        ),
    ),
    "B": (
        (
            "{opener} it is usually better to {do}.",
            "{opener} {do}, more often than not.",
            "{opener} think twice about {what}.",
        ),
        (
            "{opener} {do} where possible.",
            "{opener} most of what is known about {what} says to {do}.",
            "{opener} be sparing with questions on {what}.",
        ),
    ),
    "C": (
        (
            "{Result} the last {n} times: {why}, so do the same here.",
            "{opener} keep to the answer of {month}: {why}.",
            "{opener} avoid a new attempt without fresh thumbs, since {why}.",
        ),
        (
            "{opener} stay with the answer given in {month}, because {why}.",
            "{opener} treat it as in {month}: {why}.",
            "{opener} check {month} first, since {why}.",
        ),
    ),
    "long": (
        (
            "When {what} comes up, {do}, because {why}. This was seen in {k} of {n} answers, the last one "
            "in {month}. It held for weekday and weekend digests alike, and no other explanation fitted as "
            "well. Should newer thumbs disagree, trust those, and write down what has changed since {month} "
            "before you ask again.",
        ),
        (
            "Everything known about {what} points one way: {do}. The cause is that {why}, which {k} of {n} "
            "decisions confirm. The latest is from {month}. Nothing in the profile speaks against it. If a "
            "later window of thumbs shows the opposite, say so in the reason and let the reader judge anew.",
        ),
    ),
    "short": (("{Do}.", "{Do} ({k}/{n}, {month})."), ("Better {do}.", "{k}/{n} in {month}: {do}.")),
    "hybrid": (
        ("{type} | {name} | {k}/{n} {result} | {do}", "{name}: {k} of {n} {result} -> {do}, {why}"),
        ("[{month}] {type} {name}, {result} {k}/{n}; {do}", "{type} ({name}) = {k}/{n}; next: {do}"),
    ),
    "E": (
        (
            "{do}: {k}/{n}.",
            "In {month} the answer on {what} was the same {k} of {n} times; as {why}, {do}.",
            "If the call is about {what}, then {do}.",
            "Why {do}? Because {why}.",
        ),
        (
            "{what} – {do} ({k} of {n}).",
            "The story of {what} so far: {k} of {n} {result}. Since {why}, {do}.",
            "Given {what}: {do}.",
            "Reason to {do}: {why}.",
        ),
    ),
}
SHAPES = {
    Kind.PATTERN: ("Of {n} suggestions about {what}, {k} were {result}. {Do}.",),
    Kind.REPLAY: (
        "An earlier write about {what} was refused. To {do} let the next one through, in {month}.",
    ),
    Kind.PROFILE: ("The profile counts {k} of {n} answers on {what} as {result}: {do}.",),
    Kind.RULE: ("While {why}, {do}. This applies to {what}.",),
    Kind.INSIGHT: ("{Do} when it comes to {what}. In {n} cases, {k} showed that {why}.",),
    Kind.PEER: ("Among {n} like-minded readers, {k} settled {what} the same way: {do}.",),
    Kind.BANK: ("Reasons given on {what}, {k} times of {n}: {why}. {Do}.",),
}
OPENERS = (
    "As a rule,",
    "With this reader,",
    "In most weeks,",
    "Without new signs,",
    "All in all,",
    "By and large,",
    "Going by past answers,",
    "For the time being,",
    "Unless thumbs say otherwise,",
    "On the evidence so far,",
)


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of a fact in words, ready for any sentence."""

    fact: Fact
    split: str

    def parts(self, rng: Rng) -> dict[str, object]:
        """What the sentences above may name. `why` and `opener` are drawn where the fact leaves a choice."""
        fact = self.fact
        what, do, why = self._core(rng)
        month = (NOW - timedelta(days=fact.age)).strftime("%B")
        result = RESULT[fact.polarity]
        return {
            "what": what,
            "do": do,
            "Do": do[0].upper() + do[1:],
            "why": why,
            "k": fact.k,
            "n": fact.n,
            "month": month,
            "result": result,
            "Result": result.capitalize(),
            "type": fact.suggestion_type or fact.domain,
            "name": fact.target or what,
            "opener": OPENERS[int(rng.integers(len(OPENERS)))],
        }

    def _core(self, rng: Rng) -> tuple[str, str, str]:
        """What it is about, what to do, and why."""
        fact = self.fact
        if fact.facet >= 0:
            facet = facets()[fact.facet]
            about = f" about {fact.target}" if fact.target else ""
            among = f" with {KINDS[fact.suggestion_type]}" if fact.suggestion_type and not about else ""
            return f"{facet.subject}{about}{among}", facet.do + (about and f" for {fact.target}"), facet.why
        reasons = WHY[fact.polarity]
        # Two reasons a fact, so that its memories differ and still agree.
        why = reasons[(fact.reason + int(rng.integers(2))) % len(reasons)]
        kind = fact.suggestion_type
        if not fact.target:
            return (
                KINDS[kind],
                f"{'feel free to propose' if fact.polarity > 0 else 'avoid'} {KINDS[kind]}",
                why,
            )
        do = (DO_TEST if self.split == TEST else DO)[kind, fact.polarity]
        return WHAT[kind].format(fact.target), do.format(fact.target), why


def text_of(fact: Fact, layer: str, kind: Kind, rng: Rng, split: str, style: int = -1) -> str:
    """One text for a fact. `layer` is A, B, C, E, F, or an edge: short, long, hybrid, cut."""
    parts = Wording(fact, split).parts(rng)
    if layer == "F":
        return _one(SHAPES[kind], rng).format(**parts)
    frames = FRAMES["A" if layer == "cut" else layer][split == TEST]
    text = (frames[style] if style >= 0 else _one(frames, rng)).format(**parts)
    if layer == "cut":
        text = text[: int(len(text) * rng.uniform(0.6, 0.85))].rstrip()
    return text[0].upper() + text[1:]


def _one(choices: tuple[str, ...], rng: Rng) -> str:
    return choices[int(rng.integers(len(choices)))]
