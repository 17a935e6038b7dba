"""Render the main pages of the demo in a real browser: `make screenshots`.

Seeds the demo into a temporary folder, serves it on a spare loopback port, signs in and saves each page as a
WebP beside this file. With names of shots as arguments, only those are taken.
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
START_S = 120
GENERATE_MS = 60_000
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
    """One page to take: file name, reader, path, whether all of it or one screen, and in which looks."""

    name: str
    reader: str
    path: str
    full: bool = False
    looks: tuple[str, ...] = ("light",)


# Taken last: its picture needs a reader to open an item, which other pictures would show too.
LAST = {"item"}
# Taken after a night was run, which changes what other pictures would show.
AFTER_NIGHT = {"night", "guidance"}
# What is clicked first, and then waited for.
CLICKED = {
    "item": ".item .meta a",
    "left-out": "a[href$='/left-out']",
    "night": "#result_list tbody th a",
    "settings": ".pins > summary",
    "run-timeline": "#result_list tbody th a",
}
SHOTS = [
    Shot("today", "ada", "/", looks=("light", "dark", "phone")),
    Shot("item", "ada", "/", full=True),
    Shot("left-out", "ada", "/"),
    Shot("search", "ada", "/ui/search?q=port"),
    Shot("sources", "ada", "/ui/sources"),
    Shot("welcome", "ada", "/ui/welcome"),
    Shot("settings", "ada", "/ui/config", full=True),
    Shot("suggestions", "ben", "/ui/suggestions", full=True),
    Shot("preview", "ben", "/ui/suggestions", full=True),
    Shot("run-timeline", "olga", "/admin/advisor/run/?status__exact=completed"),
    Shot("costs", "olga", "/debug/costs", full=True),
    Shot("guidance", "olga", "/admin/advisor/guidanceevent/figures/", full=True),
    Shot("night", "olga", "/admin/tidings/nightlyreport/", full=True),
]


def main() -> None:
    """Take every shot, or those named, in its looks; suggestions are generated on the way."""
    shots = [shot for shot in SHOTS if not sys.argv[1:] or shot.name in sys.argv[1:]]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, site(Path(folder)) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for turn in range(3):
            part = [shot for shot in shots if turn_of(shot) == turn]
            if turn == turn_of(SHOTS[-1]) and part:
                manage(Path(folder), "run_nightly")
            for look in LOOKS:
                seen = [shot for shot in part if look in shot.looks]
                for reader in dict.fromkeys(shot.reader for shot in seen):
                    take(browser, url, look, [shot for shot in seen if shot.reader == reader])
        browser.close()


def turn_of(shot: Shot) -> int:
    """Return the round a shot is taken in: 0, 1 or 2."""
    return 2 if shot.name in AFTER_NIGHT else int(shot.name in LAST)


def manage(folder: Path, *arguments: str) -> None:
    """Run a command of the demo in `folder`. Raises `CalledProcessError` where it fails."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    subprocess.run(command, env=environment(folder), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


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


def take(browser: Browser, url: str, look: str, shots: list[Shot]) -> None:
    """Take the shots of one reader in one look."""
    context = browser.new_context(base_url=url, reduced_motion="reduce", **LOOKS[look])
    page = context.new_page()
    if shots[0].reader:
        sign_in(page, shots[0].reader)
    for shot in shots:
        page.goto(shot.path)
        prepare(page, shot)
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
    page.set_default_timeout(GENERATE_MS)
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
    if shot.name == "run-timeline":
        page.locator(".timeline ol").wait_for()
        page.locator(".timeline").evaluate("part => part.scrollIntoView()")
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
    page.get_by_text("The articles behind it").first.click()


if __name__ == "__main__":
    main()
