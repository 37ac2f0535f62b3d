"""The pages that never change while a module lives: identity (00h), advertising (01h), thresholds (02h).

Every number is one that a strict decoder accepts: checksums are exact, thresholds in order, and lanes, applications and
media agree with each other.
"""

from ringlight.emulator.module import encoding, thresholds
from ringlight.emulator.module.profile import LANES, CdbMode, ModuleIdentity, ModuleProfile

OUI = bytes((0x02, 0x52, 0x4C))  # locally administered: nobody's
SINGLE_MODE = 0x02
NO_MORE_APPLICATIONS = 0xFF
# Host interface, media interface, host and media lanes, first host lanes it may begin at (SFF-8024; 800G over 8 lanes,
# 400G over 4). The media lane assignments are on page 01h.
APPLICATIONS = (
    (0x51, 0x56, 0x88, 0x01),
    (0x4F, 0x1C, 0x44, 0x11),
)
MEDIA_ASSIGNMENTS = (0x01, 0x11)

CDB_EXTRA_WRITE = 15  # units of 8 bytes beyond the first 8: 128 in all


def put(page: bytearray, at: int, data: bytes | int) -> None:
    """Write into an upper page at its own address, 128 to 255."""
    content = bytes([data]) if isinstance(data, int) else data
    page[at - 128 : at - 128 + len(content)] = content


def lower(profile: ModuleProfile) -> bytearray:
    """Lower memory as it is before anything happens."""
    memory = bytearray(128)
    memory[0] = profile.identifier
    memory[1] = profile.revision
    memory[2] = (0x40 if profile.stepped else 0) | 0x04  # paged; two-wire bus of 1 MHz
    memory[26] = 0x40  # LowPwrAllowRequestHW
    memory[39:41] = bytes((1, 0))
    memory[85] = SINGLE_MODE
    memory[86:118] = bytes([NO_MORE_APPLICATIONS, 0, 0, 0]) * 8
    for number, application in enumerate(APPLICATIONS):
        memory[86 + 4 * number : 90 + 4 * number] = bytes(application)
    return memory


def administrative(identity: ModuleIdentity, profile: ModuleProfile) -> bytearray:
    """Page 00h, upper half."""
    page = bytearray(128)
    put(page, 128, profile.identifier)
    put(page, 129, encoding.text(identity.vendor, 16))
    put(page, 145, OUI)
    put(page, 148, encoding.text(identity.part_number, 16))
    put(page, 164, encoding.text(identity.revision, 2))
    put(page, 166, encoding.text(identity.serial, 16))
    put(page, 182, encoding.text(identity.date, 8))
    put(page, 190, encoding.text("", 10))
    put(page, 200, 7 << 5)  # power class 8: what byte 201 says
    put(page, 201, round(16.0 / 0.25))
    put(page, 203, 0x27)  # MPO 2x12: a fibre bundle for each external path
    put(page, 212, 0x04)  # 1310 nm DFB
    put(page, 222, encoding.checksum(page[:94]))
    return page


def advertising(profile: ModuleProfile) -> bytearray:
    """Page 01h."""
    page, durations = bytearray(128), profile.durations
    put(page, 130, bytes((1, 0)))
    put(page, 132, 0x05)  # half a kilometre of single-mode fibre, in steps of 0.1 km
    put(page, 138, encoding.u16(1310 / 0.05))
    put(page, 140, encoding.u16(6.5 / 0.005))
    put(page, 142, 0x40 | 0x20)  # VDM, diagnostics; bank 0 only
    put(page, 144, durations.deinit << 4 | durations.init)
    put(page, 146, bytes((75, 0)))
    put(page, 150, round(3.1 / 0.02))
    put(page, 155, 0x02)  # TxDisable
    put(page, 156, 0x02)  # RxDisable
    put(page, 157, 0x03)  # flags: Tx fault, Tx LOS
    put(page, 158, 0x02)  # flag: Rx LOS
    put(page, 159, 0x03)  # monitors: temperature, supply
    put(page, 160, 0x07)  # monitors: bias in steps of 2 uA, Tx power, Rx power
    if profile.cdb is not CdbMode.NONE:
        background = profile.cdb is CdbMode.BACKGROUND
        put(page, 163, 1 << 6 | (0x20 if background else 0))
        put(page, 164, CDB_EXTRA_WRITE)
        put(page, 165, 0x01)  # the trigger is a write of 9Fh:129; busy for at most 160 ms
        put(page, 166, 0x00)
    put(page, 167, durations.power_down << 4 | durations.power_up)
    put(page, 168, durations.turn_off << 4 | durations.turn_on)
    put(page, 176, bytes(MEDIA_ASSIGNMENTS))
    put(page, 223, bytes([NO_MORE_APPLICATIONS, 0, 0, 0]) * 7)
    put(page, 251, 0x20 | 0x04 | (0x02 if profile.full_page_reads else 0x01))
    put(page, 252, 0x20 if profile.lane_switching else 0)
    put(page, 255, encoding.checksum(page[2:127]))
    return page


def limits() -> bytearray:
    """Page 02h: each monitor's high alarm, low alarm, high warning, low warning."""
    page = bytearray(128)
    put(page, 128, thresholds.TEMPERATURE.encoded(encoding.temperature))
    put(page, 136, thresholds.SUPPLY.encoded(encoding.supply))
    put(page, 176, thresholds.TX_POWER.encoded(encoding.optical_power))
    put(page, 184, thresholds.BIAS.encoded(encoding.bias))
    put(page, 192, thresholds.RX_POWER.encoded(encoding.optical_power))
    put(page, 255, encoding.checksum(page[:127]))
    return page


def all_lanes() -> int:
    """The bits of all lanes."""
    return (1 << LANES) - 1
