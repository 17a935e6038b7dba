"""A reader app in tests: logged in by a token, with ids short enough to read."""

from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from digest.accounts.tokens import token_issue
from digest.models import Item, Reader

API = "/reader/api/0/"
ALL, READ, STARRED = (f"user/-/state/com.google/{name}" for name in ("reading-list", "read", "starred"))


class App:
    """One reader's app, with a token of `scope`."""

    def __init__(self, reader: Reader, scope: str = "full", **more: Any) -> None:
        given = {"name": "app", "scope": scope, "expires_at": None, "now": timezone.now(), **more}
        issued = token_issue(reader=reader, **given)
        self.token, self.secret = issued.token, issued.secret
        headers = {"Authorization": f"GoogleLogin auth={self.secret}"}
        self.client = Client(enforce_csrf_checks=True, headers=headers)

    def get(self, path: str, **query: object) -> HttpResponse:
        """Return the answer to a question."""
        return self.client.get(API + path, query)

    def post(self, path: str, **form: object) -> HttpResponse:
        """Return the answer to a change."""
        return self.client.post(API + path, form)

    def ids(self, stream: str = ALL, **query: object) -> list[int]:
        """Return the ids of the first page of a stream."""
        page = self.get("stream/items/ids", s=stream, **{"n": 100, **query}).json()
        return [int(one["id"]) for one in page["itemRefs"]]

    def items(self, stream: str = ALL, **query: object) -> list[dict[str, Any]]:
        """Return the items of the first page of a stream."""
        found: list[dict[str, Any]] = self.get(f"stream/contents/{stream}", **query).json()["items"]
        return found

    def tag(self, *items: Item, **form: object) -> HttpResponse:
        """Tag items: a and r are states or labels."""
        return self.post("edit-tag", i=[item.pk for item in items], **form)
