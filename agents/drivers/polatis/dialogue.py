"""What is done on a live connection: see who is there, read everything, move cross-connects, empty the error queue.

Set commands are silent, so each is followed by ``*opc?``, which is answered when the mirrors stand still, and by the
error queue. Errors are told, not trusted: the queue belongs to all clients of the switch. What was really done is what
the next reading says.
"""

import logging
from dataclasses import dataclass, replace

from ringlight.agents.drivers.polatis import messages
from ringlight.agents.drivers.polatis.messages import DeviceError, Identity
from ringlight.agents.drivers.polatis.patch import Patch
from ringlight.agents.drivers.polatis.readings import Reading
from ringlight.agents.drivers.polatis.selection import Moves
from ringlight.agents.drivers.polatis.wire import Wire
from ringlight.fabric.errors import UnavailableError

_MOST_ERRORS = 64  # read in one go: a queue that never ends must not keep us from our work
_MOVE_PATIENCE = 5.0  # times as long as another answer: a slow switch is not gone, and what it did will be read
_MAKERS = ("polatis", "huber+suhner", "huber suhner")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a switch must be, for us to touch it.

    Attributes:
        name: of the switch, for messages.
        patch: whose ports it must have.
        serial: number it must have; empty for any.
        monitors: it must measure power.
    """

    name: str
    patch: Patch
    serial: str
    monitors: bool


async def greet(wire: Wire, expected: Expected) -> Identity:
    """See whether this is the switch that is meant. Changes nothing but the error queue, which is emptied.

    Raises:
        UnavailableError: it is another one, or it does not answer.
    """
    identity = messages.identity_from(await wire.ask(messages.IDENTIFY))
    _refuse_strangers(identity, expected)
    size = messages.size_from(await wire.ask(messages.SIZE))
    _refuse_other_sizes(identity, size, expected)
    for error in await errors(wire):
        _log.info("switch %s: left in its error queue by somebody: %s", expected.name, error)
    return identity


def _refuse_strangers(identity: Identity, expected: Expected) -> None:
    if not identity.maker.lower().startswith(_MAKERS):
        raise UnavailableError(
            f"switch {expected.name} is a {identity.maker} {identity.model}, and no Polatis switch; it is left alone",
            hint="check its address in the agent's file",
        )
    if expected.serial and expected.serial != identity.serial:
        raise UnavailableError(
            f"switch {expected.name} has the serial number {identity.serial}, not {expected.serial}; it is left alone",
            hint="check address and serial in the agent's file",
        )
    if expected.monitors and identity.model.upper().startswith("I-OST"):
        raise UnavailableError(
            f"switch {expected.name} is a {identity.model}, which has no power monitors",
            hint="take light_above out of the agent's file; light is then judged by cross-connects",
        )


def _refuse_other_sizes(identity: Identity, size: tuple[int, int], expected: Expected) -> None:
    """A port table of another switch would switch somebody else's light."""
    if identity.size not in (None, size):
        _log.warning("switch %s: says that it is %dx%d, and its model is %s", expected.name, *size, identity.model)
    inputs, total = size[0], sum(size)
    wrong = [port for port in expected.patch.ingresses if port > inputs]
    wrong += [port for port in expected.patch.egresses if not inputs < port <= total]
    if wrong:
        raise UnavailableError(
            f"switch {expected.name} has ingresses 1..{inputs} and egresses {inputs + 1}..{total}, so the file is "
            f"wrong about port {', '.join(map(str, sorted(wrong)))}; it is left alone",
            hint="correct the switch's ports in the agent's file",
        )


async def boot_mode(wire: Wire) -> str:
    """What becomes of the cross-connects when the switch loses power.

    Raises:
        UnavailableError: the switch does not answer.
    """
    return messages.boot_mode_from(await wire.ask(messages.BOOT_MODE))


async def look(wire: Wire, patch: Patch, *, monitors: bool, boot_mode: str) -> Reading:
    """Read everything that concerns the bundles of a switch.

    Args:
        wire: to the switch.
        patch: of the switch.
        monitors: measure the powers too.
        boot_mode: as it was last asked for; it is no part of this.

    Raises:
        UnavailableError: the switch does not answer.
    """
    found = messages.connections_from(await wire.ask(messages.CONNECTIONS))
    answer = await wire.ask(messages.port_states(patch.ports))
    reading = Reading(found, messages.port_states_from(answer, patch.ports), boot_mode=boot_mode)
    if not monitors:
        return reading
    powers: dict[int, float | None] = {}
    for query, ports in messages.powers(patch.ports):
        powers |= messages.powers_from(await wire.ask(query), ports)
    return replace(reading, powers=powers)


async def move(wire: Wire, moves: Moves) -> list[DeviceError]:
    """Move cross-connects, wait until the switch is done, and return what it complains about.

    Everything goes out in one line, so that no other client's command comes between what is let go and what is made.

    Raises:
        UnavailableError: the switch does not answer; nothing is known of what it did.
    """
    commands = []
    if moves.disconnect:
        commands.append(messages.disconnect(moves.disconnect))
    if moves.connect:
        commands.append(messages.connect(moves.connect))
    await wire.ask(";".join([*commands, messages.COMPLETE]), patience=_MOVE_PATIENCE)
    return await errors(wire)


async def errors(wire: Wire) -> list[DeviceError]:
    """Empty the error queue.

    Raises:
        UnavailableError: the switch does not answer.
    """
    found: list[DeviceError] = []
    while len(found) < _MOST_ERRORS:
        error = messages.error_from(await wire.ask(messages.NEXT_ERROR))
        if error is None:
            break
        found.append(error)
    return found
