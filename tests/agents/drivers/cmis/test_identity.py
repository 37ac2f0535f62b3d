"""Who a module is, from bytes alone; whatever is not sure is foreign."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.agents.drivers.cmis.identity import KNOWN_PARTS, KnownPart, check_kind, identify, looks_ready
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble
from ringlight.emulator.module.pages import administrative, advertising, limits, lower
from ringlight.emulator.module.profile import CdbMode, ModuleIdentity, ModuleProfile

PROFILE = ModuleProfile()


def pages(profile: ModuleProfile = PROFILE, **identity: str) -> tuple[bytes, bytes, bytes, bytes]:
    who = ModuleIdentity("SN7", **identity)
    made = (lower(profile), administrative(who, profile), advertising(profile), limits())
    return tuple(map(bytes, made))  # type: ignore[return-value]


def refused(*content: bytes, known: tuple[KnownPart, ...] = KNOWN_PARTS) -> str:
    with pytest.raises(ModuleTroubleError) as caught:
        identify(*content, known)  # type: ignore[arg-type]
    assert caught.value.code is Trouble.FOREIGN
    return str(caught.value)


def test_a_module_that_is_known() -> None:
    identity = identify(*pages(), KNOWN_PARTS)

    assert (identity.vendor, identity.part_number, identity.serial) == ("RINGLIGHT", "OCSTRX-EMU-800G", "SN7")
    assert identity.form == "QSFP-DD"
    assert (identity.power_up, identity.init, identity.deinit) == (0.5, 0.1, 0.05)
    assert (identity.has_commands, identity.background, identity.has_lane_switching) == (True, True, True)
    assert identity.hot_above == 75.0
    assert identity.read_size == 128


def test_what_it_does_not_advertise_it_has_not() -> None:
    profile = ModuleProfile(full_page_reads=False, lane_switching=False, cdb=CdbMode.NONE)
    identity = identify(*pages(profile), KNOWN_PARTS)

    assert (identity.read_size, identity.has_commands, identity.has_lane_switching) == (8, False, False)


@pytest.mark.parametrize(("page", "byte", "said"), [(1, 5, "page 00h"), (2, 40, "page 01h"), (3, 3, "page 02h")])
def test_one_wrong_byte_makes_it_foreign(page: int, byte: int, said: str) -> None:
    content = [bytearray(each) for each in pages()]
    content[page][byte] ^= 0x01
    assert f"the checksum of {said} is wrong" in refused(*map(bytes, content))


def test_a_transport_that_shows_page_00h_everywhere_is_noticed() -> None:
    low, admin, _, _ = pages()
    assert "whatever page is selected" in refused(low, admin, admin, admin)


@pytest.mark.parametrize(("vendor", "part"), [("SOMEBODY", "OCSTRX-1"), ("RINGLIGHT", "DR8-1")])
def test_parts_that_nobody_named_are_foreign_and_named(vendor: str, part: str) -> None:
    said = refused(*pages(vendor=vendor, part_number=part))
    assert vendor in said
    assert part in said


def test_a_site_may_name_its_own() -> None:
    identify(*pages(vendor="ACME", part_number="OCS-800-3"), (*KNOWN_PARTS, KnownPart("ACME", "OCS-800-?")))


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\x0d\x54\x00", "identifier is 0Dh"),
        (b"\x18\x30\x00", "CMIS 3.0"),
        (b"\x18\x60\x00", "CMIS 6.0"),
        (b"\x18\x50\x80", "no pages"),
    ],
)
def test_other_kinds_are_refused(head: bytes, said: str) -> None:
    with pytest.raises(ModuleTroubleError, match=said):
        check_kind(head)


@pytest.mark.parametrize(
    ("head", "ready"), [(b"\x00\x00\x00", False), (b"\xff\xff\xff", False), (b"\x18\x54\x04", True)]
)
def test_nothing_and_all_ones_are_a_module_that_is_not_up_yet(head: bytes, ready: bool) -> None:
    assert looks_ready(head) is ready


@given(st.tuples(*[st.binary(min_size=128, max_size=128)] * 4))
def test_noise_is_foreign(content: tuple[bytes, bytes, bytes, bytes]) -> None:
    assert refused(*content)
