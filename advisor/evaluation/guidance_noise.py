"""Garbage in words, for the development split and, worded otherwise, for the test split. Pure."""

from collections.abc import Callable, Sequence

import numpy as np

from advisor.evaluation.guidance_entities import Fact
from advisor.evaluation.guidance_texts import DEV, KINDS, TEST

Rng = np.random.Generator
Maker = Callable[[Rng, Fact], str]
TOOLS = (
    "query_user_feedback",
    "query_user_config",
    "get_user_profile",
    "write_suggestion",
    "test_suggestion",
    "self_critique",
    "get_suggestion_outcomes",
    "compare_configs",
)
GOOD = [
    "good",
    "useful",
    "relevant",
    "interesting",
    "suitable",
    "helpful",
    "fitting",
    "sound",
    "sensible",
    "fine",
]
THINGS = ["sources", "topics", "stories", "suggestions", "changes", "digests", "settings", "proposals"]
CARE = ["care", "attention", "patience", "thought", "diligence", "honesty", "balance", "tact"]
MOODS = [
    "pleased",
    "happy",
    "annoyed",
    "satisfied",
    "puzzled",
    "frustrated",
    "thankful",
    "amused",
    "calm",
    "delighted",
]
WORKERS = ["worker", "scheduler", "reconciler", "broker", "poller", "watchdog", "ledger", "mailer"]


def _hex(rng: Rng, n: int = 8) -> str:
    return "".join("0123456789abcdef"[int(i)] for i in rng.integers(0, 16, n))


def _int(rng: Rng, low: int, high: int) -> int:
    return int(rng.integers(low, high))


def _of(rng: Rng, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]


def _about(fact: Fact) -> str:
    return fact.target or KINDS.get(fact.suggestion_type, fact.domain)


_DEV: dict[str, tuple[Maker, ...]] = {
    "tool_echo": (
        lambda r, f: f"{_of(r, TOOLS)} returned {_int(r, 2, 90)} rows for {_about(f)}.",
        lambda r, f: f"Called {_of(r, TOOLS)} with target {_about(f)} in run {_hex(r)}; success: true.",
        lambda r, f: f"Tool {_of(r, TOOLS)} was used successfully on {_about(f)}, call {_int(r, 1, 40)}.",
        lambda r, f: f"Result of {_of(r, TOOLS)}: {_int(r, 1, 30)} items, page {_int(r, 1, 9)}, {_about(f)}.",
    ),
    "timing": (
        lambda r, f: f"Run {_hex(r)} took {_int(r, 1, 60)}.{_int(r, 0, 9)} s, {_int(r, 2, 12)} turns.",
        lambda r, f: f"{_of(r, TOOLS)} answered in {_int(r, 3, 900)} ms when asked about {_about(f)}.",
        lambda r, f: f"Latency p95 {_int(r, 20, 900)} ms over {_int(r, 10, 500)} calls to {_of(r, TOOLS)}.",
        lambda r, f: f"The run on {_about(f)} ended after {_int(r, 2, 14)} turns and {_int(r, 2, 50)} s.",
    ),
    "platitude": (
        lambda r, f: f"Prefer {_of(r, GOOD)} {_of(r, THINGS)} to bad ones.",
        lambda r, f: f"Always choose {_of(r, THINGS)} with {_of(r, CARE)}.",
        lambda r, f: f"{_of(r, GOOD).capitalize()} {_of(r, THINGS)} matter for every reader.",
        lambda r, f: f"It is important to treat {_about(f)} with {_of(r, CARE)} and {_of(r, CARE)}.",
        lambda r, f: f"Make sure that {_of(r, THINGS)} are {_of(r, GOOD)} and {_of(r, GOOD)}.",
    ),
    "transcript": (
        lambda r, f: f"assistant: let me look at {_about(f)} first\nuser: ok, {_of(r, GOOD)}",
        lambda r, f: f"[{_int(r, 10, 23)}:{_int(r, 10, 59)}] reader: what about {_about(f)}? agent: checking",
        lambda r, f: (
            f"RT @{_of(r, MOODS)}{_int(r, 1, 99)}: thoughts on {_about(f)} (thread 1/{_int(r, 2, 9)})"
        ),
        lambda r, f: f"Human: I meant {_about(f)}, not that one. Assistant: sorry, {_of(r, MOODS)} to help.",
        lambda r, f: f"When using {_of(r, TOOLS)}, remember: i meant lets do {_about(f)} later {_hex(r, 2)}",
    ),
    "system_noise": (
        lambda r, f: (
            f"Cycle summary: {_of(r, TOOLS)} used {_int(r, 2, 40)} times ({_int(r, 50, 100)}% success)."
        ),
        lambda r, f: f"WARNING {_of(r, WORKERS)}: lease renewed for run {_hex(r)} after {_int(r, 1, 60)} s.",
        lambda r, f: f"{_of(r, WORKERS).capitalize()} restarted; {_int(r, 1, 300)} tasks queued, {_hex(r)}.",
        lambda r, f: f"{_int(r, 2, 19)}/{_int(r, 20, 30)} writes on {_about(f)} not preceded by a read.",
    ),
    "code": (
        lambda r, f: f'{{"type": "{f.suggestion_type}", "target": "{_about(f)}", "p": 0.{_int(r, 10, 99)}}}',
        lambda r, f: f"https://{_hex(r, 6)}.example/{_hex(r)}?utm_source={_hex(r, 4)}&id={_int(r, 1, 9999)}",
        lambda r, f: f"SELECT * FROM items WHERE source_id = '{_about(f)}' LIMIT {_int(r, 1, 99)};",
        lambda r, f: f"def f_{_hex(r, 4)}(x): return x[{_int(r, 0, 9)}] if x else {{}}  # {_about(f)}",
    ),
    "reaction": (
        lambda r, f: f"The reader seemed {_of(r, MOODS)} with the answer about {_about(f)}.",
        lambda r, f: f"User expressed that they were {_of(r, MOODS)} by {_about(f)}.",
        lambda r, f: f"Thanks!!! {_of(r, MOODS)} about {_about(f)} :)",
        lambda r, f: f"The reader was {_of(r, MOODS)} and then {_of(r, MOODS)} on {_about(f)}.",
    ),
    "edge": (
        lambda r, f: f"{_about(f).capitalize()} was looked at on day {_int(r, 1, 31)}, and so were others.",
        lambda r, f: f"Maybe {_about(f)} could perhaps be considered at some point, or perhaps not.",
        lambda r, f: f"What would happen if {_about(f)} were {_of(r, GOOD)}? Is it {_of(r, GOOD)}?",
        lambda r, f: f"{_about(f)} {_about(f)} {_of(r, THINGS)} {_of(r, GOOD)} {_of(r, MOODS)}",
        lambda r, f: f"Quellen wie {_about(f)} sind {_int(r, 2, 9)} Mal vorgekommen, wie andere auch.",
        lambda r, f: (
            f"The model believes {_about(f)} might be liked; this has not been tried ({_hex(r, 4)})."
        ),
        lambda r, f: f"There are {_int(r, 2, 90)} items from {_about(f)} in the last {_int(r, 2, 60)} days.",
        lambda r, f: f"As discussed above, the second option for {_about(f)} is the {_of(r, GOOD)} one.",
    ),
}

_TEST: dict[str, tuple[Maker, ...]] = {
    "tool_echo": (
        lambda r, f: f"Asked {_of(r, TOOLS)} about {_about(f)}; it gave {_int(r, 2, 90)} entries, none new.",
        lambda r, f: f"After {_of(r, TOOLS)} on {_about(f)} the next call was {_of(r, TOOLS)}.",
        lambda r, f: (
            f"{_of(r, TOOLS)}: ok, {_int(r, 2, 90)} of {_int(r, 90, 99)} fields filled for {_about(f)}."
        ),
        lambda r, f: f"The profile was fetched {_int(r, 2, 9)} times while {_about(f)} was being weighed.",
    ),
    "timing": (
        lambda r, f: (
            f"It took {_int(r, 2, 14)} turns to get through {_about(f)}, {_int(r, 2, 9)} more than before."
        ),
        lambda r, f: f"{_of(r, TOOLS)} averaged {_int(r, 3, 900)} ms, since its cache was cold.",
        lambda r, f: f"Half of the {_int(r, 10, 90)} seconds of the run on {_about(f)} went into reading.",
        lambda r, f: f"Tokens used on {_about(f)}: {_int(r, 800, 9000)} in, {_int(r, 80, 900)} out.",
    ),
    "platitude": (
        lambda r, f: f"Quality beats quantity when it comes to {_of(r, GOOD)} {_of(r, THINGS)}.",
        lambda r, f: f"Because {_of(r, THINGS)} matter, keep {_about(f)} in mind with {_of(r, CARE)}.",
        lambda r, f: f"A {_of(r, GOOD)} digest is one that serves its reader, so choose with {_of(r, CARE)}.",
        lambda r, f: f"Think about {_about(f)} with {_of(r, CARE)} before you decide on {_of(r, THINGS)}.",
        lambda r, f: f"Readers like {_of(r, THINGS)} that are {_of(r, GOOD)}, {_of(r, GOOD)} and well made.",
    ),
    "transcript": (
        lambda r, f: f"Sure! Here is what I found about {_about(f)}; let me know if it is {_of(r, GOOD)}.",
        lambda r, f: f"- and {_about(f)}?\n- i would keep it, but whatever, {_of(r, MOODS)} {_hex(r, 2)}",
        lambda r, f: (
            f"As a language model I cannot know whether {_about(f)} is {_of(r, GOOD)} ({_hex(r, 2)})."
        ),
        lambda r, f: f"Q: why {_about(f)}? A: you said {_of(r, GOOD)} on Monday at {_int(r, 1, 12)}, I think",
        lambda r, f: f"ok so basically {_about(f)} again lol, as said {_int(r, 2, 9)} times, {_of(r, MOODS)}",
    ),
    "system_noise": (
        lambda r, f: (
            f"The {_of(r, WORKERS)} picked up {_int(r, 1, 300)} jobs and went idle at {_int(r, 1, 24)}:00."
        ),
        lambda r, f: f"The {_of(r, WORKERS)} was {_int(r, 1, 300)} s late because the host was busy.",
        lambda r, f: f"Session {_hex(r)} closed with status complete; {_about(f)} was in scope.",
        lambda r, f: (
            f"Retry {_int(r, 1, 9)} of {_int(r, 9, 12)} for {_about(f)} queued by the {_of(r, WORKERS)}."
        ),
    ),
    "code": (
        lambda r, f: f"target: {_about(f)}\nweight: 1.{_int(r, 0, 9)}\nrun: {_hex(r)}\nflags: [a, b]",
        lambda r, f: f"<item><guid>{_hex(r)}</guid><title>{_about(f)}</title></item>",
        lambda r, f: f"config['topics'].append('{_about(f)}'); save(config, v={_int(r, 1, 99)})",
        lambda r, f: (
            f"curl -s localhost:{_int(r, 1000, 9999)}/api/{_hex(r, 4)} | jq '.rows[{_int(r, 0, 9)}]'"
        ),
    ),
    "reaction": (
        lambda r, f: f"Good to hear that {_about(f)} went down well; everybody was {_of(r, MOODS)}.",
        lambda r, f: f"There was some laughter about {_about(f)}, and a {_of(r, MOODS)} remark.",
        lambda r, f: f"{_about(f).capitalize()} made for a {_of(r, MOODS)} reader today.",
        lambda r, f: f"Somebody was {_of(r, MOODS)} about {_about(f)}, which was {_of(r, GOOD)} to see.",
    ),
    "edge": (
        lambda r, f: f"Avoid {_about(f)} and propose {_about(f)}, because both can be {_of(r, GOOD)}.",
        lambda r, f: (
            f"{_about(f).capitalize()} stayed as it was in {_int(r, 2, 9)} of {_int(r, 10, 19)} runs."
        ),
        lambda r, f: f"If nothing else helps, try something {_of(r, GOOD)} with {_about(f)}.",
        lambda r, f: f"On the one hand {_about(f)}, on the other hand {_of(r, THINGS)}; it depends.",
        lambda r, f: f"Les sources comme {_about(f)} sont apparues {_int(r, 2, 90)} fois cette semaine.",
        lambda r, f: f"See the longer note on {_about(f)} for the reason ({_hex(r, 4)}).",
        lambda r, f: f"Most likely {_about(f)} is {_of(r, GOOD)}, since most {_of(r, THINGS)} are.",
        lambda r, f: (
            f"Consider {_about(f)} together with {_of(r, THINGS)} {_int(r, 2, 9)} and {_int(r, 10, 19)}."
        ),
    ),
}
MAKERS = {DEV: _DEV, TEST: _TEST}
