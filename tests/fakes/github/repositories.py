"""Repositories themselves, and who may do what in them."""

from __future__ import annotations

from tests.fakes.github.calls import Answer, Call, Routes

routes = Routes()


@routes("GET", "/{repo}", "metadata:read")
def get_repository(call: Call) -> Answer:
    return Answer(200, call.shapes.whole_repository(call.repository))


@routes("GET", "/{repo}/collaborators/{login}/permission", "token metadata:read")
def get_permission(call: Call) -> Answer:
    return Answer(200, call.shapes.permission(call.repository, call.parts["login"]))
