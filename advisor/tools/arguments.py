"""The arguments a model may give, and nothing else: no tool takes a reader, and extra keys are refused."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from advisor.tools.declared import UNDECLARED

SuggestionType = Literal["add_topic", "remove_topic", "boost_source", "reduce_source"]
OutcomeResult = Literal["accepted", "rejected", "expired", "superseded"]
OUTCOMES_LIMIT = 20
MEMORIES_MAX = 3
# What fits a database's integers.
OutcomeId = Annotated[int, Field(ge=1, lt=2**63)]


T = TypeVar("T")
# Taken, because models send it, and not asked for.
Ignored = Annotated[T, Field(json_schema_extra=UNDECLARED)]
Version = Annotated[int, Field(ge=0, lt=2**31)]
# As many drafts as a run may write.
DRAFTS_MAX = 3


class Arguments(BaseModel):
    """The base of all arguments. Whatever is not declared is refused, a smuggled `user_id` above all."""

    model_config = ConfigDict(extra="forbid", str_max_length=4000)


class NoArguments(Arguments):
    """For tools that need none."""


class FeedbackArguments(Arguments):
    """How far back "recent" reaches."""

    window_days: Annotated[
        int, Field(ge=1, le=365, description="What counts as recent; widened when thin.")
    ] = 14


class EvidenceItem(Arguments):
    """One rated item that supports a suggestion. Only `url` counts; the rest is looked up."""

    url: Annotated[str, Field(description="As query_user_feedback gave it.")]
    title: Ignored[str | None] = None
    feedback: Ignored[str | None] = None
    reason_tag: Ignored[str | None] = None
    item_id: Ignored[int | None] = None


class SuggestionArguments(Arguments):
    """One proposed change. Values are checked by the rules behind the tool, not here.

    What is `Ignored` is looked up or measured instead.
    """

    suggestion_type: SuggestionType
    field: Literal["topics", "source_weights"]
    target_key: Annotated[str | None, Field(description="The source; left out for topics.")] = None
    current_value: Ignored[Any] = None
    suggested_value: Annotated[Any, Field(description="The topic, or the new weight.")] = None
    evidence_items: Annotated[list[EvidenceItem], Field(max_length=50, description="At least three.")]
    reason: Annotated[str, Field(description="One or two plain sentences to the reader.")]
    expected_impact: Annotated[str, Field(description="What the reader will notice.")] = ""
    confidence: Ignored[str | None] = None
    ack: Annotated[str | None, Field(max_length=40, description="The guidance_id of a held call.")] = None


class ChangeArguments(Arguments):
    """One change to try out: what it is about, and how far it goes."""

    suggestion_type: SuggestionType
    target: Annotated[str, Field(max_length=300, description="The source, or the topic.")]
    suggested_value: Annotated[Any, Field(description="The new weight; left out: the whole step.")] = None


class DraftArguments(ChangeArguments):
    """A change with the evidence it would be written with."""

    evidence_urls: Annotated[list[str], Field(max_length=50, description="As for write_suggestion.")] = []


class CritiqueArguments(Arguments):
    """Drafts to judge, before any of them is written."""

    drafts: Annotated[list[DraftArguments], Field(min_length=1, max_length=DRAFTS_MAX)]


class HistoryArguments(Arguments):
    """How many decisions of either kind."""

    limit: Annotated[int, Field(ge=1, le=OUTCOMES_LIMIT)] = OUTCOMES_LIMIT


class CompareArguments(Arguments):
    """Two versions of the config; or, with `changes`, the current one with and without them."""

    before: Annotated[Version | None, Field(description="Left out: the one before `after`.")] = None
    after: Annotated[Version | None, Field(description="Left out: the current one.")] = None
    changes: Annotated[
        list[ChangeArguments],
        Field(max_length=DRAFTS_MAX, description="Made together; no versions then."),
    ] = []


class OutcomesArguments(Arguments):
    """Which layer of the reader's decisions, and which of them."""

    layer: Literal["search", "timeline", "detail"] = "search"
    types: Annotated[list[SuggestionType], Field(max_length=4, description="search: only these types.")] = []
    outcomes: Annotated[list[OutcomeResult], Field(max_length=4, description="search: only these.")] = []
    query: Annotated[str, Field(max_length=200, description="search: words in targets, reasons, titles.")] = (
        ""
    )
    limit: Annotated[int, Field(ge=1, le=OUTCOMES_LIMIT, description="search: how many.")] = OUTCOMES_LIMIT
    ids: Annotated[
        list[OutcomeId], Field(max_length=OUTCOMES_LIMIT, description="timeline, detail: from a search.")
    ] = []
    memories: Annotated[
        list[OutcomeId], Field(max_length=MEMORIES_MAX, description="detail: numbers from `whispers`.")
    ] = []
