"""An optical matrix switch in the place of OCSTrx modules: SCPI over TCP, one connection for all nodes of an agent.

Read `patch` first (what is plugged in where), then `selection` (what a bundle selects, and what may be moved for it),
`readings`, `live` (a connection that all nodes share), `shared` (how it is made and made again) and `driver` (one
node's view of it). docs/polatis.md is for whoever has one.
"""
