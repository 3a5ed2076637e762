"""Change the kernel settings of a machine, and restore their old values."""

from __future__ import annotations

from enum import StrEnum

from pipeline.machine.tune.desired_value import DesiredValue, UnavailableSetting
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.knobs import find_knob
from pipeline.machine.tune.plan import desired_values
from pipeline.machine.tune.record import KnobRecord, Tuned, TuneRecord
from pipeline.machine.tune.settings import TuneSettings
from pipeline.model import Frozen


class KnobResult(StrEnum):
    """What happened to a kernel setting: changed, unchanged, refused, and so on."""

    SET = "set"
    SO_ALREADY = "so already"
    LACKING = "lacking"
    REFUSED = "refused"
    RESTORED = "restored"
    LEFT = "left"
    DUE = "due"
    DONE = "done"


class TuneOutcome(Frozen):
    """What happened to one kernel setting or one-time action, with old and new value.

    ``value`` is the value in force now (in a dry run, the value to set), ``before`` the former one.
    """

    did: KnobResult
    setting: str
    knob: str = ""
    before: str = ""
    value: str = ""
    why: str = ""


class Tuner:
    """Changes and restores the kernel settings of a machine; old values are recorded first."""

    def __init__(self, host: Host, record: TuneRecord) -> None:
        self.host = host
        self.record = record

    def foreseen(self, settings: TuneSettings) -> list[TuneOutcome]:
        """Return what :meth:`set` would change, without changing anything."""
        return [self._look(each) for each in desired_values(settings, self.host)]

    def set(self, settings: TuneSettings, *, by_hand: bool) -> list[TuneOutcome]:
        """Change the kernel settings; if one is refused, the others are still changed.

        Setting again keeps the original values for the restore. Settings made ``by_hand`` are not
        restored by a night. Raises UserError if the record of settings cannot be locked, read or
        written.
        """
        with self.record.locked():
            tuned = self.record.read(self.host.boot) or Tuned(boot=self.host.boot)
            desired = list(desired_values(settings, self.host))
            looks = [self._look(each) for each in desired]
            entries = {each.knob: each for each in tuned.entries}
            for look in looks:
                if look.did is KnobResult.SET:
                    entries[look.knob] = _entered(entries.get(look.knob), look)
            whose = tuned.by_hand or by_hand
            self.record.write(
                Tuned(boot=tuned.boot, by_hand=whose, entries=tuple(entries.values()))
            )
            return [self._set(look) if look.did is KnobResult.SET else look for look in looks]

    def restore(self) -> list[TuneOutcome]:
        """Restore the old values of all changed settings, in reverse order.

        A value that somebody else has set since is reported and kept: it is that person's choice. A
        setting that cannot be restored stays in the record, for another attempt.
        """
        with self.record.locked():
            tuned = self.record.read(self.host.boot)
            outcomes: list[TuneOutcome] = []
            stuck: list[KnobRecord] = []
            for entry in reversed(tuned.entries if tuned else ()):
                outcomes.append(done := self._restore(entry))
                if done.did is KnobResult.REFUSED:
                    stuck.insert(0, entry)
            if tuned and stuck:
                self.record.write(tuned.model_copy(update={"entries": tuple(stuck)}))
            else:
                self.record.clear()
            return outcomes

    def _look(self, desired: DesiredValue | UnavailableSetting) -> TuneOutcome:
        if isinstance(desired, UnavailableSetting):
            return TuneOutcome(did=KnobResult.LACKING, setting=desired.setting, why=desired.why)
        now = find_knob(desired.knob, self.host).read()
        did = KnobResult.SO_ALREADY if now == desired.value else KnobResult.SET
        return TuneOutcome(
            did=did, setting=desired.setting, knob=desired.knob, before=now, value=desired.value
        )

    def _set(self, look: TuneOutcome) -> TuneOutcome:
        why = self._turn(look.knob, look.value)
        if not why:
            return look
        if look.before and find_knob(look.knob, self.host).read() != look.before:
            # Otherwise a restore would take the kernel's value for somebody's choice and keep it.
            self._turn(look.knob, look.before)
        return look.model_copy(update={"did": KnobResult.REFUSED, "why": why})

    def _restore(self, entry: KnobRecord) -> TuneOutcome:
        now = find_knob(entry.knob, self.host).read()
        done = TuneOutcome(
            did=KnobResult.SO_ALREADY,
            setting=entry.setting,
            knob=entry.knob,
            before=now,
            value=entry.before,
        )
        if now == entry.before:
            return done
        if not now:
            return done.model_copy(update={"did": KnobResult.REFUSED, "why": "it no longer exists"})
        if now not in entry.ours:
            why = f"it was changed after nightshift set it; its original value is {entry.before}"
            return done.model_copy(update={"did": KnobResult.LEFT, "value": now, "why": why})
        why = self._turn(entry.knob, entry.before)
        did = KnobResult.REFUSED if why else KnobResult.RESTORED
        return done.model_copy(update={"did": did, "why": why})

    def _turn(self, name: str, value: str) -> str:
        """Change one kernel setting; return why the change failed, or "" if it succeeded."""
        knob = find_knob(name, self.host)
        try:
            knob.write(value)
        except OSError as error:
            return error.strerror or str(error)
        now = knob.read()
        return "" if now == value else f"the kernel changed {value} to {now or 'nothing'}"


def _entered(known: KnobRecord | None, look: TuneOutcome) -> KnobRecord:
    """Return the record of a kernel setting with the value that is about to be set."""
    if known is None:
        known = KnobRecord(setting=look.setting, knob=look.knob, before=look.before, ours=())
    ours = tuple(dict.fromkeys((*known.ours, look.value)))
    return known.model_copy(update={"ours": ours})
