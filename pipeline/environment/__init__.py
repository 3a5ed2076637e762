"""Changes of machines, seen in controls: the same binary measured again every night.

Data flow: control rows -> panels (a machine's control values by night) -> changes (steps and ramps)
-> offsets relative to the machine class -> calibrated series and environment events.
docs/guide/controls.md has the formulas.
"""
