"""The simulator: a whole fabric with everything that can go wrong, in virtual time and from one seed.

The real engine, the real decisions of the agents and the emulated plant are run by a seeded schedule. Links delay,
drop and cut; agents and controllers crash, stall and come back with or without their files; operators do what
operators do. After every step an independent judge looks for broken invariants, and at the end everything that can be
whole must be whole.

Reading order: `schedule` (time), `operations` (what happens), `link`, `agent`, `store`, `controller` (the parts),
`simulation` (all of it), `judge` (what must never be), `peace` (what must be at the end), `runner` (one seed), `shrink`
(the smallest failing list of operations), `soak` (many seeds).
"""
