"""Requests that no browser sends get a 400, as a page or as JSON, and break nothing."""

from wsgiref.util import setup_testing_defaults

import pytest
from django.core.files.uploadhandler import MemoryFileUploadHandler, TemporaryFileUploadHandler
from django.test import Client

from config.middleware import MULTIPART_MAX, STARS_MULTIPART_MAX
from config.wsgi import application
from tests.support.pace import processor_within

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
PIECES = [
    "charset*0=he; charset*1=x",
    "charset*=utf-8''hex",
    "charset*=undefined''hex",
    "x*=nonsense''hex",
    "x*" + "9" * 5000 + "=hex",
    'x="' + ";" * 60_000,
]


@pytest.mark.every_case
@pytest.mark.parametrize("path", ["/feeds/%00/atom.xml", "/feeds/a%00b/feed.json", "/ui/\0", "/%00"])
def test_an_address_with_a_nul_is_not_understood(path):
    answer = Client(raise_request_exception=False).get(path)
    assert answer.status_code == 400 and "tidings.css" in answer.content.decode()
    assert "script-src" in answer["Content-Security-Policy"]


def test_scripts_are_told_so_in_their_own_shape(as_ada):
    """No operation has such an address, and none accepts a form in another charset."""
    for path in ("/api/digests/%00", "/api/\0"):
        assert (answer := as_ada.get(path)).status_code == 404 and answer.json()["error"] == "not_found"
    body = {"data": b"a=b", "content_type": f"{FORM}; charset=latin-1"}
    answer = as_ada.post("/api/suggestions/accept-all", **body)
    assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")
    assert answer["Cache-Control"] == "no-store"


def test_a_form_with_files_is_no_body_of_an_operation(ada):
    """Django reads it for a token first, and then it cannot be read as JSON."""
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    client.force_login(ada)
    client.cookies["csrftoken"] = "M" * 32
    for headers in ({}, {"Idempotency-Key": "once"}):
        answer = client.post("/api/items/read", {"csrfmiddlewaretoken": "M" * 32}, headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")


BODY = (
    b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    + b"a" * 100_000
    + b"\r\n--x--\r\n"
)


@pytest.mark.parametrize("who", ["visitor", "reader"])
@pytest.mark.parametrize(
    "path", ["/accounts/login/", "/ui/sources/import", "/admin/login/", "/api/items/read"]
)
def test_no_file_is_written_to_the_disk_beyond_a_limit(who, path, ada, monkeypatch):
    """The check of a form's token reads it, and Django writes its files to the disk, however large."""
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    if who == "reader":
        client.force_login(ada)
    client.cookies["csrftoken"] = "M" * 32
    written = []
    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", lambda *_, **__: written.append(path))
    monkeypatch.setattr(MemoryFileUploadHandler, "new_file", lambda *_, **__: written.append(path))
    stars = path == "/ui/sources/import" and who == "reader"
    sent = {"content_type": "multipart/form-data; boundary=x"}
    most = STARS_MULTIPART_MAX if stars else MULTIPART_MAX
    answer = client.generic("POST", path, BODY, **sent, CONTENT_LENGTH=str(most + 1))
    assert answer.status_code == (400 if path.startswith("/admin") else 413)
    assert not written
    client.generic("POST", path, BODY, **sent, CONTENT_LENGTH=str(len(BODY)))
    assert written, "up to it files are read"


@pytest.mark.parametrize("charset", ["latin-1", "utf-7", "utf-16", "hex", "idna", "nonsense"])
@pytest.mark.parametrize("kind", [FORM, "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("path", ["/accounts/login/", "/ui/config", "/api/suggestions/accept-all"])
def test_a_form_in_another_charset_is_not_understood(path, kind, charset):
    """It has a token, so the CSRF check and the error page both read the form."""
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "M" * 32
    answer = client.generic("POST", path, b"a=b", content_type=f"{kind}; charset={charset}")
    assert answer.status_code == 400


@pytest.mark.parametrize("charset", ["hex", "rot13", "idna", "undefined", '"UTF-8"', "latin-1"])
@pytest.mark.parametrize(("method", "kind"), [("GET", "text/html"), ("GET", FORM), ("POST", FORM)])
def test_an_address_is_read_as_utf_8_whatever_charset_a_body_has(method: str, kind: str, charset: str):
    """This uses the whole site, because Django reads the query before any middleware runs."""
    environ = {"PATH_INFO": "/accounts/login/", "QUERY_STRING": "next=/%C3%A9", "REQUEST_METHOD": method}
    environ |= {"CONTENT_TYPE": f"{kind}; charset={charset}", "HTTP_HOST": "127.0.0.1"}
    setup_testing_defaults(environ)
    got: list[str] = []
    page = b"".join(application(environ, lambda status, headers: got.append(status))).decode()
    refused = kind == FORM and charset != '"UTF-8"'
    assert got == ["400 Bad Request" if refused else "200 OK" if method == "GET" else "403 Forbidden"]
    assert refused or method == "POST" or 'value="/é"' in page


@pytest.mark.parametrize("charset", PIECES)
@pytest.mark.parametrize("kind", ["text/html", FORM, "multipart/form-data; boundary=x"])
def test_a_charset_in_pieces_or_encoded_breaks_nothing(kind: str, charset: str):
    """Django reads RFC 2231 in the headers of forms only."""
    environ = {"PATH_INFO": "/accounts/login/", "REQUEST_METHOD": "POST", "HTTP_HOST": "127.0.0.1"}
    environ["CONTENT_TYPE"] = f"{kind}; {charset}"
    setup_testing_defaults(environ)
    got: list[str] = []
    with processor_within(1):
        b"".join(application(environ, lambda status, headers: got.append(status)))
        assert got == ["403 Forbidden" if kind == "text/html" else "400 Bad Request"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", "utf8"])
def test_a_form_in_utf_8_is_read_however_that_is_spelt(charset):
    answer = Client().post("/accounts/login/", b"login=ada", content_type=f"{FORM}; charset={charset}")
    assert answer.status_code == 200 and "ada" in answer.content.decode()


@pytest.fixture
def as_ada(ada, client: Client) -> Client:
    client.force_login(ada)
    return client


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/api/suggestions"), ("GET", "/api/suggestions/accept-all"), ("HEAD", "/api/suggestions")],
)
def test_a_method_that_does_nothing_is_refused_in_the_shape_of_every_error(as_ada, method, path):
    answer = as_ada.generic(method, path)
    assert answer.status_code == 405 and answer["Allow"] and answer["Content-Type"] == "application/json"
    assert method == "HEAD" or answer.json()["error"] == "method_not_allowed"


def test_no_cache_keeps_what_the_api_told_one_reader(as_ada):
    for path in ("/api/suggestions", "/api/search?q=x"):
        assert as_ada.get(path)["Cache-Control"] == "no-store"
    assert "no-cache" in as_ada.get("/api/openapi.json")["Cache-Control"], "the description says its own"


@pytest.mark.parametrize("name", ["q", "reader__username", "topics", "a\0b"])
def test_the_admin_asks_the_database_for_no_nul(operator, client: Client, name: str):
    """PostgreSQL can neither store nor compare a NUL."""
    client.force_login(operator)
    for model in ("digest/feed", "digest/item", "digest/reader", "ranking/rankconfig"):
        assert client.get(f"/admin/{model}/", {name: "a\0b"}).status_code == 400
        assert client.post(f"/admin/{model}/add/", {name: "https://a.example/\0"}).status_code == 400
    assert client.get("/admin/digest/feed/?q=a").status_code == 200
