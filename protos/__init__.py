"""The wire: ``ringlight.v1`` messages, their generated Python, and the one place that turns them into our own words.

`v1/` holds the .proto files and what `make protos` generates from them; `codec` converts between messages and the
records of `ringlight.fabric`; `status` maps errors to gRPC statuses and back. Nothing here decides anything.
"""
