"""What a reader reads while a run works: a sentence for each tool."""

from advisor.run.explain import TOOLS as SENTENCES
from advisor.tools.registry import TOOLS


def test_each_tool_has_a_sentence_for_the_reader_who_waits():
    assert set(SENTENCES) == set(TOOLS)
    assert all(sentence.endswith("…") for sentence in SENTENCES.values())
