"""Addresses of brokers, and the files that go with them."""

import pytest

from ringlight.fabric.errors import InvalidError
from ringlight.protos.bus.broker import broker_at


@pytest.mark.parametrize(
    ("address", "host", "port", "user", "shown"),
    [
        ("mqtt://broker", "broker", 1883, None, "mqtt://broker:1883"),
        ("mqtt://broker:99/", "broker", 99, None, "mqtt://broker:99"),
        ("mqtt://r%40n@[fd00::1]:5", "fd00::1", 5, "r@n", "mqtt://[fd00::1]:5"),
        ("mqtts://rack@broker", "broker", 8883, "rack", "mqtts://broker:8883"),
    ],
)
def test_addresses(address, host, port, user, shown):
    broker = broker_at(address)
    assert (broker.host, broker.port, broker.user, str(broker)) == (host, port, user, shown)
    assert (broker.tls is not None) is address.startswith("mqtts")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("broker", "is no address"),
        ("http://broker", "is no address"),
        ("mqtt://", "is no address"),
        ("mqtt://broker:99999", "is no address"),
        ("mqtt://broker/topic", "is no address"),
        ("mqtt://broker:0", "is no address"),
        ("mqtt://broker..lab", "is no address"),
        (f"mqtt://{'a' * 64}", "is no address"),
        ("mqtt://u:secret@broker", "a password stands in the address"),
    ],
)
def test_what_is_no_address_is_refused_and_no_secret_is_told(address, said):
    with pytest.raises(InvalidError, match=said) as caught:
        broker_at(address)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_password_is_the_first_line_of_its_file_and_never_shown(tmp_path):
    file = tmp_path / "password"
    file.write_text("secret\n")
    broker = broker_at("mqtt://u@broker", password_file=file)
    assert broker.password == "secret"  # noqa: S105
    assert "secret" not in f"{broker} {broker!r}"


def test_files_that_cannot_be_used_are_named(tmp_path):
    nothing, empty, no_pem = tmp_path / "nothing", tmp_path / "empty", tmp_path / "no.pem"
    empty.write_text("\n")
    no_pem.write_text("x")
    for password, said in ((nothing, "cannot be read"), (empty, "is empty")):
        with pytest.raises(InvalidError, match=said):
            broker_at("mqtt://u@b", password_file=password)
    for certificates in (nothing, no_pem):
        with pytest.raises(InvalidError, match="cannot be used"):
            broker_at("mqtts://b", ca_file=certificates)


def test_what_does_not_go_together_is_refused(tmp_path):
    with pytest.raises(InvalidError, match="no user"):
        broker_at("mqtt://b", password_file=tmp_path)
    with pytest.raises(InvalidError, match="of no use to mqtt://"):
        broker_at("mqtt://u@b", ca_file=tmp_path)
