"""Every form of every page a reader can open: each field has one meaning, and each button does something.

Pages and forms are found, not listed, so a form that is added is looked at, too.
"""

from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import pytest
from django.db import transaction
from django.http.response import HttpResponseBase
from django.test import Client
from lxml import html

from digest.items.reading import item_read
from digest.models import Item, Reader, Subscription
from digest.web.pages.lists import ACTIONS, ListRequest, list_request
from tests.support.browser import ago
from tests.test_axe_browser import ASKED, full, pages_of
from tests.test_isolation import ids

__all__ = ["full", "ids"]
pytestmark = pytest.mark.django_db
# Lists and pages whose forms depend on the query; `test_axe_browser` has more.
LISTS = [
    "unread=1",
    "saved=1",
    "order=best",
    "unread=1&order=best&source=ada.example",
    "folder=&before=9999999999.1",
]
CHOICES = {"radio", "checkbox"}
BUTTONS = {"submit", "image"}
# These send requests to another server and are pressed in their own tests.
ABROAD = ("/send", "/test", "/ui/account/destinations")


class Form:
    """A form as a browser sees it, with the controls that name it from elsewhere."""

    def __init__(self, page: str, tree: html.HtmlElement, form: html.HtmlElement) -> None:
        self.page, self.form = page, form
        own = [one for one in form.iter("input", "button", "select", "textarea") if not one.get("form")]
        far = tree.xpath("//*[@form=$id]", id=form.get("id")) if form.get("id") else []
        self.controls = [one for one in [*own, *far] if one.get("disabled") is None]
        self.method = form.get("method", "get").lower()

    @property
    def buttons(self) -> list[html.HtmlElement]:
        return [one for one in self.controls if kind_of(one) in BUTTONS]

    def action(self, button: html.HtmlElement) -> str:
        return button.get("formaction") or self.form.get("action") or self.page

    def fields(self, button: html.HtmlElement) -> list[tuple[str, str]]:
        """Return the fields that are sent if `button` is pressed now."""
        found = []
        for one in self.controls:
            name, kind = one.get("name"), kind_of(one)
            if not name or (kind in BUTTONS and one is not button) or kind == "button":
                continue
            if kind in CHOICES and one.get("checked") is None:
                continue
            found += [(name, value) for value in values_of(one)]
        return found


def kind_of(control: html.HtmlElement) -> str:
    usual = {"button": "submit", "input": "text"}
    return control.get("type", usual.get(control.tag, control.tag)).lower()


def values_of(control: html.HtmlElement) -> list[str]:
    if control.tag == "select":
        options = control.findall(".//option")
        chosen = [one for one in options if one.get("selected") is not None] or options[:1]
        return [one.get("value", one.text_content()) for one in chosen]
    return [control.text or "" if control.tag == "textarea" else control.get("value", "")]


def forms_of(page: str, body: bytes) -> Iterator[Form]:
    tree = html.fromstring(body)
    return (Form(page, tree, form) for form in tree.iter("form") if form.get("method") != "dialog")


@pytest.fixture
def forms(ada: Reader, full: dict[str, list[object]], client: Client) -> list[Form]:
    """Return the forms of all pages, each once for the same fields and buttons."""
    Subscription.objects.filter(reader=ada).update(folder="News")
    item_read(reader=ada, item_id=Item.objects.latest("pk").pk, now=ago(0))
    client.force_login(ada)
    found: dict[object, Form] = {}
    for page in [*pages_of(ada, full), *ASKED, *(f"/ui/all?{query}" for query in LISTS)]:
        answer = client.get(page)
        for form in forms_of(page, answer.content):
            names = [(kind_of(one), one.get("name")) for one in form.controls]
            path = urlsplit(form.form.get("action") or page).path
            found.setdefault(
                (path, form.method, tuple(sorted(map(str, {*names}))), page.partition("?")[2]), form
            )
    assert len(found) > 40
    return list(found.values())


def test_no_field_of_a_form_has_two_meanings(forms: list[Form]):
    """A button's name is no other control's, and a typed field exists once."""
    wrong = []
    for form in forms:
        kinds = defaultdict(list)
        for one in form.controls:
            if one.get("name"):
                kinds[one.get("name")].append(kind_of(one))
        for name, found in kinds.items():
            same = len({*found}) == 1 and (len(found) == 1 or found[0] in {*CHOICES, *BUTTONS, "hidden"})
            if not same:
                wrong.append((form.page, form.form.get("action"), name, found))
    assert wrong == []


def test_no_filter_of_a_list_has_the_name_of_a_button():
    every = list_request(
        {"unread": "1", "saved": "1", "folder": "", "feed": "1", "order": "best", "before": "1"}
    )
    named = {*ListRequest(every.chosen, every.order, "1").fields, "source", "category", "seen"}
    assert not named & {*ACTIONS}


def test_every_button_answers(forms: list[Form], client: Client):
    wrong = []
    for form in forms:
        for button in form.buttons:
            action = form.action(button)
            if action.startswith("http") or action.endswith(ABROAD):
                continue
            answer = sent(client, form, button, action)
            if answer.status_code >= 400:
                wrong.append((form.page, action, dict(form.fields(button)), answer.status_code))
    assert wrong == []


def sent(client: Client, form: Form, button: html.HtmlElement, action: str) -> HttpResponseBase:
    """Return the answer to a button, and roll back its effect."""
    with transaction.atomic():
        fields = urlencode(form.fields(button))
        if form.method == "get":
            answer = client.get(f"{action.partition('?')[0]}?{fields}")
        else:
            answer = client.post(action, fields, content_type="application/x-www-form-urlencoded")
        transaction.set_rollback(True)
    return answer
