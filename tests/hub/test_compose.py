"""The hub in containers is the hub: what it runs is pinned, private, and configured alike."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.hub import grafana, prometheus
from pipeline.hub.http import Address
from pipeline.hub.layout import DASHBOARDS, HubLayout

COMPOSE = DASHBOARDS / "compose.yaml"
AT = Address("127.0.0.1", 9090)


def entries(key: str) -> list[str]:
    """Return what stands behind a key of the file, wherever it stands."""
    found = re.findall(rf"(?m)^ +{key}: (.+)$", COMPOSE.read_text())
    assert found, key
    return found


def test_images_are_pinned() -> None:
    assert len(entries("image")) == 3
    for image in entries("image"):
        assert re.fullmatch(r"[a-z]+/[a-z]+:v?\d+\.\d+\.\d+", image)


def test_nothing_listens_beyond_loopback() -> None:
    for ports in entries("ports"):
        assert re.fullmatch(r'\["127\.0\.0\.1:\$\{\w+:-\d+\}:\d+"\]', ports)


def test_what_is_mounted_from_here_is_read_only() -> None:
    mounts = re.findall(r"(?m)^ +- (\./\S+):(/\S+?)(:ro)?$", COMPOSE.read_text())
    assert len(mounts) == 4
    assert all(mode == ":ro" for _, _, mode in mounts)


def test_every_service_is_asked_how_it_does() -> None:
    assert len(re.findall(r"(?m)^    healthcheck:$", COMPOSE.read_text())) == 3


def test_it_is_configured_as_the_hub_on_a_machine() -> None:
    text = COMPOSE.read_text()
    for flag in prometheus.command(Path("/p"), Path("/c"), Path("/d"), AT, "100y"):
        name = flag.partition("=")[0]
        # In a container it has to listen on every address: of that container.
        if name.startswith("--") and name != "--web.listen-address":
            assert f"- {name}" in text
    here = grafana.environment(HubLayout(Path("/hub")), AT, AT)
    for name, value in here.items():
        if value in ("true", "false", "Viewer"):
            assert re.search(rf'(?m)^ +{name}: "?{value}"?$', text), name
        elif name.startswith("NIGHTSHIFT_"):
            assert re.search(rf"(?m)^ +{name}: \S+$", text), name


def test_prometheus_takes_its_configuration(promtool: str) -> None:
    config = DASHBOARDS / "prometheus/prometheus.yml"
    said = subprocess.run(
        [promtool, "check", "config", str(config)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    settings = json.loads(prometheus.configuration(Path("/x")))
    window = settings["storage"]["tsdb"]["out_of_order_time_window"]
    assert f"out_of_order_time_window: {window}" in config.read_text()


def test_docker_compose_reads_it() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], check=False).returncode:
        pytest.skip("docker compose is not here: compose.yaml is not read by what runs it")
    said = subprocess.run(
        [docker, "compose", "-f", str(COMPOSE), "--profile=alerts", "config", "--format=json"],
        env={**os.environ, "NIGHTSHIFT_GRAFANA_PASSWORD": "chosen"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    services = json.loads(said.stdout)["services"]
    assert set(services) == {"prometheus", "grafana", "alertmanager"}
    for service in services.values():
        assert all(port["host_ip"] == "127.0.0.1" for port in service["ports"])
