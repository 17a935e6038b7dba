"""The comparison of a reader's lists before and after an upgrade."""

from tests.lab.upgrade.command import difference


def item(pk: int, **words: object) -> dict[str, object]:
    fields = {"title": f"Item {pk}", "url": f"https://a.example/{pk}", "source": "a.example"}
    return {"item_id": pk, **fields, "useful": None, "read_at": None, "saved_at": None, **words}


def look(*items: dict[str, object], today: tuple[int, ...] = (), unread: int = 0) -> dict[str, object]:
    entries = [{"item_id": pk, "title": f"Item {pk}", "source": "a.example", "score": 1.0} for pk in today]
    return {"items": list(items), "today": entries, "unread": unread}


def test_the_same_look_twice_has_no_difference():
    one = look(item(1, useful=True), item(2, read_at="2026-03-18"), today=(1, 2))
    found = difference(one, one)
    assert not any(found[name] for name in found if name not in ("unread", "today"))
    assert [(entry["now"], entry["before"]) for entry in found["today"]] == [(1, 1), (2, 2)]


def test_a_lost_item_takes_its_marks_with_it_and_says_so():
    found = difference(look(item(1, useful=False), item(2)), look(item(2)))
    assert found["lost"] == ["Item 1"]
    assert found["marks_lost"] == [("useful", "Item 1")]


def test_an_item_that_was_read_and_is_unread_is_named():
    found = difference(look(item(1, read_at="2026-03-18")), look(item(1)))
    assert found["unread_again"] == ["Item 1"]


def test_changed_words_and_links_are_paired_with_the_old_ones():
    found = difference(look(item(1)), look(item(1, title="New", url="https://b.example/1"), item(3)))
    assert found["titles_changed"] == [("Item 1", "New")]
    assert found["links_changed"] == [("https://a.example/1", "https://b.example/1")]
    assert found["gained"] == ["Item 3"]
