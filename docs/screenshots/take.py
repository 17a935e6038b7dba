"""Render every page of the demo in a real browser: `make screenshots`.

Seeds the demo into a throw-away folder, serves it on a spare loopback port, signs in and saves each page
as a PNG beside this file: in light and on a phone of 360 pixels, the main ones in dark too. Names of shots
as arguments take only those.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PASSWORD = "tidings-demo"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
START_S = 30
GENERATE_MS = 60_000
# Of a long page no more than this is worth its bytes, in pixels of the page.
LONGEST = 2600
LOOKS = {
    "light": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light", "device_scale_factor": 1.5},
}


@dataclass(frozen=True)
class Shot:
    """One page to take: its file's name, whose it is, where, and whether all of it or one screen."""

    name: str
    reader: str
    path: str
    full: bool = False
    dark: bool = False


# Taken last, in every look: what they show takes a reader's doing, which other pictures would show too.
LAST = {"history", "item", "read", "saved"}
SHOTS = [
    Shot("sign-in", "", "/accounts/login/"),
    Shot("today", "ada", "/", dark=True),
    Shot("item", "ada", "/", full=True, dark=True),
    Shot("read", "ada", "/"),
    Shot("left-out", "ada", "/"),
    Shot("search", "ada", "/ui/search?q=port", dark=True),
    Shot("saved", "ada", "/ui/saved"),
    Shot("calendar", "ada", "/ui/calendar"),
    Shot("keys", "ada", "/"),
    Shot("sources", "ada", "/ui/sources", dark=True),
    Shot("account", "ada", "/ui/account", full=True),
    Shot("tokens", "ada", "/ui/account/tokens"),
    Shot("welcome", "ada", "/ui/welcome"),
    Shot("settings", "ada", "/ui/config", full=True, dark=True),
    Shot("settings-over-time", "ada", "/ui/history/settings"),
    Shot("trends", "ada", "/ui/history/trends"),
    Shot("decided", "ada", "/ui/suggestions", full=True),
    Shot("suggestions", "ben", "/ui/suggestions", full=True, dark=True),
    Shot("preview", "ben", "/ui/suggestions", full=True, dark=True),
    Shot("too-little-feedback", "cleo", "/ui/suggestions"),
    Shot("history", "ada", "/ui/history", full=True),
    Shot("run-timeline", "olga", "/admin/advisor/run/?status__exact=completed"),
    Shot("figures", "olga", "/admin/advisor/run/kpis/", full=True),
    Shot("autonomy", "olga", "/admin/advisor/run/autonomy/", full=True),
    Shot("costs", "olga", "/debug/costs", full=True),
]


def main() -> None:
    """Take every shot in every look, or those named; cards of suggestions are generated on the way."""
    shots = [shot for shot in SHOTS if not sys.argv[1:] or shot.name in sys.argv[1:]]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, site(Path(folder)) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for last in (False, True):
            for look in LOOKS:
                part = [
                    shot for shot in shots if (shot.name in LAST) is last and (shot.dark or look != "dark")
                ]
                for reader in dict.fromkeys(shot.reader for shot in part):
                    take(browser, url, look, [shot for shot in part if shot.reader == reader])
        browser.close()


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """The demo on a spare port, as long as the block lasts."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    env = {**kept, "TIDINGS_VAR_DIR": str(folder), "LOG_LEVEL": "ERROR"}
    manage = [sys.executable, str(ROOT / "manage.py")]
    for command in (["migrate", "--verbosity", "0"], ["demo"]):
        subprocess.run([*manage, *command], env=env, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with socket.socket() as spare:
        spare.bind(("127.0.0.1", 0))
        port = spare.getsockname()[1]
    served = subprocess.Popen([*manage, "runserver", f"127.0.0.1:{port}", "--noreload"], env=env, cwd=ROOT)
    try:
        wait_for(f"http://127.0.0.1:{port}/healthz")
        yield f"http://127.0.0.1:{port}"
    finally:
        served.terminate()
        served.wait()


def wait_for(url: str) -> None:
    """Return once `url` answers; raise `TimeoutError` after half a minute."""
    for _ in range(START_S * 5):
        try:
            urlopen(url, timeout=1).close()
            return
        except (URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(f"Nothing answered at {url}.")


def take(browser: Browser, url: str, look: str, shots: list[Shot]) -> None:
    """Shots of one reader in one look."""
    context = browser.new_context(base_url=url, reduced_motion="reduce", **LOOKS[look])
    page = context.new_page()
    if shots[0].reader:
        sign_in(page, shots[0].reader)
    for shot in shots:
        page.goto(shot.path)
        prepare(page, shot)
        picture(page, HERE / f"{shot.name}-{look}.png", shot.full)
        print(f"{shot.name}-{look}.png")
    context.close()


def picture(page: Page, path: Path, full: bool) -> None:
    """One screen of the page; if `full`, all of it, as far as it is worth showing."""
    size = page.viewport_size or {"width": 0, "height": 0}
    height = page.evaluate("document.documentElement.scrollHeight")
    if not full or height <= size["height"]:
        page.screenshot(path=path)
        return
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(height, LONGEST)}
    page.screenshot(path=path, full_page=True, clip=clip)


def sign_in(page: Page, reader: str) -> None:
    """Through the form, as anybody would."""
    page.goto("/accounts/login/")
    page.fill("[name=login]", reader)
    page.fill("[name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url("**/")


def prepare(page: Page, shot: Shot) -> None:
    """Bring a page into the state worth a picture."""
    if shot.name == "item":
        page.locator(".item .meta a").first.click()
    if shot.name == "left-out":
        page.locator("a[href$='/left-out']").first.click()
        page.wait_for_load_state("networkidle")
    if shot.name == "settings":
        page.locator(".pins > summary").click()
    if shot.name == "read":
        read_some(page)
        page.goto(shot.path)
    if shot.name == "keys":
        page.wait_for_selector("html[data-scripts=ready]", state="attached")
        page.keyboard.press("?")
    if shot.name == "run-timeline":
        page.locator("#result_list tbody th a").first.click()
        page.locator(".timeline ol").wait_for()
        page.wait_for_load_state("networkidle")
        page.locator(".timeline").evaluate("part => part.scrollIntoView()")
    if shot.name == "history":
        answer_all(page)
        page.goto(shot.path)
    if shot.name in {"suggestions", "preview"}:
        if page.locator("[data-generate]").count():
            page.get_by_role("button", name="Generate suggestions").click()
            page.locator("[data-card]").first.wait_for(timeout=GENERATE_MS)
        page.locator("[data-card] summary").first.click()
        if shot.name == "preview":
            page.locator("a[href$='/preview']").first.click()
            page.wait_for_load_state("networkidle")


def read_some(page: Page) -> None:
    """Open two items and save two, unless an earlier look has done so."""
    page.wait_for_selector("html[data-scripts=ready]", state="attached")
    for n in (1, 3):
        ribbon = page.locator(".keep button").nth(n)
        if ribbon.get_attribute("aria-pressed") == "false":
            ribbon.click()
            page.locator(".keep button").nth(n).and_(page.locator("[aria-pressed=true]")).wait_for()
    for n in (1, 2):
        page.locator(".item").nth(n).locator(".meta a").first.click()
        page.goto("/")


def answer_all(page: Page) -> None:
    """Turn the first waiting suggestion down with a reason and put the next one off."""
    for name in ("Reject", "Not now"):
        page.goto("/ui/suggestions")
        card = page.locator("[data-card]").first
        if card.count():
            card.locator("summary").click()
            card.get_by_label("If you reject it, why?").fill("I see enough of it already")
            card.get_by_role("button", name=name, exact=True).click()
            page.locator(".card.done").wait_for()


if __name__ == "__main__":
    main()
