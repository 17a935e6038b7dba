"""Render every page of the demo in a real browser: `make screenshots`.

Seeds the demo into a throw-away folder, serves it on a spare loopback port, signs in and saves each page
as a WebP beside this file: in light and on a phone of 360 pixels, the main ones in dark too. Names of shots
as arguments take only those.
"""

import base64
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
# The mail of today's digest to Ada as its HTML; printed, since a mail is no page of the site.
MAIL = """
from django.utils import timezone
from digest.letters import draft_daily
from digest.mailing import letter_message
from digest.models import Digest
digest = Digest.objects.filter(reader__username="ada").latest("date")
draft = draft_daily(reader=digest.reader, digest=digest, now=timezone.now())
print(letter_message(draft.letter, now=timezone.now()).alternatives[0][0])
"""
# From PNG to WebP by the browser that made it; between 0 and 1, where text shows no trace of it.
QUALITY = 0.85
WEBP = """async ([png, quality]) => {
  const picture = new Image();
  picture.src = "data:image/png;base64," + png;
  await picture.decode();
  const canvas = new OffscreenCanvas(picture.naturalWidth, picture.naturalHeight);
  canvas.getContext("2d").drawImage(picture, 0, 0);
  const blob = await canvas.convertToBlob({type: "image/webp", quality});
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}"""
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
# Taken after a night was run, which changes what other pictures would show.
AFTER_NIGHT = {"night", "guidance"}
# What is clicked first, and then waited for.
CLICKED = {
    "item": ".item .meta a",
    "left-out": "a[href$='/left-out']",
    "source": "main a[href^='/ui/sources/']:not([href$='.opml'])",
    "settings-version": "main a[href^='/ui/history/settings/']",
    "night": "#result_list tbody th a",
    "api": "#digest_api_feedback_post ~ details summary",
    "settings": ".pins > summary",
    "run-timeline": "#result_list tbody th a",
}
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
    Shot("sign-up", "", "/accounts/signup/", dark=True),
    Shot("offline", "", "/offline", dark=True),
    Shot("not-found", "ada", "/nowhere", dark=True),
    Shot("source", "ada", "/ui/sources", full=True, dark=True),
    Shot("email", "ada", "/accounts/email/", dark=True),
    Shot("password", "ada", "/accounts/password/change/", dark=True),
    Shot("second-factor", "ada", "/accounts/2fa/", dark=True),
    Shot("account-delete", "ada", "/ui/account/delete", full=True, dark=True),
    Shot("settings-version", "ada", "/ui/history/settings", full=True, dark=True),
    Shot("mail", "ada", "/", full=True, dark=True),
    Shot("api", "ada", "/api/docs", full=True, dark=True),
    Shot("guidance", "olga", "/admin/advisor/guidanceevent/figures/", full=True, dark=True),
    Shot("night", "olga", "/admin/tidings/nightlyreport/", full=True, dark=True),
]


def main() -> None:
    """Take every shot in every look, or those named; cards of suggestions are generated on the way."""
    shots = [shot for shot in SHOTS if not sys.argv[1:] or shot.name in sys.argv[1:]]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, site(Path(folder)) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for turn in range(3):
            part = [shot for shot in shots if turn_of(shot) == turn]
            if turn == turn_of(SHOTS[-1]) and part:
                manage(Path(folder), "run_nightly")
            for look in LOOKS:
                seen = [shot for shot in part if shot.dark or look != "dark"]
                for reader in dict.fromkeys(shot.reader for shot in seen):
                    take(browser, url, look, [shot for shot in seen if shot.reader == reader], Path(folder))
        browser.close()


def turn_of(shot: Shot) -> int:
    """0, 1 or 2: which round a shot is taken in."""
    return 2 if shot.name in AFTER_NIGHT else int(shot.name in LAST)


def manage(folder: Path, *arguments: str) -> str:
    """Run a command of the demo in `folder`; what it printed. Raises `CalledProcessError` where it fails."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    done = subprocess.run(command, env=environment(folder), cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def environment(folder: Path) -> dict[str, str]:
    """Of this process, but for a database or a broker: the demo has its own."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return {**kept, "TIDINGS_VAR_DIR": str(folder), "LOG_LEVEL": "ERROR"}


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """The demo on a spare port, as long as the block lasts."""
    manage(folder, "migrate", "--verbosity", "0")
    manage(folder, "demo")
    with socket.socket() as spare:
        spare.bind(("127.0.0.1", 0))
        port = spare.getsockname()[1]
    command = [sys.executable, str(ROOT / "manage.py"), "runserver", f"127.0.0.1:{port}", "--noreload"]
    served = subprocess.Popen(command, env=environment(folder), cwd=ROOT)
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


def take(browser: Browser, url: str, look: str, shots: list[Shot], folder: Path) -> None:
    """Shots of one reader in one look."""
    context = browser.new_context(base_url=url, reduced_motion="reduce", **LOOKS[look])
    page = context.new_page()
    if shots[0].reader:
        sign_in(page, shots[0].reader)
    for shot in shots:
        page.goto(shot.path)
        prepare(page, shot)
        if shot.name == "mail":
            page.goto("about:blank")  # a mail has its styles in it, which a page of the site may not
            page.set_content(manage(folder, "shell", "--verbosity", "0", "-c", MAIL))
        picture(page, HERE / f"{shot.name}-{look}.webp", shot.full)
        print(f"{shot.name}-{look}.webp")
    context.close()


def picture(page: Page, path: Path, full: bool) -> None:
    """One screen of the page; if `full`, all of it, as far as it is worth showing."""
    size = page.viewport_size or {"width": 0, "height": 0}
    height = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(height, LONGEST)}
    long = full and height > size["height"]
    png = page.screenshot(full_page=True, clip=clip) if long else page.screenshot()
    path.write_bytes(smaller(page, png))


def smaller(page: Page, png: bytes) -> bytes:
    """The same picture as WebP, by a blank tab beside the page."""
    tab = page.context.new_page()
    text: str = tab.evaluate(WEBP, [base64.b64encode(png).decode(), QUALITY])
    tab.close()
    return base64.b64decode(text)


def sign_in(page: Page, reader: str) -> None:
    """Through the form, as anybody would."""
    page.goto("/accounts/login/")
    page.fill("[name=login]", reader)
    page.fill("[name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url("**/")


def prepare(page: Page, shot: Shot) -> None:
    """Bring a page into the state worth a picture."""
    if shot.name in CLICKED:
        page.locator(CLICKED[shot.name]).first.click()
        page.wait_for_load_state("networkidle")
    if shot.name == "read":
        read_some(page)
        page.goto(shot.path)
    if shot.name == "keys":
        page.wait_for_selector("html[data-scripts=ready]", state="attached")
        page.keyboard.press("?")
    if shot.name == "run-timeline":
        page.locator(".timeline ol").wait_for()
        page.locator(".timeline").evaluate("part => part.scrollIntoView()")
    if shot.name == "history":
        answer_all(page)
        page.goto(shot.path)
    if shot.name in {"suggestions", "preview"}:
        suggest(page)
    if shot.name == "preview":
        page.locator("a[href$='/preview']").first.click()
        page.wait_for_load_state("networkidle")


def suggest(page: Page) -> None:
    """Generate suggestions, unless some wait, and open the first card."""
    if page.locator("[data-generate]").count():
        page.get_by_role("button", name="Generate suggestions").click()
        page.locator("[data-card]").first.wait_for(timeout=GENERATE_MS)
    page.locator("[data-card] summary").first.click()


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
