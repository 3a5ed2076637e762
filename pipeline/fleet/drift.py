"""Read a plan of Terraform: which resources differ from their description."""

from __future__ import annotations

import json

from pipeline.model import Frozen
from pipeline.text.errors import UserError

_UNCHANGED = ({"no-op"}, {"read"}, set[str]())


class ChangedResource(Frozen):
    """A resource that Terraform would change: its address, and what would be done to it."""

    address: str
    actions: tuple[str, ...]


def changed_resources(text: str) -> list[ChangedResource]:
    """Return the resources that a plan changes, from the output of ``terraform show -json``.

    Values are left out: a plan contains addresses and names that an issue must not show. Raises
    UserError if the text is no plan.
    """
    try:
        plan = json.loads(text)
        found = [
            ChangedResource(
                address=str(each["address"]), actions=tuple(map(str, each["change"]["actions"]))
            )
            for each in plan.get("resource_changes", ())
        ]
        # Without "planned_values" it is a state, whose resources would seem unchanged.
        plan["planned_values"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            "the file is no plan of Terraform; write it with `terraform show -json PLAN`"
        ) from error
    return [each for each in found if set(each.actions) not in _UNCHANGED]
