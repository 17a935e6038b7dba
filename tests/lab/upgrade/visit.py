"""Act as a reader and an operator on either side of an upgrade, inside one of the two trees.

    python visit.py fill URL…    subscribe a new reader to the feeds, fetch them, mark a third each
    python visit.py fetch URL…   fetch the same feeds again, whether they are due or not
    python visit.py look         print the reader's lists as JSON

It uses only interfaces that stay the same between versions: commands and the JSON API. Start it with the tree
as working folder and import path.
"""

import io
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

READER = "dora"
PAGE = 100


def main(argv: list[str]) -> None:
    """Do the step that `argv` names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django  # noqa: PLC0415 - the path of the tree comes from outside

    django.setup()
    step, rest = argv[0], argv[1:]
    if step == "fill":
        _fill(rest)
    elif step == "fetch":
        _command("fetch_feeds", "--feed", *rest)
        _command("build_digest", "--user-id", READER)
    elif step == "look":
        print(json.dumps(_look()))
    else:
        sys.exit(f"There is no step {step!r}.")


def _command(name: str, *arguments: str) -> str:
    from django.core.management import call_command  # noqa: PLC0415

    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def _client() -> Any:
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    client = Client(HTTP_HOST="127.0.0.1")
    client.force_login(get_user_model().objects.get(username=READER))
    return client


def _fill(feeds: list[str]) -> None:
    """Import the feeds as a list and fetch them; rate, save and open a third of Today each."""
    from django.contrib.auth import get_user_model  # noqa: PLC0415

    get_user_model().objects.create_user(username=READER, password=None, email=f"{READER}@example.org")
    outlines = "".join(f'<outline type="rss" text="{n}" xmlUrl="{url}"/>' for n, url in enumerate(feeds))
    listing = Path(os.environ["TIDINGS_VAR_DIR"]) / "feeds.opml"
    listing.write_text(f'<opml version="2.0"><head/><body>{outlines}</body></opml>', encoding="utf-8")
    _command("import_opml", "--user-id", READER, str(listing))
    _command("fetch_feeds")
    client = _client()
    today = _today(client)["entries"]
    for n, entry in enumerate(today):
        path = f"/api/items/{entry['item_id']}"
        if n % 3 == 0:
            _post(client, f"{path}/feedback", {"useful": n % 2 == 0, "reason_tags": []})
        elif n % 3 == 1:
            _post(client, f"{path}/saved")
        else:
            _post(client, f"{path}/read?how=opened")


def _post(client: Any, path: str, body: object = None) -> None:
    answer = client.post(path, json.dumps(body) if body is not None else "", content_type="application/json")
    assert answer.status_code == 200, (path, answer.status_code, answer.content[:300])


def _today(client: Any) -> dict[str, Any]:
    answer = client.get(f"/api/digests/{datetime.now(UTC).date()}")
    assert answer.status_code == 200, (answer.status_code, answer.content[:300])
    found: dict[str, Any] = answer.json()
    return found


def _look() -> dict[str, Any]:
    """Return Today in its order, and the id, title, address and marks of every item."""
    client = _client()
    items, cursor = [], ""
    while cursor is not None:
        page = client.get(
            "/api/items", {"limit": PAGE, "cursor": cursor} if cursor else {"limit": PAGE}
        ).json()
        items += page["items"]
        cursor = page["cursor"]
    names = ("item_id", "title", "url", "source", "useful", "read_at", "saved_at")
    entries = _today(client)["entries"]
    return {
        "today": [
            {name: entry[name] for name in ("item_id", "title", "source", "score")} for entry in entries
        ],
        "items": [{name: item[name] for name in names} for item in items],
        "unread": page["unread"],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
