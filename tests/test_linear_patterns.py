"""Every pattern and text function that may get strangers' text needs time in proportion to its length.

Each pattern of the rooms is found and tried with strings made for it. Each public text function of the
modules that read strangers' text is tried with strings made for the usual formats. A slower one needs a
limit, and a line in `BOUNDED` that names the code with the limit.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from advisor.guidance.store import BadInsight
from advisor.models import Memory
from digest.errors import DigestError
from digest.feedback.records import QUESTION, BadLine
from digest.feeds.dates import DATE_MAX_CHARS
from digest.feeds.entities import FeedProblem
from digest.items.search_query import query_terms, terms_fuzzy
from digest.llm.entities import ModelError
from digest.mail.links import BadLink
from digest.sources.opml import ListedFeed
from digest.summaries.summarise import SUMMARY_CHARS_MAX
from ranking.common.text import TOPIC_MAX_CHARS, topic_key
from tests.lab.size import source
from tests.support.adversarial import families, patterns_in, seconds, slower_than_linear, text_families
from tests.support.thinned import mostly_nightly

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("advisor", "config", "digest", "ranking", "suggestions")
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")
ANCHORED = frozenset({"match", "fullmatch"})
# In containers, or read under another name: how they are used.
USED_BY: dict[str, frozenset[str]] = {"digest.feeds.identity.PUBLISHER_RULES": frozenset({"match"})}
# More than linear on input that somebody else bounds: the greatest length in characters, and who keeps it.
BOUNDED = {
    **{
        f"digest.feeds.dates._FORMS[{n}]": (DATE_MAX_CHARS, "`date_read` reads no longer text")
        for n in range(7)
    },
}
BOUNDED_S = 0.05
REFUSALS = (
    ValueError,
    DigestError,
    FeedProblem,
    BadLine,
    BadInsight,
    ValidationError,
    ModelError,
    BadLink,
)
# A function that needs less for 4,096 characters is not looked at: quadratic ones need some 10 ms.
FUNCTION_SUSPECT_S = 0.006
# The further arguments of functions that take more than a text.
CALLS: dict[str, Callable[[Any, str], object]] = {
    "advisor.guidance.admission.admit": lambda f, text: f(_draft(text), now=NOW),
    "advisor.guidance.admission.quality_of_text": lambda f, text: f(_draft(text)),
    "advisor.guidance.store.insight_draft": lambda f, text: f("name", text.encode(), now=NOW),
    "advisor.result_size.fit_text": lambda f, text: f(text, 100),
    "config.logs.request_path_hide": lambda f, text: f(None, "", {"logger": "django.server", "event": text}),
    "digest.feedback.reasons.reason_tags_map": lambda f, text: f([text], {}),
    "digest.feedback.reasons.reasons_filter": lambda f, text: f([("hype", text)], ()),
    "digest.feedback.records.history_parse": lambda f, text: (
        f(text),
        f(json.dumps(dict.fromkeys(("reader", "url", "title", "text", "source", "at", "published"), text))),
    ),
    "digest.feedback.records.record_parse": lambda f, text: f(json.dumps({"instruction": _table(text)})),
    "digest.feeds.body_html.html_clean": lambda f, text: f(text, base=BASE),
    "digest.feeds.discovery.page_feeds": lambda f, text: f(text, url="https://example.org/"),
    "digest.feeds.page_tags.page_tags": lambda f, text: (
        [*f(text, names=frozenset({"a", "link"}))],
        [*f(f"<link {text * 4}", names=frozenset({"a", "link"}))],
    ),
    "digest.items.clustering.story_title": lambda f, text: f(story=1, article=1, title=text, text=text),
    "digest.items.clustering.title_proves": lambda f, text: f(text, has_text=False),
    "digest.accounts.oauth.redirect_is_registered": lambda f, text: f(text, [text, f"http://[::1]:1/{text}"]),
    "digest.accounts.oauth.is_protected": lambda f, text: f(challenge=text, method="S256"),
    "digest.accounts.oauth.registration_clean": lambda f, text: f({"client_name": text, "scope": text}),
    "digest.notifications.wire.wallabag_request": lambda f, text: f(text, address=text, answer=text.encode()),
    "digest.web.greader.codec.stream_request_read": lambda f, text: f(
        f"user/-/label/{text}", lambda _: [text], most=1
    ),
    "digest.web.greader.codec.items_read": lambda f, text: f(text.split()),
    "digest.days.month_first": lambda f, text: f(text, NOW.date()),
    "digest.feeds.connect.check_host": lambda f, text: f(text, 443),
    "digest.feeds.identity.entry_guid": lambda f, text: f(guid=text, link=text, title=text, text=text),
    "digest.feeds.links.link_absolute": lambda f, text: (f(text, base=BASE), f("/a", base=text)),
    "digest.feeds.links.link_or_mail": lambda f, text: (f(f"mailto:{text}", base=BASE), f(text, base=BASE)),
    "digest.feeds.media.entry_categories": lambda f, text: f({"tags": [{"term": text}]}),
    "digest.feeds.media.entry_enclosures": lambda f, text: f(
        {"enclosures": [{"url": text, "type": text, "length": text}], "itunes_duration": text}, base=BASE
    ),
    "digest.feeds.media.entry_image": lambda f, text: f({"image": text}, (), base=BASE, first=text),
    "digest.sources.opml.opml_write": lambda f, text: f([ListedFeed(text, text, text)], title=text),
    "digest.feeds.identity.publisher_key": lambda f, text: [
        f(host=host, domain=host, path=text, query=text) for host in HOSTS
    ],
    "digest.feeds.dates.date_read": lambda f, text: (f(text), f(text[:DATE_MAX_CHARS])),
    "digest.feeds.encodings.text_of": lambda f, text: (
        f(text.encode("utf-8", "replace")),
        f(text.encode("cp1252", "replace"), content_type=f"text/xml; charset={text}"),
    ),
    "digest.feeds.feed_xml.entries_left": lambda f, text: f(text, {"entries": []}, 0),
    "digest.feeds.parse.parse_document": lambda f, text: (f(text.encode()), f(_feed(text).encode())),
    "digest.feeds.polling.fresh_seconds": lambda f, text: f(
        {name: text for name in ("cache-control", "expires", "date", "age")}, now=NOW
    ),
    "digest.feeds.polling.retry_after_seconds": lambda f, text: f(text, now=NOW),
    "digest.llm.replies.turn_read": lambda f, text: [
        f(body.encode(), model="openai:gpt-6-luna", request_chars=1)
        for body in (text, json.dumps({"choices": [{"message": {"content": text}}]}))
    ],
    "digest.items.search_query.highlight": lambda f, text: f(text, query_terms(QUERY)),
    "digest.items.search_query.terms_snippet": lambda f, text: f(text, query_terms(QUERY)),
    "digest.items.search_query.query_correct": lambda f, text: f(
        text, query_terms("harbuor"), query_terms("harbour")
    ),
    "digest.items.search_query.terms_correct": lambda f, text: f(
        terms_fuzzy(query_terms("harbuor lamps")), [text]
    ),
    "digest.summaries.grounding.grounding_of": lambda f, text: f(
        text[:SUMMARY_CHARS_MAX], [text], title=text, text=text
    ),
    "ranking.mutes.address_matches": lambda f, text: (
        f(f"*{text[:99]}*{text[:99]}*", text),
        f("*a*a*b", text),
    ),
    "ranking.mutes.text_finder": lambda f, text: [f(term)(text) for term in TERMS],
    "ranking.common.text.words_cut": lambda f, text: f(text, 36),
    "ranking.common.text.first_words": lambda f, text: f(text[:TOPIC_MAX_CHARS]),
    "ranking.common.text.term_finder": lambda f, text: [f(term)(text) for term in TERMS],
    "ranking.common.text.subject_finder": lambda f, text: [f(term)(text) for term in TERMS],
    "ranking.common.text.known_topic": lambda f, text: f(text, topic_key),
    "ranking.common.text.topic_identity": lambda f, text: f(text, topic_key),
    "ranking.common.text.topics_distinct": lambda f, text: f([text], topic_key),
    "ranking.common.text.term_matches": lambda f, text: [f(term, text) for term in TERMS],
    "ranking.common.text.term_named": lambda f, text: [f(term, text) for term in TERMS],
}
# Text functions in modules whose other functions get no strangers' text.
TEXT_FUNCTIONS = (
    "advisor.result_size.cut_title",
    "advisor.result_size.fit_text",
    "advisor.result_size.item_of_ref",
    "advisor.guidance.ranking.penalty_of",
    "advisor.guidance.store.insight_draft",
    "advisor.prompts.quotes_prompt",
    "config.templatetags.api_text.breakable",
    "config.templatetags.api_text.code_spans",
    "digest.accounts.limits.login_key",
    "digest.accounts.tokens.scope_needed",
    "digest.daily.item_words.lede_cut",
    "digest.days.month_first",
    "digest.feeds.connect.check_host",
    "digest.sources.subscriptions.check_address",
    "digest.llm.replies.turn_read",
    "digest.mail.links.thumb_read",
    "digest.mail.links.unsubscribe_read",
    "digest.models.readers.time_zone_validate",
    "digest.templatetags.digest_pages.short_ids",
    "ranking.config_body.term_searchable",
    "ranking.config_body.term_visible",
    "ranking.similarity.term_counts",
    "suggestions.reasons.reason_code",
)
# They fetch, or ask the database, after `site_address` or `query_terms`, which are here.
LEFT_OUT = (
    "digest.feeds.discovery.feeds_discover",
    "digest.feeds.fetch.fetch",
    "digest.feeds.fetch.post",
    "digest.feeds.polling.count_sighting",
    "digest.feeds.polling.server_pause_until",
    "digest.items.search.items_with_words",
    "digest.feedback.records.record_row",
    "digest.items.search.items_search",
    "digest.feeds.parse.parse_in_sandbox",
    # feedparser's own time, which the sandbox bounds.
    "digest.feeds.feed_xml.feed_xml_read",
    "digest.feeds.parse.parse_checked",
    "digest.feeds.discovery.feed_as_typed",
    "digest.feeds.discovery.feed_open",
    "digest.notifications.wire.vapid_of",
    "digest.notifications.wire.webhook_request",
    "digest.notifications.wire.ntfy_request",
    "digest.notifications.wire.push_request",
)
NOW = datetime(2026, 11, 23, tzinfo=UTC)
BASE = "https://example.org/a"
HOSTS = ("youtube.com", "rsshub.app", "medium.com", "reddit.com", "flickr.com")
QUERY, TERMS = (
    'a "a 1" a* é 字 "a a a a" b',
    ("a", "a a", "artificial intelligence", "electric cars", ".", "é"),
)
TEXT_MODULES = (
    "advisor.guidance.admission",
    "config.logs",
    "digest.accounts.oauth",
    "digest.feedback.reasons",
    "digest.feedback.records",
    "digest.feeds.body_html",
    "digest.feeds.dates",
    "digest.feeds.discovery",
    "digest.feeds.encodings",
    "digest.feeds.feed_xml",
    "digest.feeds.fetch",
    "digest.feeds.identity",
    "digest.feeds.links",
    "digest.feeds.media",
    "digest.sources.opml",
    "digest.feeds.page_tags",
    "digest.feeds.parse",
    "digest.feeds.polling",
    "digest.feeds.prechecks",
    "digest.feeds.sanitise",
    "digest.items.clustering",
    "digest.items.search_query",
    "digest.llm.entities",
    "digest.llm.phishing",
    "digest.summaries.grounding",
    "digest.notifications.wire",
    "digest.summaries.summarise",
    "digest.web.greader.codec",
    "ranking.common.text",
    "ranking.mutes",
)


def _draft(text: str) -> Memory:
    return Memory(kind=Memory.Kind.RULE, title=text, text=text, valid_from=NOW)


def _table(text: str) -> str:
    return f"{QUESTION}\n| idx | day | hour | source |\n| - | - | - | - |\n| {text} |\n\n- {text}"


def _feed(text: str) -> str:
    names = ("title", "link", "guid", "description", "pubDate", "author", "category")
    items = "".join(f"<{name}><![CDATA[{text}]]></{name}><{name}>{text}</{name}>" for name in names)
    return f'<rss version="2.0"><channel><title>{text}</title><item>{items}</item></channel></rss>'


def modules(room: str) -> list[str]:
    """Return the names of a room's modules, without migrations and the doors of other servers."""
    found = [module.name for module in pkgutil.walk_packages([str(ROOT / room)], f"{room}.")]
    return [
        name for name in found if ".migrations" not in name and name not in ("config.wsgi", "config.asgi")
    ]


@cache
def methods_called() -> dict[str, frozenset[tuple[str, str]]]:
    """Return the methods of patterns that are called on a name, each with the module that does."""
    calls: dict[str, set[tuple[str, str]]] = {}
    for path in source.modules_of(ROOT):
        for node in ast.walk(source.tree_of(path)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                name = getattr(node.value, "id", getattr(node.value, "attr", ""))
                calls.setdefault(name, set()).add((source.name_of(path, ROOT), node.attr))
    return {name: frozenset(ways) for name, ways in calls.items()}


def ways_of(module: str, place: str) -> list[str]:
    """Return how the pattern at `place` is used: at the start of a text only, or at any place of it."""
    name = place.partition("[")[0]
    called = methods_called().get(name.rpartition(".")[2], frozenset())
    used = {way for where, way in called if where == module or not name.startswith("_")}
    used = USED_BY.get(f"{module}.{name}", used if place == name else frozenset())
    anchored = sorted(used & ANCHORED)
    return anchored if used and used <= ANCHORED else [*anchored, "finditer"]


# Modules of an app that only a setting installs.
SWITCHED_OFF = {"digest.accounts.oidc_forms"}


@cache
def patterns_of(room: str) -> dict[str, tuple[re.Pattern[Any], list[str]]]:
    """Return every pattern of a room by its place, and the ways in which it is used."""
    found = {}
    for module in modules(room):
        if module in SWITCHED_OFF:
            # It cannot be imported without its app, so it may have no pattern.
            assert "import re" not in Path(*module.split(".")).with_suffix(".py").read_text(), module
            continue
        loaded = importlib.import_module(module)
        values = dict(vars(loaded))
        for name, value in vars(loaded).items():
            if isinstance(value, type) and value.__module__ == module:
                values |= {f"{name}.{inner}": one for inner, one in vars(value).items()}
        for name, value in values.items():
            for place, pattern in patterns_in(value, name):
                found[f"{module}.{place}"] = (pattern, ways_of(module, place))
        found |= in_functions(module, Path(str(loaded.__file__)))
    return found


def in_functions(module: str, path: Path) -> dict[str, tuple[re.Pattern[Any], list[str]]]:
    """Return the patterns in calls such as `re.sub`, with a word for their input."""
    found = {}
    for node in ast.walk(source.tree_of(path)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        way, given = node.func.attr, node.args[0]
        if getattr(node.func.value, "id", "") != "re" or way not in METHODS:
            continue
        parts = given.values if isinstance(given, ast.JoinedStr) else [given]
        words = [part.value if isinstance(part, ast.Constant) else "name" for part in parts]
        flags = re.IGNORECASE if any(name in ast.dump(node) for name in ("'IGNORECASE'", "'I'")) else 0
        text = words[0] if isinstance(words[0], bytes) else "".join(map(str, words))
        found[f"{module}:{node.lineno}"] = (re.compile(text, flags), [way if way in ANCHORED else "finditer"])
    return found


def applied(pattern: re.Pattern[Any], way: str) -> Callable[[str], object]:
    """Return a function that applies a pattern to a text, in bytes if the pattern needs them."""
    none = pattern.pattern[:0]
    # It finds the same as `finditer`, without making an object of each match.
    use = getattr(pattern, way) if way in ANCHORED else partial(pattern.sub, none)
    return use if none == "" else lambda text: use(text.encode("utf-8", "ignore"))


def slow_families(place: str, pattern: re.Pattern[Any], way: str) -> list[str]:
    """Return the first family of strings that is slow, and how slow, in words; empty for none."""
    work, chars = applied(pattern, way), BOUNDED.get(place, (0, ""))[0]
    for name, make in families(pattern).items():
        if chars:
            took = seconds(work, make(chars), 2)
            slow = f"{took:.3f} s at its bound" if took > BOUNDED_S else ""
        else:
            slow = slower_than_linear(work, make)
        if slow:
            return [f"{place}.{way}, {name}: {slow}"]
    return []


@pytest.mark.parametrize("room", ROOMS)
def test_no_pattern_needs_more_than_linear_time(room: str):
    found = patterns_of(room)
    assert found
    # One that several modules import is tried once, in each way that any of them uses it.
    tried = {
        (pattern.pattern, pattern.flags, way, BOUNDED.get(place)): (place, pattern, way)
        for place, (pattern, ways) in found.items()
        for way in ways
    }
    assert [
        line for place, pattern, way in tried.values() for line in slow_families(place, pattern, way)
    ] == []


def test_every_bound_is_of_a_pattern_that_is_there():
    places = {place for room in ROOMS for place in patterns_of(room)}
    assert set(BOUNDED) <= places


def test_the_search_for_patterns_finds_those_known_to_be_there_and_a_slow_one_is_slow():
    assert "digest.summaries.summarise._END" in patterns_of("digest")
    assert "config.logs.ADDRESS" in patterns_of("config")
    for slow in (r"(\w+ )\S+ (?=HTTP/)", r"\s*<\?xml[^>]{0,500}\?>", r"[.!?]+(?:\s|$)", r"(?:a+)+b"):
        assert slow_families("here", re.compile(slow), "finditer")


def text_names() -> list[tuple[str, list[str]]]:
    """Return the modules that read strangers' text, each with the names that do; none for all of them."""
    places = [place.rpartition(".") for place in TEXT_FUNCTIONS]
    return [*((module, []) for module in TEXT_MODULES), *((module, [name]) for module, _, name in places)]


def text_functions() -> dict[str, Callable[[str], object]]:
    """Return the public functions of the text modules, each ready to be given a text."""
    found: dict[str, Callable[[str], object]] = {}
    for module, names in text_names():
        loaded = importlib.import_module(module)
        for name in names or vars(loaded):
            place, function = f"{module}.{name}", getattr(loaded, name)
            if name.startswith("_") or getattr(function, "__module__", "") != module or place in LEFT_OUT:
                continue
            if call := CALLS.get(place):
                found[place] = partial(call, function)
            elif inspect.isroutine(function) or hasattr(function, "__wrapped__"):
                signature = inspect.signature(inspect.unwrap(function), eval_str=True)
                needed = [one for one in signature.parameters.values() if one.default is one.empty]
                if needed and {one.annotation for one in needed} <= {str, bytes}:
                    found[place] = partial(_called, function, needed)
                elif any(one.annotation in (str, bytes) for one in needed):
                    raise AssertionError(f"{place} needs a line in CALLS or LEFT_OUT")
    return found


def _called(function: Callable[..., Any], needed: list[inspect.Parameter], text: str) -> None:
    given = [text.encode("utf-8", "ignore") if one.annotation is bytes else text for one in needed]
    named = {
        one.name: value for one, value in zip(needed, given, strict=True) if one.kind is one.KEYWORD_ONLY
    }
    result = function(*(given[: len(given) - len(named)]), **named)
    if inspect.isgenerator(result):
        list(result)


def refusing(work: Callable[[str], object]) -> Callable[[str], None]:
    """Return `work` without its refusals: an exception of ours is an answer too."""

    def tried(text: str) -> None:
        with suppress(*REFUSALS):
            work(text)

    return tried


# The next function takes the next third of the texts.
SHARES = {"a third of the texts": 3, "all texts": 1}


@pytest.mark.parametrize("every", mostly_nightly(SHARES, always=["a third of the texts"]))
def test_no_text_function_needs_more_than_linear_time(every: int):
    slow, texts = [], [*text_families().items()]
    for n, (place, work) in enumerate(text_functions().items()):
        for name, make in texts[n % every :: every]:
            if found := slower_than_linear(refusing(work), make, suspect_s=FUNCTION_SUSPECT_S):
                slow.append(f"{place}, {name}: {found}")
                break
    assert slow == []
