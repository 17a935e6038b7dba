"""`systemd-analyze verify` finds no fault in the units."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "deploy/systemd").iterdir())
# systemd looks for the commands at the units' path. Here they are in the tests' environment.
COMMANDS, HERE = "/opt/tidings/.venv/bin/", f"{Path(sys.executable).parent}/"

pytestmark = pytest.mark.systemd


def verified(folder: Path, texts: dict[str, str]) -> tuple[int, str]:
    """Return the exit code and the complaints of `systemd-analyze verify`."""
    for name, text in texts.items():
        (folder / name).write_text(text.replace(COMMANDS, HERE))
    command = ["systemd-analyze", "verify", "--man=no", *(str(folder / name) for name in texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_systemd_reads_every_unit_without_a_complaint(tmp_path: Path):
    assert len(UNITS) == 9
    assert verified(tmp_path, {unit.name: unit.read_text() for unit in UNITS}) == (0, "")


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("NoNewPrivileges=yes", "NoNewPriviledges=yes", "NoNewPriviledges"),
        ("Restart=always", "Restart=ever", "Failed to parse service restart specifier"),
        ("bin/celery -A", "bin/sellery -A", "is not executable"),
    ],
)
def test_a_unit_with_a_mistake_would_be_noticed(right, wrong, complaint, tmp_path: Path):
    unit = ROOT / "deploy/systemd/tidings-work.service"
    assert right in unit.read_text()
    _, complaints = verified(tmp_path, {unit.name: unit.read_text().replace(right, wrong)})
    assert complaint in complaints
