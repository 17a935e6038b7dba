"""Groups of texts by meaning become topics with names; the planner weighs them like any other."""

from datetime import UTC, datetime

from ranking.entities import Candidate
from ranking.meaning.table import meaning_vectors
from tests.lab.model.groups import NamedGroup, named_groups

NOW = datetime(2026, 3, 2, tzinfo=UTC)
SUBJECTS = {
    "tennis": "The champion won the final. The racket decided the match at Wimbledon. He served in tennis.",
    "telescope": "Astronomers found a planet. The telescope measured the orbit. A comet passed the star.",
    "inflation": "The governor raised rates. Prices follow inflation. The bank watched the economy.",
    "recipe": "Boil the pasta. The recipe needs garlic. Stir the sauce in the oven.",
    "compiler": "The code failed. The compiler found a bug. Programmers fixed the software.",
    "election": "The minister lost the vote. Parliament held an election. Voters chose the party.",
}


def groups_of_items(*, sources: int) -> list[NamedGroup]:
    items = [
        Candidate(n, f"s{n % sources}.example", f"{word.title()} {n}", text, NOW)
        for n, (word, text) in enumerate(pair for pair in SUBJECTS.items() for _ in range(24))
    ]
    return named_groups(items, meaning_vectors([one.title for one in items], [one.text for one in items]))


def test_each_group_has_a_topic_and_other_names_of_its_own_subject() -> None:
    found = groups_of_items(sources=5)
    assert len(found) == len(SUBJECTS)
    for group in found:
        subject = {text for text in SUBJECTS.values() if group.name in text.casefold()}
        assert len(subject) == 1
        assert all(name in next(iter(subject)).casefold() for name in group.names)


def test_words_of_one_source_name_nothing() -> None:
    assert groups_of_items(sources=1) == []
