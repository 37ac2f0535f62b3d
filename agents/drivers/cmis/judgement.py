"""What the looks at all modules of a node mean: paths, light and faults. Pure.

A bundle selects what all its modules select, and nothing that is known otherwise. A port has light when its bundle
selects it and every lane of every module receives.
"""

from collections.abc import Iterator, Mapping, Sequence

from ringlight.agents.drivers.cmis.module import Look
from ringlight.agents.drivers.cmis.registers import LANES
from ringlight.agents.drivers.cmis.trouble import ModuleTroubleError, Trouble
from ringlight.agents.ports import DriverEvent, FaultClosed, FaultOpened, LightChanged, Readout
from ringlight.fabric.circuits import Fault, FaultClass, Path, PortKey

_ALL_LANES = (1 << LANES) - 1
# A bundle with a module that does nothing carries nothing, so its ring is dead; a switch that does not move does no
# harm to the ring that is on it now.
_GRAVITY = {
    Trouble.DEAD: FaultClass.FATAL,
    Trouble.FOREIGN: FaultClass.FATAL,
    Trouble.DOWN: FaultClass.FATAL,
    Trouble.PAGE: FaultClass.FATAL,
    Trouble.SWITCH_FAILED: FaultClass.DEGRADED,
    Trouble.SWITCH_REFUSED: FaultClass.DEGRADED,
    Trouble.SWITCH_STUCK: FaultClass.DEGRADED,
    Trouble.HOT: FaultClass.DEGRADED,
    Trouble.DARK_LANES: FaultClass.INFO,
}

Found = Look | ModuleTroubleError


def readout(
    bundles: Sequence[Sequence[str]],
    cabled: Sequence[PortKey],
    found: Mapping[str, Found],
    failed: Mapping[str, ModuleTroubleError],
) -> Readout:
    """What is known of a node.

    Args:
        bundles: names of the modules of each bundle.
        cabled: ports that a fibre is plugged in at.
        found: by module.
        failed: why the last switch of a module did not succeed, where it did not.
    """
    circuits = tuple(_selected([found[module] for module in modules]) for modules in bundles)
    light = {
        (bundle, path): circuits[bundle] is path and all(_receives(found[module]) for module in bundles[bundle])
        for bundle, path in cabled
    }
    faults = [fault for modules in bundles for module in modules for fault in _faults(module, found[module], failed)]
    return Readout(circuits, light, tuple(faults))


def changes(before: Readout, after: Readout) -> Iterator[DriverEvent]:
    """What happened between two readings."""
    for port in sorted(after.light):
        if before.light.get(port) != after.light[port]:
            yield LightChanged(port, after.light[port])
    known, open_now = ({fault.id: fault for fault in each.faults} for each in (before, after))
    for fault_id in sorted(known.keys() - open_now.keys()):
        yield FaultClosed(fault_id)
    for fault_id in sorted(open_now):
        if known.get(fault_id) != open_now[fault_id]:
            yield FaultOpened(open_now[fault_id])


def _selected(modules: Sequence[Found]) -> Path:
    paths = {found.switch.path if isinstance(found, Look) else Path.UNKNOWN for found in modules}
    return paths.pop() if len(paths) == 1 else Path.UNKNOWN


def _receives(found: Found) -> bool:
    return isinstance(found, Look) and found.receiving == _ALL_LANES


def _faults(module: str, found: Found, failed: Mapping[str, ModuleTroubleError]) -> Iterator[Fault]:
    if isinstance(found, ModuleTroubleError):
        yield _fault(module, found.code, str(found))
        return
    if module in failed:
        yield _fault(module, failed[module].code, str(failed[module]))
    if not found.is_ready:
        yield _fault(module, Trouble.DOWN, "it is not ready any more")
    if found.switch.stuck:
        yield _fault(module, Trouble.SWITCH_STUCK, f"its switch is stuck: {found.switch.stuck}")
    if found.hot:
        yield _fault(module, Trouble.HOT, "it is hotter than it finds safe")
    if found.switch.path.is_external and 0 < found.receiving < _ALL_LANES:
        dark = [str(lane + 1) for lane in range(LANES) if not found.receiving >> lane & 1]
        yield _fault(module, Trouble.DARK_LANES, f"lanes {', '.join(dark)} see no light on {found.switch.path.name}")


def _fault(module: str, code: Trouble, text: str) -> Fault:
    return Fault(f"{module}:{code}", module, _GRAVITY[code], code, f"module {module}: {text}")
