"""The configuration nightshift.toml, one module for each group of its tables."""

from pipeline.config.analyse import BisectSection, ConfirmSection, DetectSection, RuleSection
from pipeline.config.base import Name, Section, Version
from pipeline.config.build import ArchiveSection, BuildSection, PatchSection
from pipeline.config.disturbance import DisturbanceSection
from pipeline.config.file import DEFAULT_FILE, Config, ConfigFile, json_schema, load_config
from pipeline.config.fleet import FleetSection
from pipeline.config.machine import ClassSection, MachineSection
from pipeline.config.notify import (
    GithubSection,
    NotifySection,
    SinkName,
    SlackSection,
    WebhookSection,
)
from pipeline.config.places import Paths, StoreSection
from pipeline.config.plan import (
    ControlSection,
    LineSection,
    NightSection,
    Quick,
    SourceSection,
    WorkloadSection,
)
from pipeline.config.preflight import PreflightSection
from pipeline.config.publish import HubSection, PublishSection
from pipeline.config.report import COLOURS, Colour, ColourLook, ReportSection
from pipeline.config.server_configs import ServerConfigSection
from pipeline.config.tables import TableSetup

__all__ = [
    "COLOURS",
    "DEFAULT_FILE",
    "ArchiveSection",
    "BisectSection",
    "BuildSection",
    "ClassSection",
    "Colour",
    "ColourLook",
    "Config",
    "ConfigFile",
    "ConfirmSection",
    "ControlSection",
    "DetectSection",
    "DisturbanceSection",
    "FleetSection",
    "GithubSection",
    "HubSection",
    "LineSection",
    "MachineSection",
    "Name",
    "NightSection",
    "NotifySection",
    "PatchSection",
    "Paths",
    "PreflightSection",
    "PublishSection",
    "Quick",
    "ReportSection",
    "RuleSection",
    "Section",
    "ServerConfigSection",
    "SinkName",
    "SlackSection",
    "SourceSection",
    "StoreSection",
    "TableSetup",
    "Version",
    "WebhookSection",
    "WorkloadSection",
    "json_schema",
    "load_config",
]
