"""Import files of another reader: lists of feeds first, then stars and read marks, which need the feeds."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from digest.errors import DigestError
from digest.items.selectors import reader_source_titles
from digest.models import Reader
from digest.sources.past import PAST_BYTES_MAX
from digest.sources.past_import import PastReport, past_import
from digest.sources.subscriptions import OpmlReport, opml_import

NAME_CHARS = 120
# Reasons of refused lines that a page lists.
REASONS_SHOWN = 50
# What may stand before the first sign of a document, in any encoding that is read.
_BEFORE = b"\xef\xbb\xbf\xff\xfe \t\r\n\0"


@dataclass(slots=True)
class ImportedFile:
    """One file and its report: of a list (`feeds`) or of stars (`past`); `error` if nothing could be read.

    `most` and `learned` are those of the report, with the titles of sources in place of their keys.
    """

    name: str
    feeds: OpmlReport | None = None
    past: PastReport | None = None
    error: str = ""
    most: list[tuple[str, int]] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the values of its page as JSON values. Refused lines are grouped by reason, most first."""
        shown: dict[str, Any] = {"name": self.name, "error": self.error}
        shown |= {"most": self.most, "learned": self.learned}
        shown["past"] = asdict(self.past) if self.past else None
        shown["feeds"] = None
        if self.feeds:
            lines = [{"line": one.line, "what": one.what, "reason": one.reason} for one in self.feeds.rejects]
            shown["feeds"] = self.feeds.as_dict() | {
                "refusals": [
                    {"reason": reason, "count": n, "lines": [one for one in lines if one["reason"] == reason]}
                    for reason, n in self.feeds.reasons.most_common(REASONS_SHOWN)
                ],
            }
        return shown


def files_import(
    *, reader: Reader, files: "Sequence[UploadedFile[Any]]", now: datetime
) -> list[ImportedFile]:
    """Import each file as what it is. A file that cannot be read stops no other.

    JSON is stars, everything else a list of feeds.
    """
    found = []
    for is_past, file in sorted(((_is_past(file), file) for file in files), key=lambda pair: pair[0]):
        one = ImportedFile((file.name or "")[:NAME_CHARS])
        document = file.read(PAST_BYTES_MAX + 1)
        try:
            if is_past:
                _past(one, reader, document, now)
            else:
                one.feeds = opml_import(reader=reader, document=document, now=now)
        except DigestError as error:
            one.error = error.message
        found.append(one)
    return found


def _is_past(file: "UploadedFile[Any]") -> bool:
    head: bytes = file.read(64)
    file.seek(0)
    return head.lstrip(_BEFORE)[:1] in (b"[", b"{")


def _past(one: ImportedFile, reader: Reader, document: bytes, now: datetime) -> None:
    one.past = report = past_import(reader=reader, document=document, now=now)
    keys = {*report.learned, *(key for key, _ in report.most)}
    titles = reader_source_titles(reader_id=reader.pk, keys=keys)
    one.most = [(titles.get(key, key), stars) for key, stars in report.most]
    one.learned = [titles.get(key, key) for key in report.learned]
