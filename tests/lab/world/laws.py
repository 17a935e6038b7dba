"""Worlds that differ from the plain one in a law the planner does not know. Pure.

The plain world is the planner's own model of readers: a pull of the source plus pulls of the topics. In each
of these one part of that is wrong.
"""

from dataclasses import dataclass

PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Law:
    """What differs. Standard deviations and shares; factors are of the plain world's own numbers.

    `pair_sd` spreads a pull that a source has for one topic alone; `main` scales the pulls of sources and
    topics; `shared` and `own` scale what all readers, and one alone, find in an item. `tail` is the exponent
    of Zipf's law for the shares of topics, whose pulls then have Student's t (3 degrees of freedom); 0: as in
    the plain world. `redrawn` is the share of pulls that are new from week 6 on. `position` bounds the
    exponent by which a reader's voice fades with the rank, drawn for each.
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
    # What everybody likes drives thumbs more than one's own taste does.
    "popularity": Law(shared=2.0, own=0.7, main=0.7),
    # A few topics are everywhere, most are rare, and some tastes are extreme.
    "heavy tail": Law(tail=1.1),
    # From week 6 on half of what a reader feels is new.
    "drift": Law(redrawn=0.5),
    # How much the upper ranks are seen more differs between readers, and nobody knows by how much.
    "position": Law(position=(0.0, 1.5)),
}
