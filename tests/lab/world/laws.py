"""Worlds that differ from the plain one in a law the planner does not know. Pure.

The plain world is the planner's own model of readers: a pull of the source plus pulls of the topics. In each
of these one part of that is wrong.
"""

from dataclasses import dataclass

PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Law:
    """The differences of a world. They are standard deviations and shares; factors apply to the plain world's
    numbers.

    `pair_sd` spreads the pull of a source for a single topic. `main` scales the pulls of sources and topics.
    `shared` and `own` scale the appeal of an item to all readers, and to one reader only. `tail` is the
    exponent of Zipf's law for the shares of topics, whose pulls then have Student's t (3 degrees of freedom);
    0 means as in the plain world. `redrawn` is the share of pulls that are new from week 6 on. `position`
    bounds the exponent by which a reader's voice fades with the rank, drawn for each.
    """

    pair_sd: float = 0.0
    main: float = 1.0
    shared: float = 1.0
    own: float = 1.0
    tail: float = 0.0
    redrawn: float = 0.0
    position: tuple[float, float] | None = None


LAWS = {
    PLAIN: Law(),
    # A source is liked for some of its topics and not for others.
    "interactions": Law(pair_sd=0.9, main=0.6),
    # General appeal drives thumbs more than the reader's own taste does.
    "popularity": Law(shared=2.0, own=0.7, main=0.7),
    # A few topics are everywhere, most are rare, and some tastes are extreme.
    "heavy tail": Law(tail=1.1),
    # From week 6 on half of a reader's taste is new.
    "drift": Law(redrawn=0.5),
    # Readers differ in how much more they see the upper ranks, by an unknown amount.
    "position": Law(position=(0.0, 1.5)),
}
