"""Links in the head of any stranger's page: found as in browsers, in linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.feeds.page_tags import TAGS_MAX, page_tags
from tests.support.pace import processor_within

LINK = frozenset({"link"})
# Each is repeated; html.parser raises on some, and takes quadratic time for others.
FAMILIES = [
    "<link ", '<link "', "<link a='", "<link a=", "<link/", "<!--", "<!-- -->", "<![if ", "<![if", "<!", "<?",
    "<script>", "<script></scrip", "<a", "<", "&#", "<link href='&#" + "9" * 5000 + ";'>", "<title>", "</",
    "<link\n", "<link x" + " " * 500,
    "<link rel=icon href=/a>",
    "<a =", "<a b='c'd", "<p ='>", "<a b=\"<a '", "<a x x",
]  # fmt: skip


def links(markup: str) -> list[dict[str, str]]:
    return [dict(attributes) for _, attributes in page_tags(markup, names=LINK)]


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<link rel=icon href=/a>", [{"rel": "icon", "href": "/a"}]),
        ("<LINK Rel='a b' HREF=\"/x?a=1&amp;b=2\"/>", [{"rel": "a b", "href": "/x?a=1&b=2"}]),
        ("<link rel=a rel=b disabled>", [{"rel": "a", "disabled": ""}]),
        ("<link href=/a/b/>", [{"href": "/a/b/"}]),
        ("<link title='a > b' href=x>", [{"title": "a > b", "href": "x"}]),
        ("<!-- <link href=a> --><link href=b>", [{"href": "b"}]),
        ("<!--><link href=b>", [{"href": "b"}]),
        ("<script>'<link href=a>'</script ><link href=b>", [{"href": "b"}]),
        ("<title><link href=a></title><link href=b>", [{"href": "b"}]),
        ("<links href=a><link>", [{}]),
        ("a < b <link href = c >", [{"href": "c"}]),
        ("<link href=a", []),
        (
            "<meta content='<link href=a>'><my-a b=\"<link href=a>\"></p c='<link href=a>'><link href=b>",
            [{"href": "b"}],
        ),
        ("<!doctype html><?xml <link href=a>?><link href=b>", [{"href": "b"}]),
        ("<p title='never ends><link href=a>", []),
        ("<link rel= href=><link =a href=b>", [{"rel": "href="}, {"=a": "", "href": "b"}]),
        ("<![if IE]><link href=a><![endif]>", [{"href": "a"}]),
    ],
)
def test_tags_are_found_where_browsers_find_them(markup: str, found: list[dict[str, str]]):
    assert links(markup) == found


@pytest.mark.parametrize("family", FAMILIES)
def test_no_page_takes_long_or_raises(family: str):
    page = family * (512 * 1024 // len(family))
    with processor_within(1):
        assert len(links(page)) <= TAGS_MAX


@given(st.text(alphabet="<>!-/ linkscrpte=\"'&#;x\n\0é", max_size=200))
def test_no_text_raises_and_a_link_after_it_is_found_or_inside_something(text: str):
    found = links(text)
    assert all(isinstance(value, str) for one in found for value in one.values())
    # This closes everything that may be open: a comment, quotes, a tag, raw text.
    closed = f"{text}-->\"'></script></style></title><link href=last>"
    assert {"href": "last"} in links(closed) or any(mark in text.lower() for mark in ("<!--", "<", "'", '"'))
