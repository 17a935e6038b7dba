"""The operator's pages of digest and ranking: quick lists, and records that cannot be changed by hand."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from django.contrib import admin
from django.contrib.admin.widgets import ForeignKeyRawIdWidget
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.forms import ModelChoiceField
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from advisor.models import Decision, Run
from digest.accounts.invitations import invitation_issue
from digest.accounts.tokens import token_issue
from digest.daily.services import digest_build
from digest.feedback.services import feedback_set, weights_update
from digest.models import (
    Delivery,
    Digest,
    Feedback,
    Item,
    Notification,
    Reader,
    ReasonTag,
    Spend,
    SpendRefusal,
    Subscription,
    SuggestedReasons,
    Summary,
)
from ranking.models import LearnedWeight, WeightSnapshot
from ranking.services import alias_store
from tests.support.accepts import source_weight_set
from tests.support.factories import (
    FeedFactory,
    ItemFactory,
    OperatorFactory,
    ReaderFactory,
    SourceFactory,
    SubscriptionFactory,
)

admin.autodiscover()
MODELS = [model for model in admin.site._registry if model._meta.app_label in ("digest", "ranking")]
RECORDS = [
    "digest.delivery",
    "digest.digest",
    "digest.feedback",
    "digest.notification",
    "digest.spend",
    "digest.spendrefusal",
    "digest.suggestedreasons",
    "digest.summary",
    "ranking.rankconfig",
    "ranking.configversion",
    "ranking.learnedweight",
    "ranking.weightsnapshot",
]


def fill(reader: Reader, now, items: int = 3) -> None:
    """At least one row of everything for `reader`."""
    source = SourceFactory()
    SubscriptionFactory(reader=reader, feed=FeedFactory(source=source))
    for item in ItemFactory.create_batch(items, source=source):
        feedback_set(reader=reader, item_id=item.id, useful=True, tags=["depth"], now=now)
    source_weight_set(reader_id=reader.id, source=source.key, weight=1.3, ref="", now=now)
    weights_update(reader_id=reader.id, now=now)
    digest_build(reader=reader, date=now.astimezone(reader.zone).date(), now=now)
    alias_store(old=f"before-{source.key}", new=source.key, now=now)
    token_issue(reader=reader, name="notes", scope="read", expires_at=None, now=now)
    invitation_issue(note="a friend", now=now)
    Delivery.objects.create(reader=reader, date=now.date(), status="sent", claimed_at=now)
    Notification.objects.create(reader=reader, news=[], created_at=now, next_at=now)
    Spend.objects.create(
        surface="advisor", reader=reader, model="m", reserved_usd=1, day=now.date(), created_at=now
    )
    SpendRefusal.objects.create(
        surface="advisor", reader=reader, model="m", asked_usd=1, day=now.date(), created_at=now
    )
    for made in (Summary, SuggestedReasons):
        made.objects.create(fingerprint=reader.pk.hex, model="m", created_at=now)


@pytest.fixture
def site(operator) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def page(model, view: str, *args) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=args)


def test_everything_an_operator_needs_is_there():
    labels = {model._meta.label_lower for model in MODELS}
    assert {"digest.feed", "digest.source", "digest.item", "digest.subscription"} <= labels
    assert {"digest.reader", "digest.reasontag", *RECORDS} <= labels


def test_every_list_search_and_row_opens(site, ada, now):
    fill(ada, now)
    for model in MODELS:
        row = model._default_manager.first()
        searched = {"q": "a"} if admin.site._registry[model].search_fields else {}
        assert site.get(page(model, "changelist"), searched).status_code == 200, model
        assert site.get(page(model, "change", row.pk)).status_code == 200, model


def test_no_row_is_headed_by_an_identifier_and_no_number_has_a_dozen_digits(site, ada, now):
    fill(ada, now)
    LearnedWeight.objects.update(delta=0.123456789, p_better=0.6381597382720107)
    WeightSnapshot.objects.update(p_better=0.6381597382720107, reason="too_few_thumbs")
    for model in MODELS:
        if model is Reader:
            continue
        change = site.get(page(model, "change", model._default_manager.first().pk)).content.decode()
        for body in (site.get(page(model, "changelist")).content.decode(), change):
            assert not re.search(r">[^<]*\d\.\d{7}[^<]*</(td|div|p)>", body), model
        assert str(ada.pk) not in strip_tags(change.partition("<main")[0] + change.partition("</h2>")[0]), (
            model
        )
    body = site.get(page(WeightSnapshot, "changelist")).content.decode()
    assert ">0.638</td>" in body and ">too few thumbs</td>" in body


def test_no_form_offers_every_row_of_a_table_that_grows(site, operator):
    request = RequestFactory().get("/")
    request.user = operator
    for model, owner in admin.site._registry.items():
        if not (owner.has_add_permission(request) or owner.has_change_permission(request)):
            continue
        fields = owner.get_form(request).base_fields.values()
        offered = [one.queryset.model for one in fields if isinstance(one, ModelChoiceField)]
        raw = [
            one
            for one in fields
            if isinstance(getattr(one.widget, "widget", one.widget), ForeignKeyRawIdWidget)
        ]
        few = [one for one in offered if one in (Group, Permission)]
        assert len(offered) == len(raw) + len(few), model


def test_a_list_takes_as_many_queries_for_many_rows_as_for_few(site, ada, now, django_assert_max_num_queries):
    for n in range(12):
        fill(OperatorFactory(username=f"o{n}") if n else ada, now, items=2)
    for model in MODELS:
        # session, operator, count, rows, filters (one each), the two bounds of the date hierarchy
        with django_assert_max_num_queries(9, info=model._meta.label_lower):
            site.get(page(model, "changelist"))


def test_a_record_is_not_added_changed_or_deleted_by_hand(site, ada, now):
    fill(ada, now)
    for label in RECORDS:
        model = next(m for m in MODELS if m._meta.label_lower == label)
        row = model._default_manager.first()
        assert site.get(page(model, "add")).status_code == 403, label
        assert site.post(page(model, "change", row.pk), {}).status_code == 403, label
        assert site.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403, label
        assert model._default_manager.filter(pk=row.pk).exists(), label


def test_deleting_a_reader_asks_first_and_takes_their_records_along(site, ada, now):
    fill(ada, now)
    url = page(Reader, "delete", ada.pk)
    assert site.get(url).status_code == 200 and Reader.objects.filter(pk=ada.pk).exists()
    assert site.post(url, {"post": "yes"}).status_code == 302
    assert not Reader.objects.filter(pk=ada.pk).exists()
    assert not Digest.objects.exists() and not Feedback.objects.exists()
    assert Spend.objects.get().reader is None  # money spent stays spent


def test_a_deletion_lists_its_first_rows_and_counts_the_others(site, ada, now):
    fill(ada, now, items=40)
    body = site.get(page(Reader, "delete", ada.pk)).content.decode()
    assert "Ratings: 40" in " ".join(body.split()) and body.count("Rating: <a") <= 10
    rest = re.search(r"… and (\d+) more", body)
    assert rest and int(rest[1]) >= 40
    assert (
        "more" not in site.get(page(Subscription, "delete", Subscription.objects.get().pk)).content.decode()
    )


def test_an_operator_can_teach_the_taxonomy_a_synonym(site):
    tag = ReasonTag.objects.get(slug="hype")
    form = {"slug": "hype", "label": tag.label, "kind": tag.kind, "position": 0, "synonyms": '["buzz"]'}
    assert site.post(page(ReasonTag, "change", "hype"), form).status_code == 302
    assert ReasonTag.objects.get(slug="hype").synonyms == ["buzz"]


def test_an_operator_can_add_a_reader(site):
    form = {
        "username": "cleo",
        "usable_password": "true",
        "password1": "plum-tree-9",
        "password2": "plum-tree-9",
    }
    assert site.post(page(Reader, "add"), form).status_code == 302
    assert Reader.objects.get(username="cleo").check_password("plum-tree-9")


def test_the_admin_is_english_and_says_the_zone_of_its_times(site, operator, ada):
    Reader.objects.filter(pk=operator.pk).update(language="de", time_zone="Asia/Kolkata")
    Reader.objects.filter(pk=ada.pk).update(last_login=datetime(2026, 3, 4, 20, 0, tzinfo=UTC))
    answer = site.get(page(Reader, "changelist"), headers={"Accept-Language": "de"})
    body = answer.content.decode()
    assert answer["Content-Language"] == "en" and "Log out" in body and "Abmelden" not in body
    assert "5 March 2026, 01:30" in body and body.count("Times on these pages are in Asia/Kolkata.") == 1


def test_a_readers_page_begins_with_facts_and_asks_in_plain_words(site, ada, now):
    fill(ada, now)
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", status="agent_error", created_at=now)
    body = site.get(page(Reader, "change", ada.pk)).content.decode()
    facts = body.index('class="facts"')
    assert facts < body.index('name="username"') < body.index("Single rights")
    for words in ("Last digest", "Last mail", "failed,", "Suggestions to answer"):
        assert facts < body.index(words) < body.index('name="username"')
    assert page(Run, "change", run.pk) in body and page(Digest, "change", Digest.objects.get().pk) in body
    assert ">Monday</option>" in body and ">Deutsch</option>" in body and ">07:00</option>" in body
    assert "Staff status" not in body


def reader_facts_of(site, reader) -> dict[str, str]:
    body = site.get(page(Reader, "change", reader.pk)).content.decode()
    found = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", body)
    return {name: unescape(re.sub("<[^>]*>", "", words)) for name, words in found}


def test_a_readers_page_says_why_no_suggestion_waits(site, ada, now, settings):
    source = SourceFactory()
    SubscriptionFactory(reader=ada, feed=FeedFactory(source=source))
    for item in ItemFactory.create_batch(3, source=source):
        feedback_set(reader=ada, item_id=item.id, useful=True, tags=["depth"], now=now)
    facts = reader_facts_of(site, ada)
    assert facts["Ratings"] == "3 over 1 day, 3 with a reason"
    assert "Rate 47 more headlines" in facts["Why there are none"]
    settings.ADVISOR_MIN_ITEMS, settings.ADVISOR_MIN_DAYS, settings.ADVISOR_MIN_TAGGED = 1, 1, 1
    assert "has not looked yet" in reader_facts_of(site, ada)["Why there are none"]
    run = Run.objects.create(
        reader=ada, day=now.date(), trigger="scheduled", status="completed", created_at=now,
        message="Nothing was clear enough to ask.",
    )  # fmt: skip
    told = reader_facts_of(site, ada)["Why there are none"]
    assert told.startswith("Nothing was clear enough to ask. (looked 18 March 2026")
    Run.objects.filter(pk=run.pk).update(status="running")
    assert reader_facts_of(site, ada)["Why there are none"] == "A run is under way."


def test_readers_have_no_business_there(ada, db):
    client = Client()
    client.force_login(ada)
    assert client.get("/admin/digest/feed/").status_code == 302


def test_the_list_of_readers_has_their_ids(client, operator, ada):
    client.force_login(operator)
    assert f'field-id">{ada.pk}<' in client.get("/admin/digest/reader/").content.decode()


@pytest.mark.parametrize(
    ("word", "found"), [("nowhere", []), ("reader", ["reader-3", "reader-2", "reader-1"])]
)
def test_a_search_that_fits_a_page_looks_through_the_rows_once(client, operator, word, found):
    for n in (1, 2, 3):
        ReaderFactory(username=f"reader-{n}")
    client.force_login(operator)
    with CaptureQueriesContext(connection) as asked:
        page = client.get(reverse("admin:digest_reader_changelist"), {"q": word, "o": "-1"})
    searched = [query for query in asked.captured_queries if f"{word}%" in query["sql"].lower()]
    alone = [query for query in searched if " IN (" not in query["sql"]]
    assert [row.username for row in page.context["cl"].result_list] == found
    assert len(alone) == 1 and len(searched) == 1 + bool(found)


@pytest.mark.parametrize(
    ("model", "asked", "few", "many"),
    [
        (Reader, "ad", 1, 1),
        (Reader, "da@example", 1, 0),
        (Reader, "DA@", 1, 0),
        (Digest, "ada", 1, 1),
        (Digest, "ad nobody", 0, 0),
        (Feedback, '"ada"', 3, 3),
        (Subscription, "https://", 1, 1),
        (Subscription, "ada https://", 1, 1),
        (Subscription, "ben https://", 0, 0),
    ],
)
def test_operators_find_rows_by_any_part_of_a_column_and_of_many_by_how_it_begins(
    site, ada, now, monkeypatch, model, asked, few, many
):
    fill(ada, now)
    Reader.objects.filter(pk=ada.pk).update(email="ada@example.org")

    def found() -> int:
        return site.get(page(model, "changelist"), {"q": asked}).context["cl"].result_count

    assert found() == few
    monkeypatch.setattr("ranking.common.admin.WHOLE", 0)
    assert found() == many


@pytest.mark.parametrize("named", [1, 100])
def test_rows_of_many_readers_are_found_like_those_of_a_few(site, ada, now, monkeypatch, named):
    monkeypatch.setattr("ranking.common.admin.NAMED", named)
    for name in ("ada-2", "ada-3", "ben-2"):
        SubscriptionFactory(reader=ReaderFactory(username=name))
    assert site.get(page(Subscription, "changelist"), {"q": "ada-"}).context["cl"].result_count == 2


def test_operators_find_runs_by_their_whole_identifier_alone(site, ada, now):
    run = Run.objects.create(reader=ada, day=now.date(), trigger="ui", created_at=now)
    Decision.objects.create(
        run=run, reader=ada, actor="runs", action="run_skipped", reason="Too soon", at=now
    )
    for asked, found in ((str(run.pk), 1), (str(run.pk)[:8], 0), ("ada", 1), ("Too", 1), ("soon", 1)):
        for model in (Run, Decision):
            there = found if model is Decision or asked not in ("Too", "soon") else 0
            assert site.get(page(model, "changelist"), {"q": asked}).context["cl"].result_count == there


def test_operators_find_items_by_words_of_their_text_and_by_address(site):
    tides = ItemFactory(title="Tides", text="Harbour walls rise.")
    ItemFactory(title="Trams")
    for asked, found in (("harbour -trams", 1), (tides.url, 1), ("harbours wanted", 0), ("-tides", 0)):
        page_ = site.get(page(Item, "changelist"), {"q": asked})
        assert page_.context["cl"].result_count == found, asked
