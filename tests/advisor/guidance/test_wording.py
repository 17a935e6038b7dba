"""Calls get memories in few words, whole if they fit, and never over the limit."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.situations import ReaderFacts
from advisor.guidance.wording import NOTE_CHARS, START_CHARS, cut, notes_text, start_text
from tests.advisor.guidance.memories import TEXT, memory, scored


def test_a_note_is_the_memory_s_own_text() -> None:
    assert notes_text([scored()]) == TEXT


def test_a_second_note_is_whole_or_left_out_and_only_the_first_is_cut() -> None:
    long = "Wait a week between questions. " * 12
    assert notes_text([scored(), scored(2, text="Ask once.")]) == f"{TEXT} Ask once."
    assert notes_text([scored(text=long), scored(2, text=long)]) == long.strip()
    assert notes_text([scored(text=long * 2)]).endswith("…")


def test_nothing_is_said_of_nothing() -> None:
    assert notes_text([]) == ""
    assert notes_text([scored(text="")]) == ""
    assert start_text(ReaderFacts()) == ""


@given(st.lists(st.text(max_size=700), max_size=3))
def test_no_text_is_longer_than_allowed(texts: list[str]) -> None:
    said = notes_text([scored(n, text=text) for n, text in enumerate(texts)])
    assert len(said) <= NOTE_CHARS
    assert "\n" not in said


@given(st.text(max_size=200), st.integers(1, 60))
def test_what_is_cut_is_cut_to_size_and_marked(text: str, chars: int) -> None:
    short = cut(text, chars)
    assert len(short) <= chars
    assert short == cut(text, 1000) or short.endswith("…")


def test_a_run_starts_with_profile_decisions_and_refusals() -> None:
    opening = start_text(
        ReaderFacts(),
        flags=[memory(text="Sources are never reduced.")],
        patterns=[memory(2, text=TEXT), memory(3, text=TEXT)],
        rules=["A type is declined."],
    )
    assert opening == (
        "Refused for now:\n- A type is declined.\n"
        "The reader's profile:\n- Sources are never reduced.\n"
        f"From past decisions:\n- {TEXT}"
    )


@given(st.lists(st.text(max_size=600), max_size=5), st.lists(st.text(max_size=600), max_size=5))
def test_a_start_is_bounded_and_holds_whole_lines(texts: list[str], blocks: list[str]) -> None:
    opening = start_text(
        ReaderFacts(), patterns=[memory(n, text=text) for n, text in enumerate(texts)], rules=blocks
    )
    assert len(opening) <= START_CHARS
    known = {cut(text, 10_000) for text in (*texts, *blocks)}
    assert all(line.removeprefix("- ") in known for line in opening.splitlines() if line.startswith("- "))


def test_a_model_reads_in_words_what_the_planner_gets_as_values() -> None:
    facts = ReaderFacts(
        step=0.5,
        declined={"reduce_source": 6},
        cooling=frozenset({("source_weights", "loud.example"), ("topics", "a secret topic")}),
    )
    text = start_text(facts)
    assert "reduce_source: this reader turned down every one of 6" in text
    assert "about 50% of the step" in text and "loud.example" in text
    assert "1 topics rest" in text and "secret" not in text
