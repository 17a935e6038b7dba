"""The manifests for Umbrel, Unraid and Kubernetes match the image of deploy/Dockerfile."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from config import __version__

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
SETTINGS = set(re.findall(r"^#?([A-Z_0-9]+)=", (DEPLOY.parent / ".env.example").read_text(), re.M))
IMAGE, PORT, DATA = f"registry.example.org/tidings:{__version__}", 8000, "/data"
HARDENED = {"--init", "--read-only", "--tmpfs /tmp", "--cap-drop ALL", "--security-opt no-new-privileges"}
FIELD = re.compile(r"\{\{ \.(\w+)\.(\w+) \}\}")


def parsed(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text())


def rendered() -> dict[str, Any]:
    """Return the chart's documents by kind, for a release `news`. The template uses only plain fields."""
    chart = {name[0].upper() + name[1:]: value for name, value in parsed("helm/Chart.yaml").items()}
    known = {"Values": parsed("helm/values.yaml"), "Chart": chart, "Release": {"Name": "news"}}
    text = (DEPLOY / "helm/templates/tidings.yaml").read_text()
    text = FIELD.sub(lambda match: str(known[match[1]][match[2]]), text)
    assert "{{" not in text
    return {document["kind"]: document for document in yaml.safe_load_all(text)}


@pytest.fixture
def pod() -> dict[str, Any]:
    return rendered()["Deployment"]["spec"]["template"]["spec"]


def test_the_image_has_the_port_the_volume_and_the_user_that_manifests_name():
    assert f"\nEXPOSE {PORT}\n" in DOCKERFILE and f"\nVOLUME {DATA}\n" in DOCKERFILE
    assert "--uid 999 " in DOCKERFILE and f"TIDINGS_VAR_DIR={DATA}\n" in DOCKERFILE
    assert all(flag in DOCKERFILE for flag in HARDENED)


def test_the_image_was_run_as_every_user_that_a_manifest_names(pod):
    runs = json.loads((DEPLOY.parent / "tests/lab/records/image.json").read_text())["runs"]
    assert all(all(run["checks"].values()) and len(run["checks"]) > 10 for run in runs)
    umbrel = parsed("umbrel/docker-compose.yml")["services"]["web"]["user"]
    extra = ElementTree.parse(DEPLOY / "unraid/tidings.xml").findtext("ExtraParams")
    kubernetes = "{runAsUser}:{runAsGroup}".format(**pod["securityContext"])
    assert {run["user"] for run in runs} == {umbrel, re.search(r"--user (\S+)", str(extra))[1], kubernetes}


def test_umbrel_runs_the_image_with_its_data_in_the_folder_of_the_app():
    app, compose = parsed("umbrel/umbrel-app.yml"), parsed("umbrel/docker-compose.yml")["services"]
    web, proxy = compose["web"], compose["app_proxy"]["environment"]
    assert (app["version"], web["image"]) == (__version__, IMAGE)
    assert proxy == {"APP_HOST": f"{app['id']}_web_1", "APP_PORT": PORT} and app["port"] == PORT
    assert web["volumes"] == ["${APP_DATA_DIR}/data:" + DATA]
    assert set(web["environment"]) <= SETTINGS
    assert web["read_only"] and web["init"] and web["tmpfs"] == ["/tmp"] and web["cap_drop"] == ["ALL"]
    # The same settings as in the compose file of the distributed mode.
    shared = parsed("compose.yaml")["x-tidings"]
    assert all(
        web[name] == shared[name] for name in ("read_only", "init", "tmpfs", "cap_drop", "security_opt")
    )


def test_unraid_runs_the_image_with_its_data_below_appdata():
    root = ElementTree.parse(DEPLOY / "unraid/tidings.xml").getroot()
    configs = {one.get("Target"): one for one in root.iter("Config")}
    kinds = {target: one.get("Type") for target, one in configs.items()}
    assert root.findtext("Repository") == IMAGE and root.findtext("Privileged") == "false"
    assert kinds.pop(str(PORT)) == "Port" and f"[PORT:{PORT}]" in str(root.findtext("WebUI"))
    assert kinds.pop(DATA) == "Path" and configs[DATA].get("Mode") == "rw"
    assert set(kinds.values()) == {"Variable"} and set(kinds) <= SETTINGS
    assert all(one.text == one.get("Default") for one in configs.values())
    assert all(flag in str(root.findtext("ExtraParams")) for flag in HARDENED)


def test_the_chart_runs_one_pod_of_the_image_on_a_claim(pod):
    (container,) = pod["containers"]
    assert container["image"] == IMAGE and container["ports"][0]["containerPort"] == PORT
    assert {one["name"] for one in container["env"]} <= SETTINGS
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounted == {"data": DATA, "tmp": "/tmp"} and {one["name"] for one in pod["volumes"]} == set(
        mounted
    )
    documents = rendered()
    claim = documents["PersistentVolumeClaim"]["metadata"]["name"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim == "news-data"
    spec = documents["Deployment"]["spec"]
    assert spec["replicas"] == 1 and spec["strategy"] == {"type": "Recreate"}
    assert documents["Service"]["spec"]["selector"] == spec["selector"]["matchLabels"]
    assert spec["template"]["metadata"]["labels"] == spec["selector"]["matchLabels"]
    assert {document["metadata"]["name"] for document in documents.values()} == {"news", "news-data"}


def test_the_charts_container_may_do_nothing_but_serve_and_is_probed_as_the_image_says(pod):
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == 999
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    locked = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}
    assert container["securityContext"] == locked | {"capabilities": {"drop": ["ALL"]}}
    for probe in ("startupProbe", "livenessProbe"):
        assert f"CMD {json.dumps(container[probe]['exec']['command'])}" in DOCKERFILE
