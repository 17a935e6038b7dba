"""The rows of pins on the settings page."""

from ranking.config_words import PinRow, pin_rows

NAMES = {"b.example": "Bee", "a.example": "Ant"}


def said(row: PinRow) -> tuple[str, str, str, list[str]]:
    """Return target, name, chosen words, and the value that each option sends."""
    chosen = next(words for _, words, chosen in row.options if chosen)
    return row.target, row.name, chosen, [code for code, *_ in row.options]


def test_what_stands_sends_nothing_and_sources_come_by_title():
    rows = pin_rows(NAMES, (), ("b.example",), (), {})
    assert [said(row) for row in rows.pop("Sources")] == [
        ("a.example", "Ant", "May be suggested", ["", "locked", "avoided"]),
        ("b.example", "Bee", "Leave as it is", ["open", "", "avoided"]),
    ]
    assert rows == {}


def test_a_topic_and_its_pin_are_one_row_however_they_are_spelled():
    rows = pin_rows(NAMES, ("Electric Cars", "Rust"), (), ("electric car", "crypto"), {})
    assert [said(row)[:3] for row in rows["Topics"]] == [
        ("crypto", "crypto", "Never suggest"),
        ("electric car", "Electric Cars", "Never suggest"),
        ("rust", "Rust", "May be suggested"),
    ]


def test_what_was_chosen_and_not_saved_stays_chosen():
    rows = pin_rows({"a.example": "Ant"}, (), ("a.example",), (), {"a.example": "avoided"})
    assert said(rows["Sources"][0]) == ("a.example", "Ant", "Never suggest", ["open", "", "avoided"])


def test_a_pin_of_the_whole_page_has_a_heading_of_its_own_and_a_topic_of_that_name_stays_a_topic():
    rows = pin_rows({}, (), (), ("freshness",), {})
    assert {about: [said(row)[:2] for row in some] for about, some in rows.items()} == {
        "Your page": [("freshness", "How fast news ages")]
    }
    assert list(pin_rows({}, ("Freshness",), (), ("freshness",), {})) == ["Topics"]


def test_a_pin_of_an_author_stands_under_a_heading_of_its_own_beside_a_topic_of_that_name():
    rows = pin_rows({}, ("Ada",), ("author:ada",), ("author:",), {})
    assert {about: [said(row)[:3] for row in some] for about, some in rows.items()} == {
        "Topics": [("ada", "Ada", "May be suggested"), ("author:", "author:", "Never suggest")],
        "Authors and words to hide": [("author:ada", "ada (author)", "Leave as it is")],
    }


def test_a_topic_that_looks_like_the_pin_of_an_author_stays_a_topic():
    assert list(pin_rows({}, ("author:ada",), ("author:ada",), (), {})) == ["Topics"]
