"""Why nothing is proposed: silence is an answer, and it has a reason. Pure.

| code | when |
|---|---|
| `too_little_said` | fewer than `SAID_MIN` thumbs choose, or no target has enough of them to cite |
| `all_decided` | what the thumbs speak for is pinned, pending, resting, or decided without new thumbs since |
| `later_thumbs_against` | what some thumbs speak for, others contradict |
| `undecided` | at least one change is more likely than not to help, none likely enough |
| `balanced` | no change looks better than leaving everything as it is |
"""

SAID_MIN = 10
# From here on a change is a lead worth following up, though not worth asking about.
LEAD_MIN = 0.6

TOO_LITTLE_SAID, ALL_DECIDED = "too_little_said", "all_decided"
LATER_AGAINST, UNDECIDED, BALANCED = "later_thumbs_against", "undecided", "balanced"

WORDS = {
    TOO_LITTLE_SAID: "You have rated too few articles of any one source or topic to tell what should change.",
    ALL_DECIDED: "What your feedback speaks for has been decided, is waiting, or rests for now.",
    LATER_AGAINST: "Part of your feedback speaks for a change, and the rest against it.",
    UNDECIDED: "Your feedback leans towards a change or two, but that may still be chance.",
    BALANCED: "Your feedback is balanced: nothing in it speaks clearly enough for a change.",
}


def silence_code(*, thumbs: int, tried: int, closed: int, dropped: int, best: float) -> str:
    """The reason for proposing nothing.

    `thumbs` choose; `tried` changes have the items to cite, whether open or not; `closed` of them were likely
    enough but not open to suggestion, `dropped` were contradicted; `best` is the highest probability among
    the open ones (0: there is none).
    """
    if thumbs < SAID_MIN or not tried:
        return TOO_LITTLE_SAID
    if dropped:
        return LATER_AGAINST
    if closed:
        return ALL_DECIDED
    return UNDECIDED if best >= LEAD_MIN else BALANCED
