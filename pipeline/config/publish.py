"""The settings for Prometheus and Grafana: where results are published and shown."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from pydantic import Field, model_validator

from pipeline.config.base import Name, Section
from pipeline.config.config_errors import ADDRESS, AGE, HOST_PORT, RECEIVER, VARIABLE
from pipeline.text.units import Duration


class PublishSection(Section):
    """The table ``[publish]``: the Prometheus or other receiver of time series."""

    url: str = Field(
        default="",
        pattern=RECEIVER,
        description=(
            "the receiver's address for remote write, for example "
            "http://127.0.0.1:9090/api/v1/write; empty to publish nothing"
        ),
    )
    name: Name = Field(
        default="nightshift",
        description=(
            "value of the label pipeline in samples about nights; pipelines that share a "
            "receiver need different values"
        ),
    )
    username: str = Field(default="", description="user name, for a receiver that requires one")
    secret: str = Field(
        default="",
        pattern=VARIABLE,
        description=(
            "name of the environment variable that holds the password of username or, without "
            "username, a bearer token; empty for a receiver without authentication"
        ),
    )
    certificate: Path | None = Field(
        default=None,
        description=(
            "file with the certificate authority of the receiver, if this machine does not "
            "trust it already"
        ),
    )
    patience: Duration = Field(
        default="30s",
        validate_default=True,
        description=(
            "maximum time to wait for a receiver that does not answer; the rest is published "
            "the next time"
        ),
    )

    @model_validator(mode="after")
    def _password(self) -> PublishSection:
        if self.username and not self.secret:
            raise ValueError(
                "username needs the setting secret, the name of the environment variable that "
                "holds the password; add it"
            )
        return self


class HubSection(Section):
    """The table ``[hub]``: Prometheus and Grafana on one machine, run by `nightshift hub up`."""

    folder: Path | None = Field(
        default=None,
        description="folder of the data of Prometheus and Grafana; by default hub in paths.results",
    )
    host: str = Field(
        default="127.0.0.1",
        description="IP address that both listen on; beyond loopback only Grafana requires "
        "a password",
    )
    prometheus_port: int = Field(default=9090, ge=1, le=65535, description="port of Prometheus")
    grafana_port: int = Field(default=3000, ge=1, le=65535, description="port of Grafana")
    retention: str = Field(
        default="100y",
        pattern=AGE,
        description="age at which samples are deleted, as 5y, 8w or 90d",
    )
    alertmanager: str = Field(
        default="",
        pattern=HOST_PORT,
        description="HOST:PORT of an Alertmanager; empty for none",
    )
    publish: Duration = Field(
        default="5m",
        validate_default=True,
        ge=1,
        description="interval at which new measurements are published",
    )
    report_url: str = Field(
        default="", pattern=ADDRESS, description="address of the served report page, for links"
    )
    site_url: str = Field(
        default="", pattern=ADDRESS, description="address of the served trend site, for links"
    )
    grafana_url: str = Field(
        default="",
        pattern=ADDRESS,
        description="public address of Grafana, for links in issues and messages",
    )
    issues_url: str = Field(
        default="",
        pattern=ADDRESS,
        description="address of the issue tracker, for links that search it for a fingerprint",
    )

    @property
    def links(self) -> dict[str, str]:
        """The addresses that links in the dashboards lead to, by name."""
        return {name: getattr(self, name) for name in ("report_url", "site_url", "issues_url")}

    @model_validator(mode="after")
    def _address(self) -> HubSection:
        try:
            ip_address(self.host)
        except ValueError as error:
            raise ValueError(
                f"host {self.host!r} is not an IP address; write one, for example 127.0.0.1"
            ) from error
        return self
