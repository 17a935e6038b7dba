"""The embedded worker between its jobs."""

import pytest
from django.core.management import call_command

from config.management.commands import work


class _Trimmed(Exception):
    pass


@pytest.mark.django_db
def test_a_worker_gives_memory_back_once_it_has_done_something(monkeypatch):
    def trimmed() -> None:
        raise _Trimmed

    monkeypatch.setattr(work, "heap_trim", trimmed)
    monkeypatch.setattr(work, "WORK_S", 0.0)
    with pytest.raises(_Trimmed):
        call_command("work")
