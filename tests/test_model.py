from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.model import (
    Cell,
    Frozen,
    ServerConfig,
    Workload,
    column_name,
    digest,
)
from pipeline.model.metrics import METRICS, Direction
from tests.measure.samples import cell, revision, workload


def changed(path: str, value: Any) -> Cell:
    """Return the sample cell with one thing in it replaced."""

    def replace(model: Frozen, parts: list[str]) -> Frozen:
        name, *rest = parts
        new = replace(getattr(model, name), rest) if rest else value
        return model.model_copy(update={name: new})

    found = replace(cell(), path.split("."))
    assert isinstance(found, Cell)
    return found


def test_equal_values_have_equal_digests_whatever_their_order() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest([1, 2]) != digest([2, 1])
    assert digest(["1"]) != digest([1])


def test_a_copy_of_a_revision_has_a_label_of_its_own() -> None:
    assert revision("17.11").label == "17.11"
    assert revision("17.11", copy=2).label == "17.11#2"


def test_a_cell_keeps_its_key() -> None:
    """Kept in every bundle: a key that changes for nothing makes everything measured anew."""
    assert cell().key == cell().key
    assert Cell.model_validate_json(cell().model_dump_json()).key == cell().key
    assert cell().run_id(2) == f"postgres-17.11-{cell().key[:12]}-r2"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("revision", revision("17.10")),
        ("revision.copy_number", 2),
        ("revision.target", "mysql"),
        ("build_options", "o3-lto"),
        ("config.text", "fsync = on"),
        ("config.name", "x10a_c4r8"),
        ("machine_class", "other"),
        ("workload.name", "other"),
        ("workload.version", "2"),
        ("workload.family", "other"),
        ("workload.scale.clients", 4),
        ("workload.scale.rows", 2000),
        ("workload.scale.tables", 2),
        ("workload.scale.measure", 2.0),
        ("workload.scale.warmup", 1.0),
        ("workload.steps", workload(steps=("two",)).steps),
        ("workload.steps", workload(steps=("one", "two")).steps),
    ],
)
def test_whatever_matters_makes_another_cell(path: str, value: Any) -> None:
    assert changed(path, value).key != cell().key


@pytest.mark.parametrize(
    ("path", "value"), [("revision.locator", "17.11.1"), ("revision.order", (17, 11, 0))]
)
def test_what_does_not_matter_makes_no_other_cell(path: str, value: Any) -> None:
    assert changed(path, value).key == cell().key


def test_the_order_of_steps_matters() -> None:
    assert workload(steps=("a", "b")).hash != workload(steps=("b", "a")).hash


def test_the_vocabulary_is_immutable_and_knows_its_fields() -> None:
    with pytest.raises(ValidationError):
        cell().machine_class = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Workload.model_validate({**workload().model_dump(), "step": 1})


def test_configurations_are_identified_by_their_content() -> None:
    one = ServerConfig(family="x10a", name="x10a_c2r8", text="a = 1")
    assert one.hash == one.model_copy(update={"name": "other"}).hash
    assert one.hash != one.model_copy(update={"text": "a = 2"}).hash


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (("postgres", "17.11", "official", "x10a_c8r32"), "pg1711_official.x10a_c8r32"),
        (("postgres", "17.11#2", "official", "x10a_c8r32"), "pg1711#2_official.x10a_c8r32"),
        (("mysql", "8.0.43", "rel", "z12a"), "my8043_rel.z12a"),
        (("sqlite", "3.45", "o2", "a"), "sl345_o2.a"),
        (("postgres", "18.0 with the x10b config", "published", ""), "18.0 with the x10b config"),
    ],
)
def test_columns_are_named_as_published(args: tuple[str, str, str, str], name: str) -> None:
    assert column_name(*args) == name


def test_every_metric_says_which_way_is_good() -> None:
    more = {name for name, m in METRICS.items() if m.direction is Direction.MORE_IS_BETTER}
    assert more == {
        *("qps", "qps_p1", "nopm", "tpm", "ingest_gb", "cached"),
        *("inserts/s", "deletes/s", "inserts_target", "deletes_target", "sla"),
        *("MB/s", "score"),
    }
    assert all(name == metric.name and metric.help for name, metric in METRICS.items())
