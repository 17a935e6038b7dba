"""The list of sources: filtered, paged and selected in bulk; its buttons and their refusals."""

import pytest
from django.test import Client
from django.utils import timezone

from digest.models import Feed, Reader, Subscription
from ranking.config_body import ConfigEdit
from ranking.selectors import config_effective
from ranking.services import config_edit
from ranking.source_rules import SourceRules, rules_of
from tests.support.browser import done_yesterday, messages_in, subscribe

PAGE, CHANGE = "/ui/sources", "/ui/sources/change"


@pytest.fixture
def page(client: Client, ada: Reader) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


@pytest.fixture
def feeds(ada: Reader) -> list[int]:
    """Four feeds of Ada's: fine, failing, empty and moved; the first two in a folder."""
    ids = [subscribe(ada, f"s{n}.example").feed_id for n in range(4)]
    now = timezone.now()
    Feed.objects.update(state="active", last_fetched_at=now, last_new_at=now)
    for pk, name in zip(ids, ("Fine", "Failing", "Empty", "Moved"), strict=True):
        Feed.objects.filter(pk=pk).update(title=name)
    Feed.objects.filter(pk=ids[1]).update(failures=2)
    Feed.objects.filter(pk=ids[2]).update(last_new_at=None)
    Feed.objects.filter(pk=ids[3]).update(moved_url="https://new.example/rss", moved_sightings=1)
    Subscription.objects.filter(feed_id__in=ids[:2]).update(folder="News")
    return ids


def names(page: Client, **asked: str) -> list[str]:
    """Return the listed names, in order."""
    shown = page.get(PAGE, asked).context
    return [line.name for line in [*shown["troubled"], *(row for f in shown["folders"] for row in f.lines)]]


def test_troubled_feeds_stand_first(page: Client, feeds: list[int]):
    assert names(page) == ["Failing", "Moved", "Empty", "Fine"]
    body = page.get(PAGE).content.decode()
    assert "3 in trouble" in body and "Its address now leads to new.example" in body
    assert '<a href="/ui/all?source=s0.example" dir="auto">Fine</a>' in body


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"find": "FIN"}, ["Fine"]),
        ({"find": "news"}, []),  # the name of their folder
        ({"find": "fail"}, ["Failing"]),
        ({"show": "trouble"}, ["Failing", "Moved", "Empty"]),
        ({"show": "weighed"}, ["Fine"]),
        ({"show": "no such"}, ["Failing", "Moved", "Empty", "Fine"]),
        ({"find": "nowhere"}, []),
    ],
)
def test_sources_are_found_without_a_script(page: Client, ada: Reader, feeds, asked, found):
    edit = ConfigEdit(source_weights={"s0.example": 1.2})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    assert names(page, **asked) == found


def test_an_exact_weight_is_shown_as_such_and_no_level_is_pressed(page: Client, ada: Reader, feeds):
    edit = ConfigEdit(source_weights={"s0.example": 1.2})
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=timezone.now())
    row = page.get(PAGE, {"find": "Fine"}).content.decode().split('<li data-source="s0.example"')[1]
    assert "more than usual (1.20)" in row and 'aria-pressed="true"' not in row
    page.post(CHANGE, {"do": "move", "feed": feeds[0], "folder": "x"})
    assert config_effective(reader_id=ada.pk).weight("s0.example") == 1.2


def test_the_chosen_move_and_come_back_to_the_same_list(page: Client, feeds: list[int]):
    answer = page.post(CHANGE, {"do": "move", "folder": "Best", "feed": feeds[:2], "find": "f", "show": ""})
    assert answer.url == f"{PAGE}?find=f"
    assert set(Subscription.objects.filter(folder="Best").values_list("feed_id", flat=True)) == {*feeds[:2]}
    page.post(CHANGE, {"do": "move", "folder": "", "feeds": f"{feeds[0]},{feeds[1]}"})
    page.post(CHANGE, {"do": "move", "folder": "Bad", "whole": "1", "show": "trouble"})
    assert Subscription.objects.filter(folder="Bad").count() == 3
    page.post("/ui/sources/folder", {"folder": "Bad", "name": "Worse"})
    assert Subscription.objects.filter(folder="Worse").count() == 3
    assert page.post("/ui/sources/folder", {"folder": "Bad", "name": "x"}).status_code == 404


def test_a_move_of_many_and_a_renamed_folder_can_be_undone(page: Client, ada: Reader, feeds: list[int]):
    page.post(CHANGE, {"do": "move", "folder": "Best", "feed": feeds})
    page.get("/ui/all")
    shown = page.get(PAGE)
    assert "4 feeds moved to Best." in shown.content.decode()
    shown = page.post(f"{PAGE}/undo-move", follow=True)
    assert "4 feeds moved back." in messages_in(shown.content.decode())
    assert set(Subscription.objects.filter(folder="News").values_list("feed_id", flat=True)) == {*feeds[:2]}
    assert Subscription.objects.filter(folder="").count() == 2
    page.post("/ui/sources/folder", {"folder": "News", "name": ""})
    page.post(f"{PAGE}/undo-move")
    assert Subscription.objects.filter(folder="News").count() == 2
    again = page.post(f"{PAGE}/undo-move", follow=True)
    assert "can no longer be undone" in messages_in(again.content.decode())
    page.post(CHANGE, {"do": "move", "folder": "Best", "feed": feeds})
    done_yesterday(ada, "moved")
    assert "4 feeds moved to Best." not in page.get(PAGE).content.decode()
    page.post(f"{PAGE}/undo-move")
    assert Subscription.objects.filter(folder="Best").count() == 4


def test_what_was_moved_and_removed_is_undone_in_another_browser(page: Client, ada: Reader, feeds: list[int]):
    desk = Client()
    desk.force_login(ada)
    page.post(CHANGE, {"do": "move", "folder": "Best", "feed": feeds})
    assert "4 feeds moved to Best." in desk.get(PAGE).content.decode()
    desk.post(f"{PAGE}/undo-move")
    assert not Subscription.objects.filter(folder="Best").exists()
    page.post(CHANGE, {"do": "remove", "feed": feeds})
    assert desk.get(PAGE).context["undo"]["count"] == 4
    desk.post(f"{PAGE}/undo")
    assert Subscription.objects.filter(reader=ada).count() == 4
    assert page.get(PAGE).context["undo"] is None


def test_what_was_removed_is_told_in_the_language_of_the_page(page: Client, feeds: list[int]):
    page.post(CHANGE, {"do": "remove", "feed": feeds})
    assert "Removed 4 feeds." in page.get(PAGE).content.decode()
    assert "4 Feeds entfernt." in page.get(PAGE, headers={"Accept-Language": "de"}).content.decode()


def test_a_row_weighs_its_source_with_one_button(page: Client, ada: Reader, feeds: list[int]):
    assert page.post(CHANGE, {"less": feeds[0], "feed": feeds}).url == PAGE
    assert config_effective(reader_id=ada.pk).weights() == {"s0.example": 0.5}
    script = {"X-Requested-With": "fetch"}
    assert page.post(CHANGE, {"more": feeds[0]}, headers=script).status_code == 204
    assert config_effective(reader_id=ada.pk).weights() == {"s0.example": 1.5}
    page.post(CHANGE, {"usual": feeds[0]})
    assert config_effective(reader_id=ada.pk).weights() == {}
    wrong = page.post(CHANGE, {"do": "weigh", "level": "lots", "feed": feeds[0]}, follow=True)
    assert "Type a number such as" in messages_in(wrong.content.decode())


def test_many_are_removed_and_had_back(page: Client, ada: Reader, feeds: list[int]):
    shown = page.post(CHANGE, {"do": "remove", "feed": feeds}, follow=True)
    assert "Removed 4 feeds. Your ratings of their items are kept." in shown.content.decode()
    assert not Subscription.objects.exists()
    shown = page.post(f"{PAGE}/undo", follow=True)
    assert "You read 4 feeds again" in messages_in(shown.content.decode())
    assert Subscription.objects.filter(reader=ada, folder="News").count() == 2


def test_a_feed_is_fetched_again_and_not_at_once(page: Client, feeds: list[int]):
    body = page.post(CHANGE, {"fetch": feeds[1]}, follow=True).content.decode()
    assert "1 feed tried in the last ten minutes" in messages_in(body)
    Feed.objects.update(last_fetched_at=None)
    body = page.post(CHANGE, {"do": "fetch", "whole": "1"}, follow=True).content.decode()
    assert "4 feeds will be fetched within minutes" in messages_in(body)


@pytest.mark.parametrize("do", ["move", "weigh", "fetch", "remove"])
def test_nothing_of_others_is_changed(page: Client, ben: Reader, do: str):
    theirs = subscribe(ben, "bens.example").feed_id
    for chosen in ({"feed": theirs}, {"feeds": str(theirs)}, {"whole": "1"}):
        answer = page.post(CHANGE, {"do": do, "level": "less", "folder": "Mine", **chosen}, follow=True)
        assert "Nothing was chosen" in messages_in(answer.content.decode())
    for button in ("less", "fetch"):
        assert page.post(CHANGE, {button: theirs}).status_code == 404
    assert Subscription.objects.get().folder == "" and config_effective(reader_id=ben.pk).weights() == {}


def test_the_exact_weight_of_one_source_is_set_on_its_page_and_kept_where_it_is_refused(
    page: Client, ada: Reader, feeds: list[int]
):
    address = f"{PAGE}/{feeds[0]}"
    assert page.post(address, {"level": "1.35"}).status_code == 302
    assert config_effective(reader_id=ada.pk).weights() == {"s0.example": 1.35}
    answer = page.post(address, {"level": "7"})
    assert answer.status_code == 422 and 'value="7"' in answer.content.decode()
    assert "number between 0.1 and 2.0; you gave 7" in answer.content.decode()
    assert Subscription.objects.get(feed_id=feeds[0]).folder == "News", "a weight leaves the folder alone"


WHOLE_PAGE = {
    "level": "1.35", "rules": "1", "shelf_life": "24", "daily_limit": "3", "never_missed": "on",
    "pin": "locked", "own_name": "Mine", "folder": "Kept", "ai_enabled": "on",
}  # fmt: skip


def test_one_save_of_a_sources_page_keeps_every_change_on_it(page: Client, ada: Reader, feeds: list[int]):
    address = f"{PAGE}/{feeds[0]}"
    body = page.get(address).content.decode()
    form = body[body.index("novalidate") : body.index("</form>", body.index("novalidate"))]
    assert all(f'name="{name}"' in form for name in (*WHOLE_PAGE, "in_today")), "one form"
    assert form.index('name="in_today"') < form.index('name="daily_limit"') < form.index('id="filing"')
    assert page.post(address, WHOLE_PAGE).url == address
    config = config_effective(reader_id=ada.pk).config
    row = Subscription.objects.get(feed_id=feeds[0])
    assert config_effective(reader_id=ada.pk).weights() == {"s0.example": 1.35}
    assert rules_of(config, "s0.example") == SourceRules(24, 3, True) and "s0.example" in config.locked
    assert (row.own_name, row.folder, row.in_today) == ("Mine", "Kept", False)
    assert page.post(address, WHOLE_PAGE).url == address
    assert config_effective(reader_id=ada.pk).config.version == config.version, "nothing is saved twice"


@pytest.mark.parametrize("wrong", [{"level": "7"}, {"daily_limit": "99"}, {"own_name": "x" * 2_000}])
def test_what_cannot_be_saved_on_a_sources_page_saves_nothing_and_keeps_what_was_typed(
    page: Client, ada: Reader, feeds: list[int], wrong: dict[str, str]
):
    answer = page.post(f"{PAGE}/{feeds[0]}", WHOLE_PAGE | wrong)
    body = answer.content.decode()
    assert answer.status_code == 422 and config_effective(reader_id=ada.pk).config.version == 0
    assert Subscription.objects.get(feed_id=feeds[0]).folder == "News"
    assert 'value="24" selected' in body and 'value="locked" selected' in body and 'value="Kept"' in body
    assert 'name="never_missed" aria-describedby="missed-hint" checked' in body


def test_a_weight_that_was_left_as_it_was_is_not_the_readers_own(page: Client, ada: Reader, feeds: list[int]):
    page.post(f"{PAGE}/{feeds[0]}", WHOLE_PAGE | {"level": "usual"})
    figure = page.get(f"{PAGE}/{feeds[0]}").content.decode().split('name="level"')[1].split('value="')[1]
    page.post(f"{PAGE}/{feeds[0]}", WHOLE_PAGE | {"level": figure.split('"')[0]})
    assert config_effective(reader_id=ada.pk).weights() == {}


@pytest.mark.parametrize("number", [3, 300])
def test_the_page_costs_the_same_for_three_and_three_hundred(
    page: Client, ada: Reader, number: int, django_assert_num_queries
):
    for n in range(number):
        subscribe(ada, f"s{n}.example")
    Feed.objects.filter(source_id="s1.example").update(failures=1)
    with django_assert_num_queries(11):
        page.get(PAGE, {"find": "s", "show": ""})


def test_the_undo_of_a_removal_ends_when_a_feed_is_added_by_any_way(
    page: Client, ada: Reader, feeds: list[int]
):
    page.post(CHANGE, {"do": "remove", "feed": feeds})
    page.get("/ui/all")
    assert page.get(PAGE).context["undo"]["count"] == 4
    added = subscribe(ada, "new.example")
    Subscription.objects.filter(pk=added.pk).update(created_at=timezone.now())
    assert page.get(PAGE).context["undo"] is None
    shown = page.post(f"{PAGE}/undo", follow=True)
    assert "can no longer be undone" in messages_in(shown.content.decode())
    assert Subscription.objects.filter(reader=ada).count() == 1
    page.post(CHANGE, {"do": "remove", "feed": [added.feed_id]})
    assert page.get(PAGE).context["undo"]["count"] == 1
