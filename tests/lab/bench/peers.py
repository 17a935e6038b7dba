"""A throwaway virtual environment with the peers to compare with, and Tidings' own packages.

The peers never enter the environment that runs Tidings. Theirs is made in a temporary folder, sees ours
through a path file, and is deleted with the folder. Packages that both need come from ours, as pinned in
`constraints.txt`, so all are measured on the same versions.
"""

import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The peers. reader's vendored parser needs sgmllib3k, which it does not require.
PEERS = (
    "openai-agents>=0.24",
    "pydantic-ai-slim[openai]>=2.68",
    "reader>=3.26",
    "sgmllib3k>=1.0.0",
)
# Packages that draw the report's plots.
PLOTS = ("pygal>=3.1",)


class PeersMissing(Exception):
    """The environment could not be made; the message is the installer's last word."""


@contextmanager
def environment(packages: Sequence[str]) -> Iterator[Path]:
    """Install `packages` beside ours; gives the Python that sees both. Raises `PeersMissing`."""
    with tempfile.TemporaryDirectory(prefix="tidings-peers-") as name:
        venv.create(name, with_pip=True, symlinks=True)
        python = Path(name) / "bin" / "python"
        own = Path(sysconfig.get_path("purelib", vars={"base": name, "platbase": name}))
        (own / "tidings.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = ["-c", str(ROOT / "constraints.txt")]
        done = subprocess.run(
            [*command, *constraints, *packages], capture_output=True, text=True, check=False
        )
        if done.returncode:
            told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise PeersMissing(told[-1] if told else f"pip left with {done.returncode}")
        yield python


def versions(python: Path | str, names: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages, by their PyPI names, as `python` sees them. Missing ones are left
    out."""
    code = (
        "import json, sys; from importlib.metadata import distributions as all_; "
        "found = {d.name.lower().replace('_', '-'): d.version for d in reversed([*all_()])}; "
        "print(json.dumps({n: found[n] for n in sys.argv[1:] if n in found}))"
    )
    done = subprocess.run([str(python), "-c", code, *names], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> int:
    """Run the Python that sees the peers with the command line's arguments. Return its exit code."""
    with environment([*PEERS, *PLOTS]) as made:
        return subprocess.run([made, *sys.argv[1:]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
