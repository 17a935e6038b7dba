"""`check_model` against servers that others wrote: llama.cpp's, and litellm's proxy before it.

Not part of CI: `pytest -m real_llm`, with what `tests/support/real_llm.py` names.
"""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.support.real_llm import CONTEXT_TOKENS, MODEL, litellm_proxy, small_model_server

pytestmark = [pytest.mark.real_llm, pytest.mark.django_db]


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    server = small_model_server()
    yield server.listening_address
    del server  # it ends with its last reference


def check(address: str, settings: Any, folder: Path, key: str = "") -> tuple[dict[str, Any], str]:
    """Return the report of a check, and all that it advises."""
    settings.LOCAL_LLM_BASE_URL, settings.LOCAL_LLM_MODEL = f"{address}/v1/", MODEL
    settings.LLM_CHAIN, settings.LLM_CHAIN_REVIEW, settings.LOCAL_LLM_KEY = ["local"], [], key
    settings.LOCAL_LLM_TIMEOUT_S, settings.VAR_DIR, settings.ALLOWED_HOSTS = 600, folder, ["127.0.0.1"]
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("check_model", here=True, json=True, stdout=out)
    report = json.loads(out.getvalue())
    return report, " ".join(f"{one['what']} {one['change']}" for one in report["findings"])


def test_llama_cpp_with_a_small_context_is_named_with_its_own_option(llama: str, settings, tmp_path: Path):
    report, said = check(llama, settings, tmp_path)
    [probe] = report["figures"]["probes"]
    assert report["verdict"] == "not usable" and "--ctx-size 16384" in said
    assert (probe["context"]["server"], probe["context"]["declared_tokens"]) == ("llama.cpp", CONTEXT_TOKENS)
    assert probe["in_form"], "llama.cpp enforces the form of an answer"


def test_behind_a_proxy_of_litellm_a_wrong_key_is_named_with_its_setting(
    llama: str, settings, tmp_path: Path
):
    with litellm_proxy(llama, tmp_path) as proxy:
        report, said = check(proxy, settings, tmp_path, key="sk-wrong-canary")
    assert report["verdict"] == "not usable" and "LOCAL_LLM_KEY" in said
    assert "sk-wrong-canary" not in json.dumps(report)
