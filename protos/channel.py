"""Options of channels and servers that must match: keepalive, sizes, and room for a reconnect storm.

A client that pings more often than its server allows is thrown out (``too_many_pings``), so both sides are kept here,
side by side.
"""

from collections.abc import Sequence

Options = Sequence[tuple[str, int]]

_KEEPALIVE_MS = 10_000  # how long a connection may be quiet before it is probed
_KEEPALIVE_TIMEOUT_MS = 5_000  # how long a probe may stay unanswered
_LARGEST_MESSAGE = 64 * 1024 * 1024  # bytes; a trace of 10,000 nodes is about 10 MB
_PENDING_CALLS = 100_000  # beyond the default, calls of agents that all dial at once are lost with CANCELLED


def client_options() -> Options:
    """For channels of agents and of everyone who calls our services."""
    return (
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
        # The controller is in the same room: a proxy for the web, set in the environment, is not on the way to it.
        ("grpc.enable_http_proxy", 0),
        # How soon gRPC itself tries a refused connection again; our own backoff sits on top and has the say.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
    )


def server_options() -> Options:
    """For our servers."""
    return (
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        # Half of what clients use, so that a ping that is a little early is no offence.
        ("grpc.http2.min_ping_interval_without_data_ms", _KEEPALIVE_MS // 2),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
        ("grpc.server.max_pending_requests", _PENDING_CALLS),
        ("grpc.server.max_pending_requests_hard_limit", _PENDING_CALLS),
        # A second server on the same address must fail instead of sharing it.
        ("grpc.so_reuseport", 0),
    )
