"""Everything the site keeps of one reader, as one JSON object: each room brings its part.

A room exports what is its own through a function of its own; this room, which may import them all, puts the
parts one after the other. The format is described in docs/accounts.md.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from django.core.serializers.json import DjangoJSONEncoder

from advisor.reader_export import reader_export_advisor
from digest.models import Reader
from digest.services.export import reader_export_digest
from ranking.reader_export import reader_export_ranking
from suggestions.selectors.export import reader_export_suggestions

SCHEMA = "tidings.reader-export"
# Raised when a key goes or changes its meaning; new keys and columns may join without.
SCHEMA_VERSION = 1


def reader_export_parts(*, reader: Reader) -> Iterator[tuple[str, object]]:
    """(name, value or iterator of rows) of every room; the account comes first."""
    return chain(
        reader_export_digest(reader=reader),
        reader_export_ranking(reader_id=reader.pk),
        reader_export_suggestions(reader_id=reader.pk),
        reader_export_advisor(reader_id=reader.pk),
    )


def reader_export_stream(*, reader: Reader, now: datetime) -> Iterator[str]:
    """The whole export as pieces of one JSON document, a row a line; no more than a chunk of rows is held."""
    head = {"schema": SCHEMA, "version": SCHEMA_VERSION, "exported_at": now}
    yield _json(head)[:-1]
    for name, value in reader_export_parts(reader=reader):
        yield f",\n{_json(name)}: "
        if isinstance(value, Iterator):
            yield "["
            for n, row in enumerate(value):
                yield (",\n  " if n else "\n  ") + _json(row)
            yield "]"
        else:
            yield _json(value)
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
