"""The admin for staff who may do some things only: no action, page or form gives them more."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client, RequestFactory
from django.urls import reverse

from digest.models import Feed, Reader
from tests.support.factories import FeedFactory, OperatorFactory, ReaderFactory

admin.autodiscover()
pytestmark = pytest.mark.django_db
PASSWORD = "a-lamp-and-a-kettle"


def staff(*permissions: str) -> Reader:
    """Return a member of the staff with these permissions alone."""
    one = ReaderFactory(username="stan", is_staff=True)
    for name in permissions:
        app, codename = name.split(".")
        one.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return Reader.objects.get(pk=one.pk)


def signed_in(reader: Reader) -> Client:
    client = Client()
    client.force_login(reader)
    return client


def test_who_may_only_look_is_offered_no_action_of_any_list(rf: RequestFactory):
    views = [
        Permission.objects.filter(content_type__app_label=model._meta.app_label, codename__startswith="view_")
        for model in admin.site._registry
    ]
    looker = staff()
    for rows in views:
        looker.user_permissions.add(*rows)
    request = rf.get("/")
    request.user = Reader.objects.get(pk=looker.pk)
    offered = {
        model._meta.label: [*page.get_actions(request)]
        for model, page in admin.site._registry.items()
        if page.has_view_permission(request)
    }
    assert len(offered) > 30 and {name: names for name, names in offered.items() if names} == {}


@pytest.mark.parametrize("action", ["check_soon", "pause", "resume"])
def test_who_may_only_look_at_feeds_pauses_and_fetches_none(action: str):
    feed = FeedFactory(state=Feed.State.PAUSED if action == "resume" else Feed.State.ACTIVE)
    before = Feed.objects.values().get(pk=feed.pk)
    client = signed_in(staff("digest.view_feed"))
    client.post(reverse("admin:digest_feed_changelist"), {"action": action, "_selected_action": [feed.pk]})
    assert Feed.objects.values().get(pk=feed.pk) == before


def form_of(client: Client, reader: Reader) -> dict[str, object]:
    """Return the fields of a reader's form as they stand there."""
    page = client.get(reverse("admin:digest_reader_change", args=[reader.pk]))
    form = page.context["adminform"].form
    found = {name: form.initial.get(name) for name in form.fields}
    return {name: value for name, value in found.items() if value is not None and value is not False}


def test_who_may_change_readers_makes_nobody_an_operator():
    stan = staff("digest.change_reader", "digest.view_reader")
    client, ada = signed_in(stan), ReaderFactory(username="ada")
    every = [*Permission.objects.values_list("pk", flat=True)]
    more = {"is_staff": "on", "is_superuser": "on", "user_permissions": every}
    for reader in (ada, stan):
        answer = client.post(
            reverse("admin:digest_reader_change", args=[reader.pk]), form_of(client, reader) | more
        )
        assert answer.status_code == 302, answer.context["errors"]
        reader.refresh_from_db()
        assert (reader.is_superuser, reader.is_staff) == (False, reader == stan)
    assert stan.user_permissions.count() == 2 and not ada.user_permissions.exists()


@pytest.mark.parametrize("is_superuser", [True, False])
def test_who_may_change_readers_takes_over_no_other_account_of_the_staff(is_superuser: bool):
    olga = OperatorFactory(username="olga", is_superuser=is_superuser)
    client = signed_in(staff("digest.change_reader", "digest.view_reader", "digest.delete_reader"))
    sent = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    assert client.post(f"/admin/digest/reader/{olga.pk}/password/", sent).status_code == 403
    taken = form_of(client, olga) | {"username": "olga", "email": "stan@example.org", "time_zone": "UTC"}
    assert client.post(reverse("admin:digest_reader_change", args=[olga.pk]), taken).status_code == 403
    assert (
        client.post(reverse("admin:digest_reader_delete", args=[olga.pk]), {"post": "yes"}).status_code == 403
    )
    OperatorFactory()  # olga is not the last one
    client.post(
        reverse("admin:digest_reader_changelist"),
        {"action": "delete_selected", "_selected_action": [olga.pk], "post": "yes"},
    )
    again = Reader.objects.get(pk=olga.pk)
    assert (again.password, again.email) == (olga.password, olga.email)


def test_who_may_change_readers_helps_a_reader_to_a_new_password_and_deletes_one():
    client, ada = (
        signed_in(staff("digest.change_reader", "digest.view_reader", "digest.delete_reader")),
        ReaderFactory(username="ada"),
    )
    sent = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    assert client.post(f"/admin/digest/reader/{ada.pk}/password/", sent).status_code == 302
    assert Reader.objects.get(pk=ada.pk).check_password(PASSWORD)
    client.post(reverse("admin:digest_reader_delete", args=[ada.pk]), {"post": "yes"})
    assert not Reader.objects.filter(pk=ada.pk).exists()


def test_who_may_not_see_a_list_gets_none_of_its_pages():
    client, ada = signed_in(staff("digest.view_item")), ReaderFactory(username="ada")
    for model, page in admin.site._registry.items():
        if model._meta.label_lower == "digest.item":
            continue
        for url in page.urls:
            names = [*url.pattern.converters] or (["object_id"] if "object_id" in str(url.pattern) else [])
            values = {name: ada.pk if name == "reader_id" else 1 for name in names}
            address = reverse(f"admin:{url.name}", kwargs=values) if url.name else ""
            if address:
                assert client.get(address).status_code in (302, 403), address
                assert client.post(address).status_code in (302, 403), address
