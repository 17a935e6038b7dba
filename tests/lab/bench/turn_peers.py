"""The same run by an agent framework, for `bench.turn`: `python -m tests.lab bench.turn_peers NAME CASE`.

CASE is a JSON file with `port`, `turns`, `runs`, `prompt`, `schemas` (the nine tools as Tidings sends them)
and `answer` (the tool's result). It prints one JSON object. Only the framework's own storage, prices and
limits apply; tracing to its maker's servers is off.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.lab.bench.engine import peak_mb
from tests.lab.bench.stub import reset

Case = dict[str, Any]
Run = Callable[[], object]


def main() -> None:
    """Import, build, run, measure."""
    name, case = sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    began, worked = time.perf_counter(), time.process_time()
    run = {"openai-agents": openai_agents, "pydantic-ai-slim": pydantic_ai}[name](case)
    ready = {"ready_s": time.perf_counter() - began, "ready_cpu_s": time.process_time() - worked}
    row = measured(run, case)
    print(
        json.dumps({"name": f"{name} {version(name)}", **row, **{k: round(v, 2) for k, v in ready.items()}})
    )


def openai_agents(case: Case) -> Run:
    """Measure a run with openai-agents."""
    import agents  # noqa: PLC0415 - what importing costs is measured
    from openai import AsyncOpenAI  # noqa: PLC0415

    async def call(context: object, arguments: str) -> str:
        return str(case["answer"])

    agents.set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{case['port']}/v1", api_key="none")
    tools = [
        agents.FunctionTool(f["name"], f["description"], f["parameters"], call, strict_json_schema=False)
        for f in (schema["function"] for schema in case["schemas"])
    ]
    model = agents.OpenAIChatCompletionsModel("stub", openai_client=client)
    agent: agents.Agent[None] = agents.Agent(
        "bench", instructions=case["prompt"], tools=[*tools], model=model
    )
    return lambda: agents.Runner.run_sync(agent, "Begin.", max_turns=case["turns"] + 1).final_output


def pydantic_ai(case: Case) -> Run:
    """Measure a run with pydantic-ai."""
    from pydantic_ai import Agent, Tool  # noqa: PLC0415 - what importing costs is measured
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    def call(**arguments: object) -> str:
        return str(case["answer"])

    provider = OpenAIProvider(base_url=f"http://127.0.0.1:{case['port']}/v1", api_key="none")
    tools = [
        Tool.from_schema(call, f["name"], f["description"], f["parameters"])
        for f in (schema["function"] for schema in case["schemas"])
    ]
    agent = Agent(OpenAIChatModel("stub", provider=provider), instructions=case["prompt"], tools=tools)
    return lambda: agent.run_sync("Begin.").output


def measured(run: Run, case: Case) -> dict[str, float]:
    """Return the best run's milliseconds a turn, by the clock and of the processor, after one run to warm
    up."""
    wall, cpu = [], []
    for _ in range(case["runs"] + 1):
        reset(case["port"], case["turns"])
        began, worked = time.perf_counter(), time.process_time()
        run()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - worked)
    return {
        "ms_a_turn": round(1000 * min(wall[1:]) / case["turns"], 2),
        "cpu_ms_a_turn": round(1000 * min(cpu[1:]) / case["turns"], 2),
        "peak_mb": peak_mb(),
    }


if __name__ == "__main__":
    main()
