"""What each answer of a reader teaches: one plain sentence each, and the table behind them. Pure.

`suggestions.profile` counts by this table; every count fades by half in 90 days.

| action | acceptance of its kind | what else it teaches |
|---|---|---|
| `accept` | +1 accepted | checked after two weeks: helped, harmed or unclear |
| `edit` | +1 accepted | the chosen step over the proposed one: `prefers_smaller_steps` |
| `reject` | +1 rejected | the target rests for ten days |
| `reject_reason` | +1 rejected, +½ if it is about size, moment or novelty | the reason's code is counted |
| `never` | +1 rejected | the target is pinned: no suggestion about it again |
| `snooze` | nothing | counts as answered (engagement) and as put off; back after seven days |
| `expired` | nothing | counts as unanswered (engagement) |
| `superseded` | nothing | the reader did it by hand: neither answered nor ignored |
| `revert` | the acceptance becomes a rejection | counts as reverted, and against its kind's effects |
| `undo` | the answer is struck out | waits again as if never answered; an accept only within ten minutes |
| `helped`, `harmed` | nothing | the kind's effects; two that harmed make the kind `…_backfire` |
| `unclear` | nothing | nothing |
"""

from collections.abc import Mapping

SENTENCES = {
    "accept": "We will offer more changes like this one, and check in two weeks whether it helped.",
    "edit": "We will remember how large a step you like, and check in two weeks whether it helped.",
    "reject": "We will make fewer suggestions of this kind, and leave this one alone for a while.",
    "reject_reason": "We will make fewer suggestions of this kind, and keep your reason in mind.",
    "never": "We will not bring this up again.",
    "snooze": "We will ask again in a week; this counts neither for nor against it.",
    "expired": "You did not answer, so we learn nothing about it, only to ask less often.",
    "superseded": "You settled this yourself, so we take nothing from it.",
    "revert": "We count this as a no, and will be more careful with changes of this kind.",
    "undo": "We forget that answer; it waits for you again.",
    "helped": "This worked, so changes of this kind are worth offering you.",
    "harmed": "This did not work, so we will be more careful with changes of this kind.",
    "unclear": "This showed no clear difference, so we learn nothing from it.",
}


def answer_kind(verb: str, said: Mapping[str, object], status: str = "") -> str:
    """The action of the table for an answer as sent: a reason or a value of one's own is an action apart.

    `status` is what the suggestion came to: taking back what stays "accepted" reverts a change.
    """
    if verb == "undo" and status == "accepted":
        return "revert"
    if verb == "reject" and str(said.get("user_reason") or "").strip():
        return "reject_reason"
    return "edit" if verb == "accept" and said.get("value") not in (None, "") else verb


def teaching_of(action: str) -> str:
    """One sentence to the reader about what an answer, or its effect, teaches; `""` for any other word."""
    return SENTENCES.get(action, "")
