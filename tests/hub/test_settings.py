"""The settings of Prometheus and Grafana."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pipeline.hub import grafana, prometheus
from pipeline.hub.http import Address
from pipeline.hub.layout import HubLayout
from pipeline.text.errors import UserError

EVERYWHERE = "0.0.0.0"  # noqa: S104
LOOPBACK = Address("127.0.0.1", 9090)
RULES = """\
groups:
  - name: test
    rules:
      - record: nightshift_test
        expr: vector(1)
"""


@pytest.mark.parametrize("folder", ["rules", 'with "quotes": and #'])
def test_prometheus_takes_its_configuration(tmp_path: Path, promtool: str, folder: str) -> None:
    rules = tmp_path / folder
    rules.mkdir()
    (rules / "one.rules.yml").write_text(RULES)
    (rules / "one.test.yml").write_text("this: is no rule")
    config = tmp_path / "prometheus.yml"
    config.write_text(prometheus.configuration(rules, "127.0.0.1:9093"))
    said = subprocess.run(
        [promtool, "check", "config", str(config)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert "1 rule files found" in said.stdout
    (manager,) = json.loads(config.read_text())["alerting"]["alertmanagers"]
    assert manager["static_configs"] == [{"targets": ["127.0.0.1:9093"]}]


def test_old_samples_are_taken_and_kept() -> None:
    settings = json.loads(prometheus.configuration(Path("/x")))
    assert settings["storage"]["tsdb"]["out_of_order_time_window"] == "100y"
    assert "alerting" not in settings
    flags = prometheus.command(Path("/p"), Path("/c"), Path("/d"), LOOPBACK, "100y")
    assert "--storage.tsdb.retention.time=100y" in flags
    assert set(prometheus.BLOCKS) <= set(flags)
    assert "--web.listen-address=127.0.0.1:9090" in flags
    assert "--web.enable-remote-write-receiver" in flags


@pytest.mark.parametrize(
    ("host", "listen", "url", "private"),
    [
        ("127.0.0.1", "127.0.0.1:9", "http://127.0.0.1:9", True),
        ("127.8.0.1", "127.8.0.1:9", "http://127.8.0.1:9", True),
        ("::1", "[::1]:9", "http://[::1]:9", True),
        (EVERYWHERE, "0.0.0.0:9", "http://127.0.0.1:9", False),
        ("::", "[::]:9", "http://[::1]:9", False),
        ("192.0.2.1", "192.0.2.1:9", "http://192.0.2.1:9", False),
    ],
)
def test_addresses(host: str, listen: str, url: str, private: bool) -> None:
    address = Address(host, 9)
    assert (address.listen, address.url, address.private) == (listen, url, private)


def test_grafana_lets_only_this_machine_look_without_a_password() -> None:
    layout = HubLayout(Path("/hub"))
    here = grafana.environment(layout, Address("127.0.0.1", 3000), LOOPBACK)
    assert here["GF_AUTH_ANONYMOUS_ENABLED"] == "true"
    assert here["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    everywhere = grafana.environment(layout, Address(EVERYWHERE, 3000), LOOPBACK)
    assert everywhere["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    # The password itself is in no environment.
    assert "$__file{/hub/grafana/admin-password}" in here.values()


def test_a_grafana_without_its_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grafana, "_PACKAGED", tmp_path / "nowhere")
    program = tmp_path / "bin/grafana"
    with pytest.raises(UserError, match=r"install Grafana completely, or remove it from PATH"):
        grafana.home_of(program)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/defaults.ini").touch()
    assert grafana.home_of(program) == tmp_path
    assert grafana.command(program, tmp_path) == (str(program), "server", f"--homepath={tmp_path}")


LOG = """\
ts=2026-01-01T00:00:00.000Z caller=main.go:551 level=info msg="Starting Prometheus Server"
ts=2026-01-01T00:00:00.000Z caller=main.go:480 level=error msg="Error loading config" file=/x \
err="parsing YAML file /x: field nonsense not found"
ts=2026-01-01T00:00:00.000Z caller=main.go:1130 level=info msg="See you next time!"
"""


def test_what_prometheus_complained_of_is_found() -> None:
    assert prometheus.complaint(LOG) == "parsing YAML file /x: field nonsense not found"
    assert prometheus.complaint("Error: unknown flag\n") == "Error: unknown flag"
    assert prometheus.complaint("") == "no output"
