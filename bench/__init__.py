"""Repeatable measurements of Ringlight: how far each part is from what it can never be faster than.

`python -m bench` prints every figure beside a *floor*: the time of the least that any program in this place would
have to do, measured on the same machine in the same run. The ratio of the two is what can be compared between
machines and over the years; a figure alone says as much about the machine as about Ringlight.

The real code is measured: the planner, the engine, the store and the daemons as they are, over the public names that
other packages use. Nothing here is a test: a slow run is a finding, not a failure. `README.md` explains each
measurement, its floor, and how to read it.
"""
