"""The engine: a pure state machine, ``handle(event, now) -> effects``.

Reading order: `events` and `effects` (what goes in and comes out), `state` (what is remembered), `admission` (who may
speak), `assessment` (evidence to verdicts), `repair` (verdicts to new rings), `progress` (commands to proven light),
`operator` (requests from people and schedulers), `invariants` (what is refused whatever the reason), `engine` (the
order of it all). `view` and `explain` answer questions and change nothing.

No event loop, clock, wire or disk: time arrives as an argument, in seconds of one monotonic clock.
"""
