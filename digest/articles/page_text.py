"""Extract an article from its page and apply robots.txt, in a separate process with limits.

`python -m digest.articles.page_text` is that process: the sandbox server of feeds with another reader
function. It imports trafilatura once (about 40 MB) and ends when it is idle. Only its children read text from
strangers.
"""

import atexit
import os
import re
import sys
from typing import Any, Final
from urllib.parse import urlsplit

import nh3

from digest.feeds.body_html import html_clean
from digest.feeds.entities import FeedProblem
from digest.feeds.sandbox import SandboxServer, sandbox_answer
from ranking.language import gettext_noop

COMMAND: Final = (sys.executable, "-s", "-P", "-m", "digest.articles.page_text")
# They come with the extra `full-text`.
LIBRARIES: Final = ("trafilatura", "protego")
# Limits in seconds for one page: processor time, then elapsed time.
CPU_S: Final = 3.0
WALL_S: Final = 15.0
# A shorter text is a cookie notice or a heading, not an article.
TEXT_MIN_CHARS: Final = 200
# Words of five letters and more, in scripts that put spaces between words.
_LONG_WORD: Final = re.compile(r"[^\W\d_\u0e00-\u0eff\u3040-\u9fff]{5,}")
# At least this share of a feed's long words must be in its article, if it has so many. Of 525 articles of 68
# real feeds with a standfirst of its own 97 % pass, 2 % of other feeds' articles and 0.1 % of two notices.
OWN_MIN, SHARED_MIN = 5, 0.25
# The name by which a robots.txt may address us (RFC 9309, section 2.2.1).
ROBOTS_NAME: Final = "Tidings"

PAGES: Final = SandboxServer(COMMAND)
atexit.register(PAGES.end)
os.register_at_fork(after_in_child=PAGES.reset_after_fork)


def page_article(markup: str, *, url: str, server: SandboxServer = PAGES) -> str:
    """Return the article in the page `markup`, fetched from `url`, as cleaned HTML.

    Raises `FeedProblem` with `no_article`, `page_timeout`, `page_crashed` or `parse_unavailable`.
    """
    found = str(_answer("page", markup, url, server).get("html", ""))
    if not found:
        raise FeedProblem("no_article", gettext_noop("No article could be found on that page."))
    return found


def article_check(html: str, *, title: str, text: str) -> None:
    """Raise `FeedProblem` if a page's article is no better than the `title` and `text` of its feed.

    `not_more`: it is no longer. `another_text`: it shares too few of their words, as a notice about cookies
    or a sign-in does.
    """
    words = nh3.clean(html, tags=set())
    if len(words) <= len(text):
        raise FeedProblem("not_more", gettext_noop("That page has no more of the article than its feed."))
    own = _long_words(f"{title} {text}")
    if len(own) >= OWN_MIN and len(own & _long_words(words)) < SHARED_MIN * len(own):
        raise FeedProblem(
            "another_text",
            gettext_noop("What can be read on that page is another text, perhaps a notice or a sign-in."),
        )


def _long_words(text: str) -> set[str]:
    return set(_LONG_WORD.findall(text.casefold()))


def robots_answer(text: str, *, url: str, server: SandboxServer = PAGES) -> tuple[bool, float]:
    """Return whether the robots.txt `text` allows us to read `url`, and the pause it asks for in seconds.

    Raises `FeedProblem` as `page_article` does.
    """
    found = _answer("robots", text, url, server)
    return bool(found.get("allowed")), float(found.get("delay_s", 0.0))


def _answer(kind: str, text: str, url: str, server: SandboxServer) -> dict[str, Any]:
    try:
        return sandbox_answer(f"{kind}\n{text}", url=url, server=server, wall_s=WALL_S)
    except FeedProblem as problem:
        if problem.code in ("parse_timeout", "parse_memory"):
            raise FeedProblem(
                "page_timeout", gettext_noop("Reading that page takes longer than any should.")
            ) from problem
        if problem.code == "parse_crashed":
            raise FeedProblem("page_crashed", gettext_noop("That page could not be read.")) from problem
        raise


def read(document: str, *, url: str) -> dict[str, object]:
    """Read one `document` in the child process. Its first line is its kind: `page` or `robots`."""
    kind, _, text = document.partition("\n")
    return _read_robots(text, url) if kind == "robots" else {"html": _read_page(text, url)}


def _read_page(markup: str, url: str) -> str:
    from trafilatura import extract  # noqa: PLC0415  # it is an extra, and heavy

    found = extract(
        markup,
        url=url,
        output_format="html",
        fast=True,
        include_comments=False,
        include_formatting=True,
        include_links=True,
        include_images=True,
        include_tables=True,
    )
    cleaned, _ = html_clean(found or "", base=url, plain=True)
    words = nh3.clean(cleaned, tags=set())
    return cleaned if len(words) >= TEXT_MIN_CHARS else ""


def _read_robots(text: str, url: str) -> dict[str, object]:
    from protego import Protego  # noqa: PLC0415  # it comes with the same extra

    rules = Protego.parse(text)
    if not urlsplit(url).path:
        url += "/"
    return {"allowed": rules.can_fetch(url, ROBOTS_NAME), "delay_s": rules.crawl_delay(ROBOTS_NAME) or 0.0}


def main() -> int:
    """Serve until the parent ends or has sent nothing for a while."""
    import protego  # noqa: F401, PLC0415  # before the first fork, so that children share them
    import trafilatura  # noqa: F401, PLC0415

    from digest.feeds.sandbox_server import sandbox_serve  # noqa: PLC0415  # it needs parsers of feeds

    sandbox_serve(read, cpu_s=CPU_S, as_json=dict)
    return 0


if __name__ == "__main__":
    sys.exit(main())
