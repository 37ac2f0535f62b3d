"""The controller: decides which rings exist, and proves from the hardware that they do.

`planning`, `health` and `engine` are pure decisions: functions of state, event and time, with no event loop, clock,
wire or disk. `ports` names what they need of the world, `adapters` provides it, `daemon` wires it together.
"""
