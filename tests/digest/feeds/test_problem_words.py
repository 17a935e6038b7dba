"""What readers are told of a feed's problem: plain sentences, whose fault it is, no words of a parser."""

import re

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from digest.feeds import problem_words as words
from digest.feeds.entities import FeedProblem
from digest.feeds.feed_xml import malformed_problem
from digest.feeds.parse import parse_document
from digest.feeds.problem_words import problem_words
from digest.models import Feed, Reader
from tests.support.browser import subscribe

PARSER = re.compile(r"line \d|column|token|char \d|[<>{}]|Error\b|XML|JSON|\bnot well", re.IGNORECASE)


@pytest.mark.parametrize(
    "document",
    [
        "<rss><channel><item><title>Lamp</title></item",
        "<rss version='2.0'><chan",
        '{"version": "https://jsonfeed.org/version/1.1", "items": [',
        "<!DOCTYPE html><html><body>A page</body></html>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><rss>&b;</rss>",
        "<rss>" + "<a>" * 300,
        "   ",
    ],
)
def test_a_document_that_cannot_be_read_is_told_of_without_the_parsers_words(document: str):
    try:
        parse_document(document.encode(), url="https://a.example/feed")
    except FeedProblem as problem:
        told = problem_words(problem.code, problem.message)
        assert not PARSER.search(told), told
        assert told.endswith(".") and len(told) < 160


def test_who_is_at_fault_is_named():
    assert problem_words("malformed", "The document cannot be read as a feed (mismatched tag).") == (
        "This feed is damaged, so that no program can read it. Only its publisher can mend that."
    )
    assert problem_words("http_503", "It is overloaded.") == (
        "It is overloaded. That is the publisher’s fault, and often over soon."
    )
    assert problem_words("internal", "Tidings could not read (KeyError).").endswith("tell whoever runs it.")
    assert problem_words("", "") == "" and problem_words("made_up", "Something.") == "Something."


def test_german_readers_read_german():
    with override("de"):
        for code in {*words._WHAT, *words._WHOSE}:
            told = problem_words(code, "")
            assert told and not re.search(r"\b(the|this|only|that)\b", told, re.IGNORECASE), told


@pytest.mark.django_db
def test_the_list_of_sources_says_what_is_wrong_and_quotes_no_parser(client: Client, ada: Reader):
    row = subscribe(ada)
    problem = malformed_problem("not well-formed (invalid token): line 3, column 17")
    Feed.objects.filter(pk=row.feed_id).update(
        state="active",
        failures=3,
        last_fetched_at=timezone.now(),
        error_code=problem.code,
        error_message=problem.message,
    )
    client.force_login(ada)
    for address in ("/ui/sources", f"/ui/sources/{row.feed_id}"):
        body = client.get(address).content.decode()
        assert "This feed is damaged, so that no program can read it." in body
        assert "invalid token" not in body
