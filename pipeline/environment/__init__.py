"""Machine changes measured with controls: the same binary, measured every night.

Data flow: control rows -> panels (a machine's control values by night) -> changes (steps and ramps)
-> offsets relative to the machine class -> calibrated series and environment events.
docs/guide/controls.md has the formulas.
"""
