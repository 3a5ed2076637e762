"""Setting what is asked of a machine, and giving back what was there before."""

from __future__ import annotations

from enum import StrEnum

from pipeline.machine.tune.host import Host
from pipeline.machine.tune.knobs import find_knob
from pipeline.machine.tune.plan import asked
from pipeline.machine.tune.record import Entry, Record, Tuned
from pipeline.machine.tune.settings import Settings
from pipeline.machine.tune.wish import Lacking, Wish
from pipeline.model import Frozen


class Did(StrEnum):
    """What became of a knob."""

    SET = "set"
    SO_ALREADY = "so already"
    LACKING = "lacking"
    REFUSED = "refused"
    RESTORED = "restored"
    LEFT = "left"
    DUE = "due"
    DONE = "done"


class Outcome(Frozen):
    """What became of one knob, or of something that is done once.

    ``value`` is the one in force now (of a dry run, then), ``before`` the one that it had.
    """

    did: Did
    setting: str
    knob: str = ""
    before: str = ""
    value: str = ""
    why: str = ""


class Tuner:
    """Sets and restores a machine. What it was like is in the record before it is changed."""

    def __init__(self, host: Host, record: Record) -> None:
        self.host = host
        self.record = record

    def foreseen(self, settings: Settings) -> list[Outcome]:
        """Return what :meth:`set` would do, and change nothing."""
        return [self._look(each) for each in asked(settings, self.host)]

    def set(self, settings: Settings, *, by_hand: bool) -> list[Outcome]:
        """Set what is asked. What refuses is told, and the others are set all the same.

        Set again, the values of the first time stay those that are given back. Set ``by_hand``,
        no night restores it. Raises UserError where nothing may be changed at all.
        """
        with self.record.locked():
            tuned = self.record.read(self.host.boot) or Tuned(boot=self.host.boot)
            wishes = list(asked(settings, self.host))
            looks = [self._look(each) for each in wishes]
            entries = {each.knob: each for each in tuned.entries}
            for look in looks:
                if look.did is Did.SET:
                    entries[look.knob] = _entered(entries.get(look.knob), look)
            whose = tuned.by_hand or by_hand
            self.record.write(
                Tuned(boot=tuned.boot, by_hand=whose, entries=tuple(entries.values()))
            )
            return [self._set(look) if look.did is Did.SET else look for look in looks]

    def restore(self) -> list[Outcome]:
        """Give back what was there before, the last that was set first.

        What somebody else set since then is told and left: it is somebody's choice, and ours is
        gone already. What refuses stays in the record, for another attempt.
        """
        with self.record.locked():
            tuned = self.record.read(self.host.boot)
            outcomes: list[Outcome] = []
            stuck: list[Entry] = []
            for entry in reversed(tuned.entries if tuned else ()):
                outcomes.append(done := self._restore(entry))
                if done.did is Did.REFUSED:
                    stuck.insert(0, entry)
            if tuned and stuck:
                self.record.write(tuned.model_copy(update={"entries": tuple(stuck)}))
            else:
                self.record.clear()
            return outcomes

    def _look(self, wish: Wish | Lacking) -> Outcome:
        if isinstance(wish, Lacking):
            return Outcome(did=Did.LACKING, setting=wish.setting, why=wish.why)
        now = find_knob(wish.knob, self.host).read()
        did = Did.SO_ALREADY if now == wish.value else Did.SET
        return Outcome(did=did, setting=wish.setting, knob=wish.knob, before=now, value=wish.value)

    def _set(self, look: Outcome) -> Outcome:
        why = self._turn(look.knob, look.value)
        if not why:
            return look
        if look.before and find_knob(look.knob, self.host).read() != look.before:
            # What the kernel made instead would be taken for somebody's choice, and left for good.
            self._turn(look.knob, look.before)
        return look.model_copy(update={"did": Did.REFUSED, "why": why})

    def _restore(self, entry: Entry) -> Outcome:
        now = find_knob(entry.knob, self.host).read()
        done = Outcome(
            did=Did.SO_ALREADY,
            setting=entry.setting,
            knob=entry.knob,
            before=now,
            value=entry.before,
        )
        if now == entry.before:
            return done
        if not now:
            return done.model_copy(update={"did": Did.REFUSED, "why": "it is not there now"})
        if now not in entry.ours:
            why = f"it was changed since it was set; before that it was {entry.before}"
            return done.model_copy(update={"did": Did.LEFT, "value": now, "why": why})
        why = self._turn(entry.knob, entry.before)
        did = Did.REFUSED if why else Did.RESTORED
        return done.model_copy(update={"did": did, "why": why})

    def _turn(self, name: str, value: str) -> str:
        """Set a knob; return why it is not so afterwards, or nothing."""
        knob = find_knob(name, self.host)
        try:
            knob.write(value)
        except OSError as error:
            return error.strerror or str(error)
        now = knob.read()
        return "" if now == value else f"the kernel made {now or 'nothing'} of {value}"


def _entered(known: Entry | None, look: Outcome) -> Entry:
    """Return the entry of a knob that is about to be set, the first value kept."""
    if known is None:
        known = Entry(setting=look.setting, knob=look.knob, before=look.before, ours=())
    ours = tuple(dict.fromkeys((*known.ours, look.value)))
    return known.model_copy(update={"ours": ours})
