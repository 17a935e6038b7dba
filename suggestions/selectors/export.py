"""What suggestions keep of one reader."""

from collections.abc import Iterator
from uuid import UUID

from ranking.export_rows import export_rows
from suggestions.models import Evidence, Outcome, OutcomeArchive, PreferenceProfile, Suggestion


def reader_export_suggestions(*, reader_id: UUID) -> Iterator[tuple[str, object]]:
    """(name, rows) of all that was suggested to the reader, drafts that never reached them included, with the
    evidence, what became of each, and what the decisions add up to."""
    yield "suggestions", export_rows(Suggestion.objects.filter(reader_id=reader_id))
    yield "evidence", export_rows(Evidence.objects.filter(suggestion__reader_id=reader_id))
    yield "outcomes", export_rows(Outcome.objects.filter(reader_id=reader_id))
    yield "outcome_archives", export_rows(OutcomeArchive.objects.filter(outcome__reader_id=reader_id))
    yield "preference_profile", export_rows(PreferenceProfile.objects.filter(reader_id=reader_id))
