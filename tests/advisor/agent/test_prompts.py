"""The prompt: a file that loads or explains why not, and agrees with the settings."""

import re
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.conf import settings as shipped

from advisor.prompts import (
    ADVISOR_PROMPT,
    NUMBERS,
    PromptUnusable,
    opening_messages,
    prompt_load,
    quotes_prompt,
)
from advisor.run_values import ToolContext
from advisor.tools.registry import TOOLS
from ranking.entities import WEIGHT_MAX, WEIGHT_MIN
from suggestions import proposals as limits
from suggestions.changes.registry import KINDS, ONE_A_RUN
from suggestions.rules import PER_FIELD_MAX

GOOD = "---\nname: x\n---\nBe kind.\n"


def context(now, reader_id=None) -> ToolContext:
    return ToolContext(reader_id or uuid.uuid4(), uuid.uuid4(), now, lambda: None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"", "it has 0"),
        (b"Be kind.", "it has 0"),
        (b"---\nname: x\nBe kind.", "it has 1"),
        (b"\n---\nname: x\n---\nBe kind.", "exactly two"),
        (b"---\nname: x\n---\nBe kind.\n---\nAlways.", "it has 3"),
        (b"---\nname: x\n---\n  \n", "is empty"),
    ],
)
def test_a_prompt_that_is_not_one_says_why(tmp_path: Path, content, reason):
    path = tmp_path / "prompt.md"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PromptUnusable, match=reason):
        prompt_load(path)


def test_the_front_matter_is_for_people_and_is_not_sent(tmp_path: Path):
    (path := tmp_path / "prompt.md").write_text(GOOD)
    assert prompt_load(path) == "Be kind."
    assert "---" not in prompt_load()
    assert yaml.safe_load(ADVISOR_PROMPT.read_text().split("---")[1])["name"] == "advisor"


def test_the_prompt_states_the_limits_that_are_enforced():
    prompt = prompt_load()
    for stated in (
        f"{shipped.ADVISOR_MAX_TURNS} turns and {shipped.ADVISOR_MAX_TOOL_CALLS} tool calls",
        f"At most {limits.SUGGESTIONS_PER_RUN_MAX} suggestions: {PER_FIELD_MAX} on one setting",
        f"At least {limits.EVIDENCE_MIN} evidence items",
        f"at least {limits.TOPIC_SOURCES_MIN} sources",
        f"at most ±{limits.WEIGHT_STEP_MAX} and stays between {WEIGHT_MIN} and {WEIGHT_MAX}",
        f"within {shipped.COOLDOWN_DAYS} days",
    ):
        assert stated in prompt


LINE = re.compile(r"^- `(\w+)`(?: \([^)]+\))?: .+", re.MULTILINE)


def test_the_last_kinds_of_the_prompt_are_those_of_which_a_run_proposes_one():
    prompt = prompt_load()
    number, kinds = re.search(r"1 of the last (\w+) kinds\.", prompt)[1], LINE.findall(prompt)
    last = kinds[-NUMBERS.index(number) :]
    assert set(last) == {kind.name for kind in ONE_A_RUN} and len(last) == len(ONE_A_RUN)


def test_the_prompt_names_every_kind_of_change_every_tool_and_the_six_steps_in_order():
    prompt = prompt_load()
    assert sorted(LINE.findall(prompt)) == sorted(KINDS) and "{" not in LINE.sub("", prompt).split("```")[0]
    assert set(TOOLS) <= set(re.findall(r"`(\w+)`", prompt))
    steps = ["Explore", "Analyze", "Hypothesize and test", "Critique", "Validate and write", "Finish"]
    assert re.findall(r"^\d\. \*\*(.+?)\.\*\*", prompt, re.MULTILINE) == steps


def test_the_prompt_is_short_since_every_turn_sends_it():
    """The whole was 5,083 characters, about 1,300 tokens, with eleven kinds on 29 November 2026."""
    lines = [line[0] for line in re.finditer(LINE, prompt_load())]
    longest = max(lines, key=len)
    assert len(longest) <= 170, f"a kind has 170 characters in the prompt: {longest}"
    assert len(LINE.sub("", prompt_load())) < 4300, "about 1,100 tokens for all but the kinds"


def test_a_text_that_recites_the_prompt_is_told_from_one_that_does_not():
    words = prompt_load().split()
    assert quotes_prompt("I was told: " + " ".join(words[40:60]))
    assert quotes_prompt("\n".join(words[:10]))
    assert not quotes_prompt(" ".join(words[:9]))
    assert not quotes_prompt("You liked 9 of 11 stories from Harbour Post, most of them for their depth.")


def test_every_run_opens_alike_and_the_reader_comes_after(now):
    prompt = prompt_load()
    one, other = context(now), context(now + timedelta(days=1))
    first, second = opening_messages(prompt, one), opening_messages(prompt, other)
    assert [m["role"] for m in first] == ["system", "system", "user"]
    assert first[0] == second[0] == {"role": "system", "content": prompt}
    assert str(one.reader_id) in first[1]["content"] and "18 March 2026" in first[1]["content"]
    assert str(one.reader_id) not in first[0]["content"] + first[2]["content"]
