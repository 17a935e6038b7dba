"""An installed wheel contains everything, and `tidings run` leads to a first page."""

import http.cookiejar
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.parse
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from config import __version__
from config.demo.people import ADA, PASSWORD
from tests.config.test_serve import fetched, port_free
from tests.support.processes import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "advisor", "suggestions", "digest", "ranking")
# Folders at the top of a checkout, and inside config in a wheel.
SITE_FILES = ("templates", "static")
BESIDE = ("manage.py", "pyproject.toml", "README.md", "LICENSE")
# The demo learns and advises before the site is served.
DEMO_S = 240

pytestmark = [pytest.mark.slow, pytest.mark.alike]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel from a copy of the code, because files of an earlier build would get into it."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for room in (*ROOMS, *SITE_FILES):
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in BESIDE:
        shutil.copy(ROOT / name, source / name)
    # Call the build backend, which pip would start in its own process.
    (path,) = WheelBuilder(str(source)).build(directory=str(built), versions=["standard"])
    return Path(path)


@pytest.fixture(scope="module")
def installed_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the commands of an environment with the wheel. It uses our libraries but not our code."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    # Of a folder that a .pth file names, the .pth files are not read: ours leads to the checkout.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin/python"), "--disable-pip-version-check"]
    # Python compiles only the modules that run, so do not compile all of them.
    alone = ["--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "install", *alone, str(wheel)], check=True)
    return place / "bin"


def test_every_file_of_the_rooms_is_in_the_wheel_and_nothing_else(wheel: Path):
    places = {room: room for room in ROOMS} | {name: f"config/site/{name}" for name in SITE_FILES}
    ours = {
        f"{place}/{path.relative_to(ROOT / folder)}"
        for folder, place in places.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert carried == ours | {"manage.py"}
    kinds = {Path(name).suffix for name in carried}
    assert {".html", ".css", ".js", ".md", ".toml", ".txt", ".webmanifest"} <= kinds


def run(installed_wheel: Path, home: Path, port: int) -> subprocess.Popen[str]:
    """Start `tidings run` with only a port set, in a foreign folder."""
    environment = {"PATH": os.defpath, "HOME": str(home), "PORT": str(port), "LANG": "C.UTF-8"}
    command = [str(installed_wheel / "tidings"), "run"]
    return subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("asked", ["--version", "version"])
def test_the_command_tells_tidings_own_version(installed_wheel: Path, tmp_path: Path, asked: str):
    command = [str(installed_wheel / "tidings"), asked]
    told = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert told.stdout == f"Tidings {__version__}\n"


def page_of_ada(site: str) -> str:
    """Return the page that Ada sees after signing in."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"{site}/accounts/login/", timeout=PATIENCE_S) as answer:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', answer.read().decode())
    assert token is not None
    fields = {"login": ADA.name, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    form = urllib.parse.urlencode(fields).encode()
    with browser.open(f"{site}/accounts/login/", form, timeout=PATIENCE_S) as answer:
        return answer.read().decode()


@pytest.mark.nightly
def test_tidings_run_leads_from_nothing_to_a_first_page(installed_wheel: Path, tmp_path: Path):
    port = port_free()
    site = f"http://127.0.0.1:{port}"
    with run(installed_wheel, tmp_path, port) as process:
        try:
            assert fetched(f"{site}/healthz", patience_s=DEMO_S) == b"ok"
            assert b"asks" in fetched(f"{site}/")
            assert b"--" in fetched(f"{site}/static/tidings.css")
            today = page_of_ada(site)
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0 and output.endswith("Stopped.\n")
    assert "ADA ACCEPTS" in output and "Quiet Port" in today
    data = tmp_path / ".local/share/tidings"
    assert f"The data is in {data}\n" in output and (data / "tidings.sqlite3").is_file()
    assert not list(installed_wheel.parent.rglob("*.sqlite3")) and not list(
        installed_wheel.parent.rglob("var")
    )


def test_an_installed_wheel_reads_its_settings_where_its_data_is(installed_wheel: Path, tmp_path: Path):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    elsewhere.mkdir()
    (data / ".env").write_text("NIGHTLY_HOUR=7\n")
    # The current folder has the settings file of another program.
    (elsewhere / ".env").write_text("NIGHTLY_HOUR=11\n")
    look = "from django.conf import settings as s; print(s.NIGHTLY_HOUR, s.DATABASES['default']['NAME'])"
    place = {"PATH": os.defpath, "HOME": str(tmp_path), "TIDINGS_VAR_DIR": str(data)}
    command = [str(installed_wheel / "tidings"), "shell", "-v", "0", "-c", look]
    done = subprocess.run(command, cwd=elsewhere, env=place, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", str(data / "tidings.sqlite3")]
