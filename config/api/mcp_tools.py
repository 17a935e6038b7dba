"""The tools of an assistant over HTTP, beside the advisor's: they call operations of the JSON API.

No tool decides a suggestion or changes a setting.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from pydantic import BaseModel, Field, ValidationError

from advisor.result_size import as_json, error_result
from advisor.run_values import ToolOutcome
from advisor.tools import OUTSIDE_TEXT_NOTE, Arguments, NoArguments
from advisor.tools.registry import TOOLS as ADVISOR_TOOLS
from advisor.tools.registry import schema_simplified
from digest.accounts.assistant_access import PROPOSE, RATE, READ, Access
from digest.daily.diversity import ExclusionReason
from digest.days import day_of
from digest.errors import DigestError
from digest.items.search_query import QUERY_CHARS
from digest.items.selectors import item_get
from digest.requests import reader_of
from digest.sources.list_page import source_lines
from digest.web.api.items import ItemId
from digest.web.api.reading import FeedbackIn, SearchIn, digest_get, feedback_post, search_get
from digest.web.pages.contexts import item_page, left_out_page
from suggestions.selectors import question_open

TEXT_CHARS_MAX = 2000
SOURCES_MAX = 500


class DayArguments(Arguments):
    """A day in the reader's time zone; by default today."""

    day: date | None = None


class LeftOutArguments(DayArguments):
    """A day, a reason (by default all), and a page."""

    reason: ExclusionReason | None = None
    page: Annotated[int, Field(ge=1, le=100)] = 1


class SearchArguments(Arguments):
    """A query in the language of the search page, and a page of twenty."""

    query: Annotated[str, Field(min_length=1, max_length=QUERY_CHARS)]
    order: Literal["best", "newest"] = "best"
    page: Annotated[int, Field(ge=1, le=10)] = 1


class ItemArguments(Arguments):
    """An item by its id."""

    item_id: ItemId


class RateArguments(ItemArguments):
    """An item, and whether the reader found it useful."""

    useful: bool


def get_digest(request: HttpRequest, asked: DayArguments) -> dict[str, Any]:
    """Return the digest of a day, like `GET /api/digests/{date}`."""
    return digest_get(request, _day(request, asked)).model_dump(mode="json")


def search_items(request: HttpRequest, asked: SearchArguments) -> dict[str, Any]:
    """Search the reader's items, like `GET /api/search`, but with matches as plain text."""
    found = search_get(request, SearchIn(q=asked.query, order=asked.order, page=asked.page))
    page = found.model_dump(mode="json")
    for hit in page["hits"]:
        for name in ("title", "snippet"):
            hit[name] = "".join(part["text"] for part in hit[name])
    return page


def explain_item(request: HttpRequest, asked: ItemArguments) -> dict[str, Any]:
    """Return an item's text, the reasons for its score, and its place, as on its page."""
    reader = reader_of(request)
    item = item_get(reader_id=reader.pk, item_id=asked.item_id)
    page = item_page(reader, item, timezone.now())
    return {
        "item_id": item.pk,
        "title": item.title,
        "url": item.address,
        "source": item.source_name,
        "dated_at": item.dated_at.isoformat(),
        "text": item.text[:TEXT_CHARS_MAX],
        "reasons": list(page["shown"].why.chips),
        "place": page["place_words"],
    }


def get_left_out(request: HttpRequest, asked: LeftOutArguments) -> dict[str, Any]:
    """Return the items that a day's digest left out, with the reasons, as on its page."""
    reader, day = reader_of(request), _day(request, asked)
    page = left_out_page(reader, day, asked.reason or "", asked.page, timezone.now())
    if page["found"] is None:
        return {"day": day.isoformat(), "counts": {}, "items": []}
    lines = [
        {
            "item_id": line.shown.item.pk,
            "title": line.shown.item.title,
            "source": line.shown.item.source_name,
            "reason": line.reason,
        }
        for line in page["excluded"]
    ]
    counts = {kind.value: count for kind, count in page["found"].counts.items()}
    return {"day": day.isoformat(), "counts": counts, "items": lines}


def list_sources(request: HttpRequest, asked: NoArguments) -> dict[str, Any]:
    """Return up to 500 of the reader's sources, as on their page."""
    lines = source_lines(reader_of(request), timezone.now())
    rows = [
        {
            "name": line.name,
            "source": line.subscription.feed.source_id,
            "folder": line.folder,
            "weight": line.figure,
            "health": line.health,
            "rated": line.rated,
        }
        for line in lines[:SOURCES_MAX]
    ]
    return {"total": len(lines), "sources": rows}


def rate_item(request: HttpRequest, asked: RateArguments) -> dict[str, Any]:
    """Rate an item, like `POST /api/items/{item_id}/feedback` without reasons."""
    return feedback_post(request, asked.item_id, FeedbackIn(useful=asked.useful)).model_dump(mode="json")


def get_question(request: HttpRequest, asked: NoArguments) -> dict[str, Any]:
    """Return the question that a run asks the reader, like `GET /api/question`. They answer it themselves."""
    row = question_open(reader_id=reader_of(request).pk, now=timezone.now())
    columns = ("text", "answers", "titles")
    return {"question": row and {"question_id": row.pk} | {name: getattr(row, name) for name in columns}}


def _day(request: HttpRequest, asked: DayArguments) -> date:
    return asked.day or day_of(timezone.now(), reader_of(request).zone)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool beside the advisor's. A token needs `scope` to call it."""

    name: str
    description: str
    scope: str
    arguments: type[BaseModel]
    function: Callable[[HttpRequest, Any], dict[str, Any]]


READER_TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "get_digest",
            "The reader's digest of a day, best first, with the reasons.",
            READ,
            DayArguments,
            get_digest,
        ),
        Tool("search_items", "Search the reader's articles.", READ, SearchArguments, search_items),
        Tool(
            "explain_item",
            "One article: its text, why it has its score, and its place.",
            READ,
            ItemArguments,
            explain_item,
        ),
        Tool("get_left_out", "What a digest left out, and why.", READ, LeftOutArguments, get_left_out),
        Tool("list_sources", "The reader's sources with weight and health.", READ, NoArguments, list_sources),
        Tool(
            "rate_item",
            "The reader's rating of an article, useful or not. Only as they said themselves.",
            RATE,
            RateArguments,
            rate_item,
        ),
        Tool(
            "get_question",
            "What a run asks the reader. They answer it themselves, on their page of today.",
            READ,
            NoArguments,
            get_question,
        ),
    )
}


def scope_needed(name: str) -> str:
    """Return the scope that a tool needs, or "" if there is no such tool."""
    if name in READER_TOOLS:
        return READER_TOOLS[name].scope
    return PROPOSE if name in ADVISOR_TOOLS else ""


def tool_parameters(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments."""
    return schema_simplified(tool.arguments.model_json_schema())


def reader_tool_call(
    *, request: HttpRequest, access: Access, name: str, arguments: Mapping[str, Any]
) -> ToolOutcome:
    """Run a tool that is not the advisor's, for the reader of `access`. A refusal is a result with a code."""
    tool, request.user = READER_TOOLS[name], access.reader
    try:
        result = tool.function(request, tool.arguments.model_validate(dict(arguments)))
    except ValidationError as error:
        rows = error.errors(include_url=False, include_input=False, include_context=False)
        faults = "; ".join(f"{'.'.join(map(str, row['loc']))[:80]}: {row['msg']}" for row in rows[:5])
        return refusal("invalid_arguments", faults)
    except DigestError as error:
        return refusal(error.code, error.message)
    return ToolOutcome(as_json({"note": OUTSIDE_TEXT_NOTE} | result), "")


def refusal(code: str, words: str) -> ToolOutcome:
    """Return a refusal as a tool's result."""
    return ToolOutcome(as_json(error_result(code, words)), code)
