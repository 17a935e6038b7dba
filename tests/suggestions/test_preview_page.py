"""The preview page: the digest that accepting makes is the one that was shown."""

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from digest.daily.services import digest_build
from digest.days import day_of
from digest.models import Digest
from suggestions.models import Suggestion
from suggestions.preview import suggestion_side_by_side
from tests.support.browser import fresh_item, suggested


def paper(reader, count: int = 40) -> Suggestion:
    """Forty items of four sources, and a suggestion of more from the Gazette, which stands last."""
    for n in range(count):
        fresh_item(reader, hours=1 + n / 4, key=f"source{n % 3}.example", title=f"Item {n}")
    for n in range(6):
        fresh_item(reader, hours=14 + n, key="gazette.example", title=f"Gazette {n}")
    return suggested(reader, current_value="1.0", suggested_value="1.3")


def order_of(reader) -> list[int]:
    now = timezone.now()
    digest_build(reader=reader, date=day_of(now, reader.zone), now=now)
    digest = Digest.objects.get(reader=reader, date=day_of(now, reader.zone))
    return list(digest.impressions.order_by("rank").values_list("item_id", flat=True))


def test_both_sides_are_the_digest_before_and_after_accepting(ada, client: Client):
    suggestion = paper(ada)
    before = order_of(ada)
    left, right = suggestion_side_by_side(suggestion=suggestion, now=timezone.now())
    assert [item.item_id for item in left] == before
    client.force_login(ada)
    client.post(reverse("suggestions:decide", args=[suggestion.pk, "accept"]))

    assert order_of(ada) == [item.item_id for item in right] != before


def test_the_page_marks_what_comes_in_and_what_drops_out(ada, client: Client):
    suggestion = paper(ada)
    client.force_login(ada)
    page = client.get(reverse("suggestions:preview", args=[suggestion.pk])).content.decode()
    rows = [row.split("<td")[1:] for row in page.split("<tbody>")[1].split("<tr")[1:]]
    left, right = ("".join(row[side] for row in rows) for side in (0, 1))

    assert "Drops out from" in left and "Comes in at" not in left
    assert "Comes in at" in right and "Drops out from" not in right
    assert "would come in" in page
    assert not Suggestion.objects.exclude(status="pending").exists()


def test_both_sides_share_one_row_a_place_and_small_screens_may_leave_out_the_rest(ada, client: Client):
    suggestion = paper(ada)
    client.force_login(ada)
    page = client.get(reverse("suggestions:preview", args=[suggestion.pk]))
    left, right = suggestion_side_by_side(suggestion=suggestion, now=timezone.now())
    pairs = page.context["pairs"]

    assert [pair.rank for pair in pairs] == list(range(1, 31))
    assert [pair.before.item.item_id for pair in pairs] == [item.item_id for item in left]
    assert [pair.after.item.item_id for pair in pairs] == [item.item_id for item in right]
    assert 0 < page.context["unchanged"] < 30
    assert page.content.count(b'<tr class="still"') == page.context["unchanged"]
    for pair in pairs:
        assert pair.unchanged == (not (pair.before.highlighted or pair.after.highlighted))


def test_an_answered_suggestion_leads_to_the_history(ada, client: Client):
    suggestion = paper(ada, 3)
    client.force_login(ada)
    client.post(reverse("suggestions:decide", args=[suggestion.pk, "reject"]))

    page = client.get(reverse("suggestions:preview", args=[suggestion.pk]))
    assert page.status_code == 302 and page["Location"] == reverse("suggestions:history")


def test_the_card_leads_to_the_preview_and_the_preview_costs_the_same_for_more_items(
    ada, client: Client, django_assert_max_num_queries
):
    suggestion = paper(ada)
    client.force_login(ada)
    address = reverse("suggestions:preview", args=[suggestion.pk])
    assert address in client.get(reverse("suggestions:list")).content.decode()

    with django_assert_max_num_queries(29):
        client.get(address)
