"""The counts of a night's steps in words, for operators. Pure."""

from collections.abc import Mapping
from typing import Any

COUNTS = {
    "fetch": {
        "feeds": "{n} feeds asked",
        "ok": "{n} read",
        "failed": "{n} failed",
        "items_new": "{n} new items",
        "error": "most often: {n}",
        "error_feeds": "",
    },
    "cluster": {
        "compared": "{n} new items compared",
        "clustered": "{n} joined a story",
        "begun": "{n} new stories",
        "feeds_joined": "{n} duplicate feeds joined",
        "vectors": "{n} items prepared for topics",
        "meanings": "{n} topics renewed",
        "pruned": "{n} old vectors deleted",
        "topics_pruned": "{n} unused topics deleted",
        "rows_pruned": "{n} old rows deleted",
        "items_pruned": "{n} old items deleted",
        "pictures_pruned": "{n} old pictures deleted",
    },
    "summarise": {
        "extracts": "{n} extracts",
        "asked": "{n} texts sent to a model",
        "made": "{n} summaries kept",
        "repaired": "{n} of them repaired",
        "stopped": "ended early: {n}",
    },
    "learn": {
        "readers": "{n} readers looked at",
        "moved": "{n} weights of sources moved",
        "failed": "{n} readers failed",
        "figures": "{n} figures published for all readers",
        "tastes": "{n} readers counted in the spread of tastes",
        "reading": "{n} readers whose opens were learned from",
    },
    "digests": {"built": "{n} digests built"},
    "deliver": {
        "due": "{n} mails due",
        "sent": "{n} sent",
        "empty": "{n} had nothing new",
        "failed": "{n} failed",
        "skipped": "{n} readers without a confirmed address",
        "left": "{n} left for the next try",
    },
    "advise": {"effects": "{n} accepted changes judged", "requested": "{n} runs of the advisor requested"},
}


def step_state(step: str, status: str, counts: Mapping[str, Any]) -> str:
    """Return a step's status, or that it was done without success: feeds failed, and none was read."""
    return "none read" if step == "fetch" and counts.get("failed") and not counts.get("ok") else status


def step_words(step: str, counts: Mapping[str, Any]) -> str:
    """Return what a step did, without zeros: "263 items prepared for topics, 3 topics renewed"."""
    known = COUNTS.get(step, {})
    words = (
        known.get(name, f"{{n}} {name.replace('_', ' ')}").format(n=_shown(value))
        for name, value in counts.items()
        if value
    )
    return ", ".join(filter(None, words)) or ("nothing to do" if counts else "")


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("_", " ")
