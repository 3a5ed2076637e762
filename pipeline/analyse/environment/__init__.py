"""What machines do by themselves: told by controls, the same binary measured every night.

The way of the data: control rows -> panels (a machine's figures by night) -> changes (steps and
ramps) -> levels relative to the class -> calibrated series, and events. docs/controls.md has the
formulas.
"""
