"""The admin for staff who may do some things only: no action, page or form gives them more."""

import pytest
from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client as Assistant
from allauth.idp.oidc.models import Token
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import Group, Permission
from django.test import Client, RequestFactory
from django.urls import reverse

from digest.account_admin import AccountRowAdmin
from digest.models import Feed, Reader, Subscription
from tests.support.factories import FeedFactory, OperatorFactory, ReaderFactory, SubscriptionFactory

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


def every_right() -> Reader:
    """Return a member of the staff with every permission there is, but not all rights."""
    stan = staff()
    stan.user_permissions.set(Permission.objects.all())
    return Reader.objects.get(pk=stan.pk)


def test_no_list_is_filtered_by_a_column_that_its_pages_hide():
    client = signed_in(every_right())
    hidden: dict[str, list[str]] = {}
    for model, page in admin.site._registry.items():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        request = client.get(address).wsgi_request
        fields = flatten_fieldsets(page.fieldsets or page.get_fieldsets(request))
        filtered = {one[0] if isinstance(one, tuple) else one for one in page.list_filter}
        shown = {*fields, *page.list_display, *filtered, model._meta.pk.name}
        for field in model._meta.concrete_fields:
            if field.name not in shown or field.name == "password":
                ways = [
                    field.name,
                    f"{field.name}__startswith",
                    f"{field.name}__regex",
                    f"{field.name}__a__gte",
                ]
                assert not any(page.lookup_allowed(way, "1", request) for way in ways), (model, field.name)
                hidden.setdefault(model._meta.label, []).append(field.name)
    secret = {"digest.Reader": "feed_token", "digest.Feed": "own_address", "digest.ApiToken": "digest"}
    secret |= {"mfa.Authenticator": "data", "allauth_idp_oidc.Token": "hash", "digest.Notification": "news"}
    assert all(name in hidden[label] for label, name in secret.items())
    assert "newsletter_token" in hidden["digest.Reader"]


def test_who_sees_readers_learns_no_secret_address_letter_by_letter():
    ada = ReaderFactory(username="ada", feed_token="Lamp-and-kettle", newsletter_token="kettle")
    app = Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": "JBSWY3DP"})
    client = signed_in(staff("digest.view_reader", "mfa.view_authenticator"))
    for list_, filters in (
        ("admin:digest_reader_changelist", "feed_token__startswith=Lamp"),
        ("admin:digest_reader_changelist", "newsletter_token__gte=k"),
        ("admin:digest_reader_changelist", "username=ada&feed_token__regex=^L"),
        ("admin:mfa_authenticator_changelist", "data__secret__startswith=J"),
        ("admin:mfa_authenticator_changelist", f"id={app.pk}&data__contains=J"),
    ):
        assert client.get(f"{reverse(list_)}?{filters}").status_code == 400, filters
    assert client.get(f"{reverse('admin:digest_reader_changelist')}?is_staff__exact=0").status_code == 200


def test_who_may_do_everything_else_opens_no_account_of_others_of_the_staff():
    olga, ada = OperatorFactory(username="olga"), ReaderFactory(username="ada")
    client = signed_in(every_right())
    address, factor = reverse("admin:account_emailaddress_add"), Authenticator.Type.TOTP
    for who, added in ((olga, False), (ada, True)):
        sent = {"user": who.pk, "email": f"{who.username}@stan.example", "verified": "on"}
        assert client.post(address, sent).status_code == (302 if added else 200)
        assert EmailAddress.objects.filter(user=who).exists() == added
        Authenticator.objects.create(user=who, type=factor, data={})
        own = EmailAddress.objects.create(user=who, email=f"{who.username}@example.org", verified=False)
        client.post(
            reverse("admin:account_emailaddress_changelist"),
            {"action": "make_verified", "_selected_action": [own.pk]},
        )
        own.refresh_from_db()
        assert own.verified == added
    mine = EmailAddress.objects.get(email="ada@stan.example")
    moved = {"user": olga.pk, "email": mine.email, "verified": "on"}
    assert client.post(reverse("admin:account_emailaddress_change", args=[mine.pk]), moved).status_code == 200
    assert not EmailAddress.objects.filter(user=olga, verified=True).exists()
    for who, done in ((olga, 0), (ada, 1)):
        row = Authenticator.objects.get(user=who)
        client.post(reverse("admin:mfa_authenticator_delete", args=[row.pk]), {"post": "yes"})
        client.post(
            reverse("admin:mfa_authenticator_changelist"),
            {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
        )
        assert Authenticator.objects.filter(user=who).count() == 1 - done


def test_nobody_makes_or_changes_a_token_of_an_assistant_by_hand():
    pages = [admin.site._registry[model] for model in (Assistant, Token)]
    request = signed_in(every_right()).get("/admin/").wsgi_request
    assert not any(page.has_add_permission(request) or page.has_change_permission(request) for page in pages)
    assert all(page.has_delete_permission(request) for page in pages)


def test_who_may_change_groups_gives_no_group_more_rights():
    stan = every_right()
    group = Group.objects.create(name="helpers")
    stan.groups.add(group)
    client, every = signed_in(stan), [*Permission.objects.values_list("pk", flat=True)]
    sent = {"name": "helpers", "permissions": every}
    assert client.post(reverse("admin:auth_group_change", args=[group.pk]), sent).status_code == 403
    assert client.post(reverse("admin:auth_group_add"), sent | {"name": "friends"}).status_code == 403
    assert not group.permissions.exists()


def test_every_row_of_a_reader_that_staff_may_write_by_hand_is_known():
    """A new table whose rows open an account, or give rights, must be added to `digest.account_admin`."""
    request = signed_in(every_right()).get("/admin/").wsgi_request
    written = {
        model._meta.label
        for model, page in admin.site._registry.items()
        if page.has_add_permission(request) or page.has_change_permission(request)
        if any(field.related_model in (Reader, Permission) for field in model._meta.get_fields())
        if not isinstance(page, AccountRowAdmin)
    }
    known = {"digest.Reader", "digest.Subscription", "digest.Feed", "digest.Invitation"}
    assert written == known | {"advisor.GuidanceRule", "advisor.GuidanceInsight"}


@pytest.mark.parametrize("page", ["add", "change"])
def test_who_may_write_subscriptions_subscribes_nobody_to_anothers_private_feed(page: str, ada: Reader):
    """Its newsletters and articles would stand in their own lists."""
    stan = staff("digest.add_subscription", "digest.change_subscription", "digest.view_subscription")
    own = SubscriptionFactory(reader=stan)
    secret = FeedFactory(url="private:1", owner=ada, own_address="https://club.example/feed")
    typed = {"reader": stan.pk, "feed": secret.pk, "folder": "", "own_name": ""}
    typed |= {"created_at_0": "2026-03-18", "created_at_1": "12:00:00"}
    url = f"/admin/digest/subscription/{'add' if page == 'add' else f'{own.pk}/change'}/"
    client = signed_in(stan)
    answer = client.post(url, typed)
    assert answer.status_code == 200 and "A private feed has one reader" in answer.content.decode()
    assert not Subscription.objects.filter(feed=secret).exists()
    assert client.post(url, typed | {"feed": FeedFactory().pk}).status_code == 302
    assert signed_in(OperatorFactory()).post(url, typed | {"reader": ada.pk}).status_code == 302
