"""No answer to a reader has a word of a feed that only somebody else reads.

Every word of a feed carries its mark (`tests/support/marked_worlds.py`). Pages and operations come from the
URL conf, tools from the registry of the agent. A new one is tested here, or fails here until its ids or
arguments are known.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.mcp_server import session_call, session_close, session_open
from advisor.tools.registry import TOOLS
from config.api.mcp_tools import READER_TOOLS
from digest.accounts.tokens import token_issue
from digest.daily.services import digest_build
from digest.days import day_of
from digest.items.selectors import items_visible
from digest.mail.content import draft_daily, draft_weekly
from digest.mail.links import feed_token_issue, thumb_sign, unsubscribe_sign
from digest.mail.render import mail_message
from digest.models import (
    Destination,
    Digest,
    Feed,
    Feedback,
    Impression,
    Item,
    NotificationSettings,
    Reader,
    Reading,
)
from digest.notifications.news import digests_news, notifications_due, words_news
from digest.searches.selectors import SearchAsked
from digest.searches.services import search_save
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Evidence
from tests.support.assistants import Connected
from tests.support.browser import asked
from tests.support.marked_worlds import MARK, World, foreign, marked_world
from tests.support.routes import ANYTHING, Route, routes
from tests.test_isolation import tip_of

Answers = Iterator[tuple[str, str]]
SEEDS = (3,)
# Item pages that are asked for, of each reader.
ITEMS = 8
ROUTES = [route for route in routes() if route.room != "admin" and route.name]
# Signing out ends the walk; accounts are no place for feeds, and asking for a mail there sends one.
SKIPPED = {"account_logout"}
QUERIES = {
    "digest:search": ["?q=ferry", "?q=author", "?q=noon&page=2"],
    "api:search_get": ["?q=ferry", "?q=author"],
    "digest:left_out": ["?page=2", "?reason=same_story", "?reason=below"],
    "digest:saved": ["?page=2"],
    "ranking:config": ["?show=topics"],
}
STREAMS = ("user/-/state/com.google/reading-list", "user/-/state/com.google/read", "user/-/label/Today")
CHANGE = {"suggestion_type": "add_topic", "target": "ferry strike"}


@pytest.fixture
def world(request: pytest.FixtureRequest, ada: Reader, ben: Reader, settings: Any) -> World:
    """Return the world of a seed, with a digest of today for each reader."""
    settings.MCP_HTTP = True
    settings.FETCH_ALLOW_HOSTS = ["localhost", "127.0.0.1"]  # feeds move there without a look-up
    made = marked_world(request.param, ada, ben)
    for name, reader in made.readers.items():
        # A reader may give weights to sources that others alone read, if they know the name.
        keys = Feed.objects.values_list("source_id", flat=True)
        edit = ConfigEdit(
            topics=["ferry", "comet"],
            recency_by_day=False,  # among so few items, a weight seldom crosses a whole day
            source_weights={key: 0.9 for key in keys if not [*foreign(made, name, key)]},
        )
        wish = f"More of {made.mark(f'wish-{name}', name)}, please"
        config_edit(reader_id=reader.pk, edit=edit, expected_version=0, now=made.now, note=wish)
        digest_build(reader=reader, date=day_of(made.now, reader.zone), now=made.now)
    return made


def of_tools(reader: Reader) -> Answers:
    """Return the answers of each tool to an MCP client, and the results of the first one's best idea."""
    session = session_open(reader=reader, now=timezone.now())

    def call(name: str, arguments: dict[str, Any]) -> str:
        return session_call(session=session, name=name, arguments=arguments, now=timezone.now()).content

    found = json.loads(call("query_user_feedback", {})).get("hypotheses") or []
    # The order of the whole page has no word of a feed.
    ideas = [idea for idea in found if idea["type"] != "order_by_taste"] or [
        {"type": "add_topic", "target": "ferry strike", "supporting_items": []}
    ]
    urls = [url for idea in ideas for url in idea["supporting_items"]]
    # Of whomever: the addresses of articles are no secret.
    shared = Item.objects.filter(url__contains="press-").exclude(url__contains="/zq").order_by("url")
    urls += shared.values_list("url", flat=True).distinct()[:9]
    # Not every idea moves something of today's page: all are written, and the first one twice.
    drafts = [
        {
            "suggestion_type": idea["type"],
            "target": idea["target"],
            "suggested_value": idea.get("suggested_value", idea["target"]),
            "evidence": idea["supporting_items"] or urls,
            "reason": f"You liked most articles about {idea['target']}, more than of the others.",
        }
        for idea in ideas
    ]
    best = ideas[0]
    tried = {"suggestion_type": best["type"], "target": best["target"]}
    # Of everybody: a reference is a number that anyone can guess.
    refs = [f"#{pk}" for pk in Item.objects.order_by("pk").values_list("pk", flat=True)[:60]]
    arguments: dict[str, list[dict[str, Any]]] = {
        "query_user_feedback": [{}, {"window_days": 365}],
        "read_items": [{"items": refs[n : n + 3]} for n in range(0, len(refs), 3)],
        "query_user_config": [{}],
        "get_user_profile": [{}],
        "write_suggestion": [*drafts, drafts[0] | {"evidence": urls[:40]}],
        "get_suggestion_outcomes": [{}],
        "test_suggestion": [tried, CHANGE],
        "self_critique": [{"drafts": [tried | {"evidence": urls[:40]}, CHANGE]}],
        "get_acceptance_history": [{}],
        "compare_configs": [{}, {"changes": [tried, CHANGE]}],
        "finish": [{"reason": "", "skipped": []}],
    }
    assert arguments.keys() == set(TOOLS), "Give each of the agent's tools calls here."
    for name in TOOLS:
        for given in arguments[name]:
            yield f"tool {name}", call(name, given)
    assert session_close(session=session, now=timezone.now())


def of_assistant(reader: Reader, item_ids: list[Any]) -> Answers:
    """Return the answers of an assistant's other tools over HTTP, about anybody's items."""
    assistant = Connected(reader)
    items = [{"item_id": pk} for pk in item_ids]
    arguments: dict[str, list[dict[str, Any]]] = {
        "get_digest": [{}],
        "search_items": [{"query": "ferry"}, {"query": "author"}, {"query": "noon", "page": 2}],
        "explain_item": items,
        "get_left_out": [{}, {"page": 2}, {"reason": "same_story"}],
        "list_sources": [{}],
        "rate_item": [one | {"useful": True} for one in items[-4:]],
        "get_question": [{}],
    }
    assert arguments.keys() == set(READER_TOOLS), "Give each tool of assistants calls here."
    for name in READER_TOOLS:
        for given in arguments[name]:
            yield f"assistant {name}", str(assistant.call(name, given))


def ids_of(reader: Reader, tip: int) -> dict[str, list[object]]:
    """Return the reader's own objects by the name their ids go by in addresses, and some items of others."""
    now, today = timezone.now(), day_of(timezone.now(), reader.zone)
    own = items_visible(reader_id=reader.pk).order_by("article").values_list("pk", flat=True)
    shown = Impression.objects.filter(digest__reader=reader).values_list("item_id", flat=True)
    others = Item.objects.exclude(pk__in=own).values_list("pk", flat=True)
    items = list(dict.fromkeys([*own[:ITEMS], *shown[:ITEMS], *others[:3]]))
    links = [
        thumb_sign(reader_id=reader.pk, item_id=items[0], useful=True, now=now),
        unsubscribe_sign(reader_id=reader.pk),
    ]
    return {
        "item_id": items,
        "feed_id": [*reader.subscriptions.values_list("feed_id", flat=True)],
        "suggestion_id": [*reader.suggestions.values_list("pk", flat=True)] or [1],
        "question_id": [asked(reader, uuid4(), "Is it the depth?")],
        "run_id": [*reader.runs.values_list("pk", flat=True)],
        "tip_id": [tip],
        "destination_id": [notified(reader)],
        "client_id": [Connected(reader).client_id],
        "search_id": [search_save(reader=reader, asked=SearchAsked("tide", "best", {}), now=now)],
        "token_id": [token_issue(reader=reader, name="x", scope="read", expires_at=None, now=now).token.pk],
        "signed": [],  # a picture: no words
        "version": [0, 1],
        "verb": ["accept"],
        "date": [today],
        "link": links,
        "token": [feed_token_issue(reader=reader)],
        "stream": [*STREAMS, *(f"feed/{pk}" for pk in Feed.objects.values_list("pk", flat=True))],
        "path": ["site.css"],
        **{name: [value] for name, value in ANYTHING.items() if name in {"key", "uidb36"}},
    }


def of_address(client: Client, route: Route, ids: dict[str, list[object]]) -> Answers:
    """Return the answers at a route: a GET with each id, and those of a thumb, a save and so on."""
    values = ids[route.ids[0]] if route.ids else [None]
    for value in values:
        named = {name: ids[name][0] for name in route.ids} | ({route.ids[0]: value} if route.ids else {})
        for query in ["", *QUERIES.get(route.name, [])]:
            answer = client.get(route.url(named) + query)
            yield f"GET {route.name}{query}", text_of(answer)
        if answer.status_code == 405:  # this address does not accept the method at all
            break
    if "item_id" in route.ids:
        for value in values[:2]:
            kind = {"content_type": "application/json"} if route.room == "api" else {}
            answer = client.post(route.url({"item_id": value}), {"useful": 1}, **kind)
            yield f"POST {route.name}", text_of(answer)


def text_of(answer: Any) -> str:
    """Return the full text of an answer, streamed or not, and its redirect."""
    return b"".join(answer).decode(errors="replace") + answer.get("Location", "")


def of_mails(reader: Reader) -> Answers:
    """Yield the mails of a day and of a week."""
    now = timezone.now()
    digest = reader.digests.latest("date")
    for draft in (
        draft_daily(reader=reader, digest=digest, now=now),
        draft_weekly(reader=reader, day=digest.date, now=now),
    ):
        assert draft
        message = mail_message(draft.content, now=now)
        parts = [str(part.content) for part in message.alternatives]
        yield "mail", "\n".join([message.subject, str(message.body), *parts, str(message.extra_headers)])


def notified(reader: Reader) -> int:
    """Return a destination of the reader, who watches for a word of every feed and was told of them."""
    row = Destination.objects.create(
        reader=reader, kind="ntfy", address="https://ntfy.sh/x", created_at=timezone.now()
    )
    since = timezone.now() - timedelta(days=2)
    given = {"events": ["digest", "word"], "words": ["ferry", "noon", "author"], "since": since}
    NotificationSettings.objects.update_or_create(
        reader=reader, defaults=given | {"quiet_from": 0, "quiet_until": 0}
    )
    return row.pk


def of_notifications(reader: Reader) -> Answers:
    """Return the reader's notifications of new items and of the digest."""
    notified(reader)
    due = {pk: row for pk, row in notifications_due(now=timezone.now()).items() if pk == reader.pk}
    for news in (words_news, digests_news):
        for one in news(due=due, now=timezone.now()):
            yield "news", one.words


def of_commands(reader: Reader) -> Answers:
    """Return the output of operators' commands about one reader."""
    out = StringIO()
    call_command("export_records", "--user-id", reader.username, history=3, stdout=out)
    yield "export_records", out.getvalue()


def answers(world: World, reader: Reader) -> Answers:
    """Everything that is ever answered to the reader, in the order of a day."""
    yield from of_tools(reader)
    yield from of_mails(reader)
    yield from of_commands(reader)
    yield from of_notifications(reader)
    # Rated or read items leave a later page, and its list of left-out items. So for the rest of the day the
    # reader has rated and read nothing.
    Feedback.objects.filter(reader=reader, item__dated_at__gt=world.now - timedelta(days=7)).delete()
    Reading.objects.filter(reader=reader).update(read_at=None)
    Digest.objects.filter(reader=reader).delete()
    digest_build(reader=reader, date=day_of(world.now, reader.zone), now=world.now)
    client = Client()
    client.force_login(reader)
    ids = ids_of(reader, tip_of(reader, world.now).pk)
    yield from of_assistant(reader, ids["item_id"])
    secret = token_issue(reader=reader, name="app", scope="read", expires_at=None, now=timezone.now()).secret
    app = Client(headers={"Authorization": f"GoogleLogin auth={secret}"})
    named = {"i": [*Item.objects.values_list("pk", flat=True)]}
    yield "GET greader:items_contents", text_of(app.get(reverse("greader:items_contents"), named))
    for route in ROUTES:
        if route.name not in SKIPPED:
            yield from of_address(app if route.room == "greader" else client, route, ids)


@pytest.mark.parametrize("world", SEEDS, indirect=True)
def test_no_answer_holds_a_word_of_a_feed_that_only_another_reads(world: World):
    seen: dict[str, set[str]] = {}
    assert Feedback.objects.count() > 50
    for name, reader in world.readers.items():
        leaks = set()
        for place, text in answers(world, reader):
            leaks |= {f"{place} shows {name} words of {feed}" for feed in foreign(world, name, text)}
            seen.setdefault(place.split("?")[0], set()).update(MARK.findall(text.lower()))
        assert not leaks, "\n".join(sorted(leaks))
    # The marks would show up, because places for words of feeds have some.
    for place in WITH_WORDS:
        assert seen[place], f"{place} shows no mark: does it still show words of feeds?"
    everything = set().union(*seen.values())
    assert all(world.marks[name] in everything for name in world.feeds), "a feed that nobody is shown"
    assert Evidence.objects.exists()


WITH_WORDS = (
    "news",
    *("assistant get_digest", "assistant search_items", "assistant explain_item", "assistant get_left_out"),
    "assistant list_sources",
    *("mail", "export_records", "tool query_user_feedback", "tool test_suggestion", "tool compare_configs"),
    *("GET digest:today", "GET digest:day", "GET digest:item", "GET digest:left_out", "GET digest:saved"),
    *("GET digest:search", "GET digest:source", "GET digest:sources", "GET digest:opml_export"),
    *("GET digest:feed_atom", "GET digest:feed_json", "GET digest:thumb_link", "GET reader_export"),
    *("GET suggestions:list", "GET suggestions:preview", "GET api:digest_get", "GET api:search_get"),
    *("GET api:suggestions_get", "GET ranking:config", "GET digest:trends"),
    *("GET greader:stream_contents", "GET greader:items_contents", "GET greader:subscription_list"),
)
