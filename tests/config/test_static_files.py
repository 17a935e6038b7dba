"""Static files have addresses that change with their content, and browsers may keep them for ever."""

from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client

from config.static_files import static_version

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tidings.css", "text/css"),
        ("tidings.js", "text/javascript"),
        ("tidings.webmanifest", "application/manifest+json"),
        ("fonts/literata-latin.woff2", "font/woff2"),
        ("admin/css/base.css", "text/css"),
    ],
)
def test_a_file_has_its_type_and_may_be_kept_for_ever(client: Client, name: str, kind: str):
    answer = client.get(static(name))
    answer.close()
    assert answer.status_code == 200 and answer["Content-Type"].partition(";")[0] == kind
    assert "immutable" in answer["Cache-Control"] and "max-age=315360000" in answer["Cache-Control"]


@pytest.mark.parametrize("before", ["/static/tidings.css", "/static/0123456789ab/tidings.css"])
def test_an_earlier_address_leads_to_the_file_of_today(client: Client, before: str):
    answer = client.get(before)
    assert (answer.status_code, answer.url) == (302, static("tidings.css"))
    assert "immutable" not in answer.get("Cache-Control", "")


def test_a_file_that_is_missing_is_not_looked_for_again(client: Client):
    assert client.get(static("nothing.css")).status_code == 404
    assert client.get("/static/nothing.css").url == static("nothing.css")


def test_the_version_follows_the_content_the_name_and_the_packages(tmp_path: Path):
    (tmp_path / "a.css").write_text("a")
    first = static_version(tmp_path, ["5.2"])
    assert static_version(tmp_path, ["5.2"]) == first != static_version(tmp_path, ["5.3"])
    (tmp_path / "a.css").write_text("b")
    second = static_version(tmp_path, ["5.2"])
    (tmp_path / "a.css").rename(tmp_path / "b.css")
    assert len({first, second, static_version(tmp_path, ["5.2"])}) == 3
    assert static_version(settings.STATICFILES_DIRS[0], []).isalnum()
