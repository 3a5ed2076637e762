"""Pack the results of this machine for another one, such as the hub."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path

from pipeline.measure.progress import Watcher
from pipeline.text.errors import UserError
from pipeline.transfer.places import is_remote
from pipeline.transfer.push import Pushed, push
from pipeline.transfer.results import pack
from pipeline.transfer.state import pack_state
from pipeline.use_cases.context import Context
from pipeline.use_cases.places import place_of


class Packed(Enum):
    """What to pack: results, a plan to measure, or the state that confirming needs."""

    RESULTS = auto()
    PLAN = auto()
    STATE = auto()


def pack_results(
    context: Context, folder: str, what: Packed, watcher: Watcher, batch: str = ""
) -> int | Pushed:
    """Pack into a local folder, or send to another machine or object storage.

    ``batch`` is the id of the batch that the results answer. Returns the number of packed files, or
    what was sent. Raises UserError for a plan or a state whose destination is not a local folder.
    """
    if is_remote(folder):
        if what is not Packed.RESULTS:
            raise UserError(
                "--plan and --state write to a local folder; give a folder of this machine"
            )
        with place_of(context.config, folder) as place:
            return push(place, context.results, watcher, batch)
    if what is Packed.RESULTS:
        return pack(context.results, Path(folder), batch)
    store = context.store if what is Packed.STATE else None
    return pack_state(context.results, store, Path(folder))
