"""Rules and alerts: each is tested by promtool, and each alert says what to do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.prometheus import tool

ROOT = Path(__file__).parents[2]
RULES = ROOT / "dashboards" / "prometheus"
ALERTMANAGER = ROOT / "dashboards" / "alertmanager" / "alertmanager.yml"
PROVISIONING = ROOT / "dashboards" / "grafana" / "provisioning"
FILES = sorted(RULES.glob("*.rules.yml"))
TESTS = sorted(RULES.glob("*.test.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def rules() -> list[dict[str, Any]]:
    return [rule for path in FILES for group in read(path)["groups"] for rule in group["rules"]]


def cases() -> list[dict[str, Any]]:
    return [case for path in TESTS for case in read(path)["tests"]]


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=RULES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_rules() -> None:
    run(tool("promtool"), "check", "rules", *(path.name for path in FILES))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.name))
def test_promtool_finds_that_the_rules_do_as_they_should(path: Path) -> None:
    run(tool("promtool"), "test", "rules", path.name)


def test_every_alert_is_seen_to_fire_and_not_to_fire() -> None:
    fires: dict[str, set[bool]] = {}
    for case in cases():
        for one in case.get("alert_rule_test", []):
            fires.setdefault(one["alertname"], set()).add(bool(one["exp_alerts"]))
    assert fires == {rule["alert"]: {True, False} for rule in rules() if "alert" in rule}


def test_every_recorded_series_is_tested() -> None:
    tested = {one["expr"] for case in cases() for one in case.get("promql_expr_test", [])}
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    assert tested == recorded
    # As Prometheus wants them named: level, metric, operation.
    assert all(re.fullmatch(r"[a-z_]+:nightshift_[a-z_]+:[a-z]+", name) for name in recorded)


def test_every_alert_waits_and_says_what_it_is_and_what_to_do() -> None:
    document = (ROOT / "docs/guide/alerts.md").read_text()
    sections = {line[3:].lower() for line in document.splitlines() if line.startswith("## ")}
    for rule in (rule for rule in rules() if "alert" in rule):
        assert rule["for"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}
        page, _, section = rule["annotations"]["runbook"].partition("#")
        assert (page, section) == ("docs/guide/alerts.md", rule["alert"].lower())
        assert section in sections


def test_the_example_of_an_alertmanager_names_alerts_and_receivers_that_are_there() -> None:
    named = set(re.findall(r'alertname = "(\w+)"', ALERTMANAGER.read_text()))
    assert named and named <= {rule.get("alert") for rule in rules()}
    example = read(ALERTMANAGER)
    routes = [example["route"], *example["route"]["routes"]]
    assert {route["receiver"] for route in routes} == {
        receiver["name"] for receiver in example["receivers"]
    }


def test_amtool_takes_the_example_of_an_alertmanager() -> None:
    run(tool("amtool"), "check-config", str(ALERTMANAGER))


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    [source] = read(PROVISIONING / "datasources" / "nightshift.yaml")["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "${NIGHTSHIFT_PROMETHEUS_URL}")
    [provider] = read(PROVISIONING / "dashboards" / "nightshift.yaml")["providers"]
    assert provider["options"]["path"] == "${NIGHTSHIFT_DASHBOARDS}"
