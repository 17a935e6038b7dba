"""What a reader reads while a run works: a sentence for each tool."""

from advisor.run.explain import TOOLS as SENTENCES
from advisor.run.explain import status_message
from advisor.tools.registry import TOOLS


def test_each_tool_has_a_sentence_for_the_reader_who_waits():
    assert set(SENTENCES) == set(TOOLS)
    assert all(sentence.endswith("…") for sentence in SENTENCES.values())


def test_a_run_that_made_a_draft_alone_does_not_call_its_end_a_reason():
    assert status_message("completed", 0, "Finished.") == "Nothing worth asking today."
    assert (
        status_message("completed", 0, "You decided all.") == "Nothing worth asking today: You decided all."
    )
