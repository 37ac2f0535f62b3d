"""Options of both ends that must match."""

from ringlight.protos.channel import client_options, server_options


def test_a_client_never_pings_more_often_than_a_server_allows():
    client, server = dict(client_options()), dict(server_options())
    assert client["grpc.keepalive_time_ms"] >= 2 * server["grpc.http2.min_ping_interval_without_data_ms"]
    assert client["grpc.http2.max_pings_without_data"] == 0
    assert server["grpc.keepalive_permit_without_calls"] == 1


def test_what_one_end_may_send_the_other_takes():
    client, server = dict(client_options()), dict(server_options())
    assert client["grpc.max_receive_message_length"] == server["grpc.max_receive_message_length"]


def test_no_option_is_given_twice():
    for options in (client_options(), server_options()):
        assert len(dict(options)) == len(options)
