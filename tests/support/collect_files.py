"""A pytest plugin (`-p tests.support.collect_files`) that collects test files without importing them.

pytest decides as always which folders and files it enters. Each file then stands for one test, so that
`--collect-only` lists all files in a second instead of twenty.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest


class _WholeFile(pytest.Item):
    """The one test of a file. It is listed and never run."""

    def runtest(self) -> None:
        """Refuse to run: this plugin is for `--collect-only`."""
        raise NotImplementedError


class _TestFile(pytest.File):
    """A test file that is not imported."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for the whole file."""
        yield _WholeFile.from_parent(self, name="file")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File:
    """Collect a file that pytest takes for a test file."""
    return _TestFile.from_parent(parent, path=module_path)
