"""Where time series go, and the hub that draws them."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from pydantic import Field, model_validator

from pipeline.config.base import Name, Section
from pipeline.mistakes import ADDRESS, AGE, HOST_PORT, RECEIVER, VARIABLE
from pipeline.units import Duration


class PublishSection(Section):
    """Where time series are published: Prometheus, or another receiver of remote write."""

    url: str = Field(
        default="",
        pattern=RECEIVER,
        description="the receiver's address for remote write, as "
        "http://127.0.0.1:9090/api/v1/write; empty to publish nothing",
    )
    name: Name = Field(
        default="nightshift",
        description="the label pipeline of what is told of the nights, where several publish "
        "to one receiver",
    )
    username: str = Field(default="", description="for a receiver that asks for one")
    secret: str = Field(
        default="",
        pattern=VARIABLE,
        description="name of the environment variable that holds the password of that user or, "
        "without one, a bearer token; empty for a receiver that asks for neither",
    )
    certificate: Path | None = Field(
        default=None,
        description="file of the authority that the receiver's certificate is checked by, where "
        "the machine does not know it",
    )
    patience: Duration = Field(
        default=30.0,
        description="time that a receiver which does not answer is given; what is left is "
        "published the next time",
        json_schema_extra={"default": "30s"},
    )

    @model_validator(mode="after")
    def _password(self) -> PublishSection:
        if self.username and not self.secret:
            raise ValueError("a username needs secret, the name of the variable with its password")
        return self


class HubSection(Section):
    """Prometheus and Grafana on one machine, by `nightshift hub up`."""

    folder: Path | None = Field(
        default=None, description="where their data is; by default hub in paths.results"
    )
    host: str = Field(
        default="127.0.0.1",
        description="IP address that both listen on; beyond loopback nothing asks for a password "
        "but Grafana",
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
        description="HOST:PORT of an Alertmanager; none if empty",
    )
    publish: Duration = Field(
        default=300.0,
        ge=1,
        description="how often what is new is published",
        json_schema_extra={"default": "5m"},
    )
    report_url: str = Field(
        default="", pattern=ADDRESS, description="where the report page is served, for links"
    )
    site_url: str = Field(
        default="", pattern=ADDRESS, description="where the trend site is served, for links"
    )
    grafana_url: str = Field(
        default="",
        pattern=ADDRESS,
        description="where Grafana is seen from outside, for links from issues and messages",
    )
    issues_url: str = Field(
        default="",
        pattern=ADDRESS,
        description="where issues are, which a regression's fingerprint is looked for in",
    )

    @property
    def links(self) -> dict[str, str]:
        """Where the dashboards' links lead to, by the names of their constants."""
        return {name: getattr(self, name) for name in ("report_url", "site_url", "issues_url")}

    @model_validator(mode="after")
    def _address(self) -> HubSection:
        try:
            ip_address(self.host)
        except ValueError as error:
            raise ValueError(f"host {self.host!r} is no IP address, as 127.0.0.1") from error
        return self
