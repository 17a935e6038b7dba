"""Assistants over HTTP: they get exactly the access and the time that the reader allowed, and never
accept."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import anyio
import httpx2
import pytest
from allauth.idp.oidc.models import Client, Token
from authlib.integrations.httpx_client import OAuth2Client
from django.utils import timezone
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from advisor import mcp_server
from advisor.mcp_server import LEASE_S, session_call, session_release, session_resume
from advisor.models import Run, Step
from advisor.tools.registry import TOOLS
from config.apps import check_assistants
from digest.accounts import assistant_access
from digest.accounts.assistant_access import assistants_prune, client_room_make
from digest.models import Feedback, Reader
from ranking.models import ConfigVersion
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from suggestions.proposals import FenceLost
from tests.advisor.tools.test_tools import boost, liked_urls
from tests.support.assistants import ALL, CALLBACK, Assistant, Person, reader_with_password
from tests.support.browser import asked, fresh_item
from tests.support.histories import opinionated

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "You liked 38 of 40 articles from Loved, far more than of other sources."


@pytest.fixture(autouse=True)
def nobody_asked_yet(own_cache):
    """Reset the rate limit of registrations."""


@pytest.fixture
def ada(site):
    return reader_with_password("ada")


class Memory:
    """A client's stored tokens and registration."""

    tokens = info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.info

    async def set_client_info(self, info):
        self.info = info


# --- Clients of others -----------------------------------------------------------------------------------


def test_the_official_client_finds_registers_is_let_in_and_uses_the_tools(ada, person, site):
    opinionated(ada, now=timezone.now())
    fresh_item(ada)
    memory, told = Memory(), {}

    async def lead(url):
        told.update(await anyio.to_thread.run_sync(person.answer, url))

    async def back():
        return AuthorizationCodeResult(code=told["code"], state=told.get("state"))

    async def talk():
        metadata = OAuthClientMetadata(client_name="Probe", redirect_uris=[CALLBACK])
        provider = OAuthClientProvider(f"{site}/mcp", metadata, memory, lead, back)
        async with (
            httpx2.AsyncClient(auth=provider, timeout=30) as http,
            streamable_http_client(f"{site}/mcp", http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as client,
        ):
            hello = await client.initialize()
            tools = {tool.name for tool in (await client.list_tools()).tools}
            digest = await client.call_tool("get_digest", {})
            feedback = await client.call_tool("query_user_feedback", {})
            accepted = await client.call_tool("accept_suggestion", {"suggestion_id": 1})
        return hello, tools, digest, feedback, accepted

    hello, tools, digest, feedback, accepted = anyio.run(talk)
    assert "nothing here accepts" in hello.instructions
    assert tools >= {"get_digest", "rate_item", *TOOLS} - {"finish"} and "finish" not in tools
    assert not {name for name in tools if "accept" in name and name != "get_acceptance_history"}
    assert not digest.is_error and json.loads(digest.content[0].text)["entries"]
    assert not feedback.is_error and "Loved" in feedback.content[0].text
    assert accepted.is_error and "unknown_tool" in accepted.content[0].text
    assert Client.objects.get().name == "Probe" and memory.tokens.refresh_token


def test_another_client_library_gets_and_refreshes_its_tokens(person, assistant, site):
    settings = {"token_endpoint_auth_method": "none", "code_challenge_method": "S256", "scope": "read"}
    with OAuth2Client(assistant.client, redirect_uri=CALLBACK, **settings) as client:
        _connect_by(client, person, assistant, site)


def _connect_by(client, person, assistant, site):
    url, _ = client.create_authorization_url(
        f"{site}/oauth/authorize", code_verifier=assistant.verifier, resource=f"{site}/mcp"
    )
    answer = person.answer(url, ["read"])
    tokens = client.fetch_token(f"{site}/oauth/token", code=answer["code"], code_verifier=assistant.verifier)
    assert assistant.tools(tokens["access_token"]) >= {"get_digest"}
    renewed = client.refresh_token(f"{site}/oauth/token")
    assert assistant.tools(renewed["access_token"]) >= {"get_digest"}
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


# --- The tools ------------------------------------------------------------------------------------------


def test_an_assistant_reads_rates_and_proposes_for_its_reader(ada, person, assistant):
    now = timezone.now()
    opinionated(ada, now=now)
    item = fresh_item(ada, title="Harbour ferry strike ends")
    edit = ConfigEdit(source_weights={"gazette.example": 1.5})  # a reason for the item to have
    config_edit(reader_id=ada.pk, edit=edit, expected_version=0, now=now)
    token = assistant.connect(person)["access_token"]
    listed = assistant.call(token, "get_digest")
    assert listed["entries"] and "never instructions" in listed["note"]
    assert assistant.call(token, "search_items", query="harbour ferry")["hits"][0]["item_id"] == item.pk
    assert assistant.call(token, "explain_item", item_id=item.pk)["reasons"]
    assert assistant.call(token, "explain_item", item_id=10**6)["error"] == "item_not_found"
    assert assistant.call(token, "get_left_out")["day"] == f"{now.date()}"
    assert assistant.call(token, "list_sources")["total"] >= 1
    assert assistant.call(token, "rate_item", item_id=item.pk, useful=True)["useful"] is True
    assert Feedback.objects.get(reader=ada, item=item).useful
    assert assistant.call(token, "rate_item", item_id=item.pk)["error"] == "invalid_arguments"
    draft = boost(liked_urls(ada, "loved.example"), reason=WHY)
    assert assistant.call(token, "write_suggestion", **draft)["success"] is True
    assert assistant.call(token, "write_suggestion", **draft)["error"] == "duplicate_pending"
    assert Suggestion.objects.get().status == "pending"
    run = Run.objects.get()  # both calls are one session
    assert (run.trigger, run.status, run.steps.count()) == ("mcp", "running", 2)


def test_however_many_sessions_an_assistant_has_it_asks_a_reader_so_often_a_day(
    ada, now, monkeypatch, settings
):
    settings.ADVISOR_PANEL = settings.ADVISOR_REFLECTOR = False
    monkeypatch.setattr(mcp_server, "WRITTEN_PER_DAY_MAX", 1)
    opinionated(ada, now=now)
    codes = []
    for client, source in (("harbour", "loved.example"), ("quay", "other.example")):
        session = session_resume(reader=ada, client=client, now=now)
        call = {"arguments": boost(liked_urls(ada), reason=WHY, target=source)}
        codes.append(session_call(session=session, name="write_suggestion", now=now, **call).error_code)
    assert codes == ["", "enough_for_a_day"] and Suggestion.objects.count() == 1
    assert Step.objects.filter(error_code="enough_for_a_day").count() == 1


def test_there_is_no_way_to_accept_nor_to_change_a_setting(ada, person, assistant):
    opinionated(ada, now=timezone.now())
    token = assistant.connect(person)["access_token"]
    before = ConfigVersion.objects.count()
    for name in ("accept_suggestion", "resolve", "update_user_config", "accept", "mutes_post", ""):
        assert assistant.call(token, name, suggestion_id=1)["error"] == "unknown_tool"
    answer = assistant.http.post(
        f"{assistant.site}/api/suggestions/1/accept", headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 401 and ConfigVersion.objects.count() == before


def test_a_reader_who_turns_models_off_is_shown_to_no_assistant(ada, person, assistant):
    item = fresh_item(ada)
    token = assistant.connect(person)["access_token"]
    Reader.objects.filter(pk=ada.pk).update(ai_enabled=False)
    for name, arguments in (("explain_item", {"item_id": item.pk}), ("query_user_feedback", {})):
        assert assistant.call(token, name, **arguments)["error"] == "models_off"


def test_calls_of_one_client_share_a_session_and_a_call_beside_one_begins_another(ada, now):
    def resume(client="harbour", at=now):
        return session_resume(reader=ada, client=client, now=at)

    first = resume()
    beside = resume()
    assert first.run.pk != beside.run.pk
    assert session_release(session=first, client="harbour", now=now)
    other = resume("quay")
    again = resume()
    assert again.run.pk == first.run.pk and other.run.pk not in (first.run.pk, beside.run.pk)
    assert session_call(session=again, name="query_user_config", arguments={}, now=now).error_code == ""
    with pytest.raises(FenceLost):  # the first call came back late
        session_call(session=first, name="query_user_config", arguments={}, now=now)
    assert session_release(session=again, client="harbour", now=now)
    assert resume(at=now + timedelta(seconds=LEASE_S + 1)).run.pk != first.run.pk


def test_an_assistant_brings_the_question_of_a_run_and_cannot_answer_it(ada, ben, person, assistant):
    text, token = "Is it the depth?", assistant.connect(person)["access_token"]
    asked(ben, uuid4(), text)
    assert assistant.call(token, "get_question")["question"] is None
    own = asked(ada, uuid4(), text)
    told = assistant.call(token, "get_question")
    assert told["question"]["question_id"] == own and told["question"]["text"] == text
    assert "never instructions" in told["note"]
    assert not [name for name in assistant.tools(token) if "answer" in name]


@pytest.mark.services
def test_calls_at_the_same_time_disturb_one_another_in_nothing(ada, person, assistant):
    opinionated(ada, now=timezone.now())
    token = assistant.connect(person)["access_token"]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: assistant.call(token, "query_user_config"), range(8)))
    assert not [one for one in answers if "error" in one]
    assert Step.objects.count() == 8


# --- Who may, and for how long ---------------------------------------------------------------------------


def test_an_assistant_sees_and_does_only_what_its_reader_left_ticked(ada, person, assistant):
    item = fresh_item(ada)
    token = assistant.connect(person, ["read"])["access_token"]
    assert "get_digest" in assistant.tools(token) and not {"rate_item", *TOOLS} & assistant.tools(token)
    for name, scope in (("rate_item", "rate"), ("write_suggestion", "propose")):
        refused = assistant.post(token, "tools/call", {"name": name, "arguments": {"item_id": item.pk}})
        challenge = refused.headers["WWW-Authenticate"]
        assert refused.status_code == 403 and 'error="insufficient_scope"' in challenge
        assert f'scope="{scope}"' in challenge and "resource_metadata=" in challenge
    assert not Feedback.objects.exists() and not Run.objects.exists()


def test_without_a_token_an_assistant_is_told_where_to_ask(assistant, site):
    refused = assistant.post("", "tools/list")
    assert refused.status_code == 401
    where = f'resource_metadata="{site}/.well-known/oauth-protected-resource/mcp"'
    assert where in refused.headers["WWW-Authenticate"]
    told = assistant.http.get(f"{site}/.well-known/oauth-protected-resource/mcp").json()
    assert told["resource"] == f"{site}/mcp" and told["authorization_servers"] == [site]
    server = assistant.http.get(f"{site}/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == site and server["code_challenge_methods_supported"] == ["S256"]
    assert assistant.http.get(f"{site}/mcp").status_code == 405


@pytest.mark.parametrize("how", ["expired", "other resource", "no resource", "refresh token", "inactive"])
def test_a_token_that_is_not_for_us_or_over_opens_nothing(how, ada, person, assistant):
    tokens = assistant.connect(person)
    secret, rows = tokens["access_token"], Token.objects.filter(type=Token.Type.ACCESS_TOKEN)
    if how == "expired":
        rows.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "other resource":
        rows.update(data={"resources": ["https://bank.example/mcp"]})
    elif how == "no resource":
        rows.update(data=None)
    elif how == "refresh token":
        secret = tokens["refresh_token"]
    else:
        Reader.objects.filter(pk=ada.pk).update(is_active=False)
    refused = assistant.post(secret, "tools/list")
    assert refused.status_code == 401 and 'error="invalid_token"' in refused.headers["WWW-Authenticate"]


def test_a_reader_disconnects_an_assistant_on_the_account_page(person, assistant, site):
    tokens = assistant.connect(person)
    assert "1 connected" in person.http.get(f"{site}/ui/account").text
    page = person.http.get(f"{site}/ui/account/assistants")
    assert "Harbour" in page.text and "on your own device" in page.text
    after = person.send(page, {}, f"/ui/account/assistants/{assistant.client}/disconnect")
    assert "can no longer reach" in after.text and "None yet." in after.text
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 401
    assert assistant.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_an_assistant_gives_its_token_back(person, assistant, site):
    tokens = assistant.connect(person)
    for name in ("refresh_token", "access_token"):
        back = {"token": tokens[name], "client_id": assistant.client}
        assert assistant.http.post(f"{site}/oauth/revoke", data=back).status_code == 200
    assert assistant.post(tokens["access_token"], "tools/list").status_code == 401


def test_one_reader_disconnects_nobody_elses_assistant(person, assistant, site):
    token = assistant.connect(person)["access_token"]
    reader_with_password("ben")
    ben = Person(site, "ben")
    page = ben.http.get(f"{site}/ui/account/assistants")
    assert "Harbour" not in page.text
    page = ben.http.get(f"{site}/ui/account")
    assert ben.send(page, {}, f"/ui/account/assistants/{assistant.client}/disconnect").status_code == 404
    assert assistant.tools(token)


# --- Leftovers, and settings ----------------------------------------------------------------------------


def test_clients_that_nobody_uses_are_forgotten(person, assistant, monkeypatch):
    assistant.connect(person)
    now = timezone.now()
    unused = Assistant(assistant.site)
    Client.objects.filter(pk=unused.client).update(created_at=now - timedelta(hours=1))
    monkeypatch.setattr(assistant_access, "CLIENTS_MAX", 2)
    assert client_room_make(now=now)  # in a full table at once
    assert [*Client.objects.values_list("pk", flat=True)] == [assistant.client]
    assert assistants_prune(now=now + timedelta(days=2)) > 0 and Client.objects.count() == 1
    assistants_prune(now=now + timedelta(days=40))
    assert not Client.objects.exists() and not Token.objects.exists()


def test_switched_off_there_is_nothing(live_server, settings):
    settings.MCP_HTTP = False
    for path in ("/mcp", "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"):
        assert httpx2.get(live_server.url + path).status_code == 404
    assert httpx2.post(f"{live_server.url}/oauth/register", json={}).status_code == 404


@pytest.mark.parametrize(
    ("site_url", "redis", "engine", "problems"),
    [
        ("https://news.example.org", "redis://127.0.0.1/0", "postgresql", 0),
        ("http://news.example.org", "", "sqlite3", 1),
        ("http://127.0.0.1:8000", "", "sqlite3", 0),
        ("https://news.example.org", "", "postgresql", 1),
    ],
)
def test_settings_with_which_it_cannot_work_are_named(
    settings, monkeypatch, site_url, redis, engine, problems
):
    settings.MCP_HTTP, settings.SITE_URL, settings.REDIS_URL = True, site_url, redis
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", f"django.db.backends.{engine}")
    assert [one.id for one in check_assistants()] == ["tidings.E024"] * problems
    settings.MCP_HTTP = False
    assert check_assistants() == []


def test_scopes_are_told_apart_on_the_page(person, assistant):
    page = person.open(assistant.url()).text
    assert page.count('name="scopes"') == len(ALL) and "which wait until you accept them" in page
    assert "never accept a suggestion" in page and "“Harbour”" in page
