"""`ringlight module` over a served emulated module."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from ringlight.cli.exit_codes import ExitCode
from ringlight.emulator.i2c_server import I2cServer
from ringlight.emulator.module.faults import ModuleFault, ModuleFaultKind
from ringlight.emulator.module.module import Module
from ringlight.emulator.module.profile import ModuleIdentity, ModuleProfile
from ringlight.emulator.register_plant import RegisterPlant

Run = Callable[..., Any]


class Bench:
    """Buses that are served by a thread of their own, since a command runs its own event loop."""

    def __init__(self, plant: Callable[[Callable[[], float]], RegisterPlant], socket: Path) -> None:
        self.socket = socket
        self._make = plant
        self._ready: Future[RegisterPlant] = Future()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()))
        self._thread.start()
        self.plant = self._ready.result(10)

    async def _serve(self) -> None:
        plant = self._make(self._loop.time)
        server = I2cServer(plant, self._loop.time)
        plant.moved = server.moved
        server.moved(plant.every_module())
        await server.start(self.socket)
        self._ready.set_result(plant)
        await self._stop.wait()
        await server.stop()

    def now(self) -> float:
        """The time of the modules."""
        return self._loop.time()

    def tell(self) -> None:
        """Let the lines of module 0 of node n0 be seen; from within an action."""
        self.plant.moved([(0, 0)])

    def do(self, action: Callable[[Module], object]) -> None:
        """Let something befall module 0 of node n0."""
        done: Future[None] = Future()

        def act() -> None:
            action(self.plant.modules(0)[0])
            done.set_result(None)

        self._loop.call_soon_threadsafe(act)
        done.result(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def bench(make_wiring: Any, tmp_path: Path) -> Iterator[Bench]:
    def plant(clock: Callable[[], float]) -> RegisterPlant:
        def make(node: str, bundle: int, number: int, now: float) -> Module:
            identity = ModuleIdentity(f"{node}-{bundle}-{number}")
            return Module(identity, profile=ModuleProfile(), seed=1, now=now, scale=0.001)

        return RegisterPlant(make_wiring(5), "boot", make, clock)

    bench = Bench(plant, tmp_path / "modules.sock")
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken modules are given up soon; each transfer is still repeated for a while."""
    monkeypatch.setattr("ringlight.agents.drivers.cmis.bench._PATIENCE", 0.05)


@pytest.fixture
def at(bench: Bench) -> list[str]:
    return ["--socket", str(bench.socket), "--bus", "n0", "--select", "0"]


def test_a_module_is_shown_with_its_lanes(ringlight: Run, at: list[str]) -> None:
    outcome = ringlight("module", "show", *at)

    assert outcome.code == ExitCode.FINE
    assert "OCSTRX-EMU-800G" in outcome.out
    assert outcome.out.count("loopback") == 8
    assert outcome.out.count("ACTIVATED") == 8
    assert "flags: not read" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 100
    assert "longest power up" not in outcome.out
    assert "longest power up" in ringlight("module", "show", "--all", *at).out


def test_programs_get_every_field(ringlight: Run, at: list[str]) -> None:
    outcome = ringlight("module", "show", *at, "-o", "json")
    shown = json.loads(outcome.out)

    assert (shown["driven"], shown["unread"]) == (True, {})
    assert shown["pages"]["page 00h, identity"]["serial number"] == "n0-0-0"
    assert shown["pages"]["page B0h, circuit switch"]["committed path"] == "loopback (all)"
    assert shown["pages"]["page B0h, circuit switch"]["switch flags"] == "not read"
    assert [(lane["lane"], lane["path"], lane["receives"]) for lane in shown["lanes"]] == [
        (number, "loopback", True) for number in range(1, 9)
    ]
    assert {monitor["name"]: monitor["verdict"] for monitor in shown["monitors"]} == dict.fromkeys(
        ("temperature", "supply", "Tx power", "Tx bias", "Rx power"), "fine"
    )


def _fault(kind: ModuleFaultKind, **details: float) -> ModuleFault:
    return ModuleFault(kind, **details)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (_fault(ModuleFaultKind.LASER_WEAK, lanes=1, amount=9.0), ExitCode.FINE, "Tx power low alarm"),
        (_fault(ModuleFaultKind.RECEIVER_WEAK, lanes=2, amount=30.0), ExitCode.FINE, "Rx power low alarm"),
        (_fault(ModuleFaultKind.HOT, amount=45.0), ExitCode.FINE, "high alarm"),
        (_fault(ModuleFaultKind.OLD_REVISION), ExitCode.DEGRADED, "no: it is of CMIS 3.0"),
        (_fault(ModuleFaultKind.BAD_VENDOR), ExitCode.DEGRADED, "may be written to"),
        (_fault(ModuleFaultKind.PAGE_STUCK), ExitCode.DEGRADED, "was selected, and page"),
        (_fault(ModuleFaultKind.PAGE_00_ONLY), ExitCode.DEGRADED, "it shows page 00h instead"),
        (_fault(ModuleFaultKind.BOOT_GARBAGE, seconds=600.0), ExitCode.DEGRADED, "its identifier is FFh"),
        (_fault(ModuleFaultKind.SLOW_WRITE, seconds=60.0), ExitCode.DEGRADED, "it does not acknowledge this"),
        (_fault(ModuleFaultKind.NACK_STORM, amount=0.3), ExitCode.FINE, "loopback"),
    ],
    ids=lambda value: value.kind if isinstance(value, ModuleFault) else "",
)
def test_whatever_is_wrong_is_shown_with_all_that_can_be_read(
    ringlight: Run, bench: Bench, *, at: list[str], fault: ModuleFault, code: ExitCode, said: str
) -> None:
    bench.do(lambda module: module.break_with(fault))
    outcome = ringlight("module", "show", *at)

    assert outcome.code == code
    assert said in outcome.out
    assert "driven" in outcome.out


def test_a_switch_that_lost_its_heater_says_so_to_whoever_takes_its_flags(
    ringlight: Run, bench: Bench, at: list[str]
) -> None:
    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.HEATER_OPEN)))

    assert "heater open" not in ringlight("module", "show", *at).out
    assert "heater open" in ringlight("module", "show", "--flags", *at).out


def test_a_foreign_module_is_shown_with_the_reason(ringlight: Run, bench: Bench, at: list[str]) -> None:
    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.OLD_REVISION)))
    outcome = ringlight("module", "show", *at)

    assert outcome.code == ExitCode.DEGRADED
    assert "no: it is of CMIS 3.0" in outcome.out
    assert "OCSTRX-EMU-800G" in outcome.out
    assert outcome.out.count("ACTIVATED") == 8


def test_raw_bytes_leave_flags_alone_unless_they_are_asked_for(ringlight: Run, bench: Bench, at: list[str]) -> None:
    plain = ringlight("module", "read", "11h", "144", "12", *at)
    assert plain.out.splitlines()[0].startswith("144  .. .. ..")

    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.LASER_WEAK, lanes=1, amount=20.0)))
    first = ringlight("module", "read", "11h", "136", "8", "--flags", *at)
    assert ".." not in first.out.split("  ")[2]


def test_fields_are_named_below_the_bytes(ringlight: Run, at: list[str]) -> None:
    outcome = ringlight("module", "read", "b0h", "--decode", *at)

    assert "4f 43 53 31" in outcome.out
    assert "128  signature: OCS1" in outcome.out


def test_programs_get_bytes_as_numbers(ringlight: Run, at: list[str]) -> None:
    shown = json.loads(ringlight("module", "read", "b0h", "202", "4", "-o", "json", *at).out)

    assert shown == {
        "page": "page B0h, circuit switch",
        "first": 202,
        "bytes": [0, 0, None, 0],
        "fields": {"switch flags": "not read"},
    }


def test_bytes_that_are_those_of_page_00h_are_marked(ringlight: Run, bench: Bench, at: list[str]) -> None:
    assert ringlight("module", "read", "11h", *at).err == ""
    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.PAGE_00_ONLY)))
    outcome = ringlight("module", "read", "11h", *at)

    assert outcome.code == ExitCode.FINE
    assert "page 00h shows the same" in outcome.err


def test_nothing_is_written_but_the_page(ringlight: Run, bench: Bench, at: list[str]) -> None:
    seen: list[bytes] = []

    def listen(module: Module) -> None:
        plain = module.write

        def write(data: bytes, now: float) -> None:
            seen.append(data)
            plain(data, now)

        module.write = write  # type: ignore[method-assign]

    bench.do(listen)
    ringlight("module", "show", *at)
    ringlight("module", "read", "b0h", *at)
    ringlight("module", "watch", "--for", "0.1", *at)

    written = [data for data in seen if len(data) > 1]
    assert written
    assert all(data[0] == 126 and len(data) == 3 for data in written)


def _hot(module: Module) -> None:
    module.break_with(ModuleFault(ModuleFaultKind.HOT, amount=30.0))


def test_changes_are_told_as_they_come(ringlight: Run, bench: Bench, at: list[str]) -> None:
    timer = threading.Timer(0.4, lambda: bench.do(_hot))
    timer.start()
    outcome = ringlight("module", "watch", "--every", "0.1", "--for", "1", *at)
    timer.join()

    lines = outcome.out.splitlines()
    assert outcome.code == ExitCode.FINE
    assert "state READY, lanes ACTIVATED, path loopback, result none, receiving all lanes" in lines[0]
    assert len(lines) == 2
    assert "temperature" in lines[1]
    assert "state" not in lines[1]


def test_an_interrupt_is_not_waited_out(ringlight: Run, bench: Bench, at: list[str]) -> None:
    """The last line comes long before the next look would."""
    timer = threading.Timer(0.5, lambda: bench.do(lambda module: (_hot(module), bench.tell())))
    timer.start()
    outcome = ringlight("module", "watch", "--flags", "--every", "60", "--for", "2", "-o", "json", *at)
    timer.join()

    changes = [json.loads(line) for line in outcome.out.splitlines()]
    assert changes[0]["changed"]["state"] == "READY"
    hot = [change for change in changes[1:] if "temperature" in change["changed"]]
    assert [change["seconds"] < 1.5 for change in hot] == [True]
    assert "temperature high" in hot[0]["changed"]["temperature and supply flags"]


def test_a_module_that_falls_silent_is_told(ringlight: Run, bench: Bench, at: list[str]) -> None:
    dead = ModuleFault(ModuleFaultKind.DEAD)
    timer = threading.Timer(0.5, lambda: bench.do(lambda module: (module.break_with(dead), bench.tell())))
    timer.start()
    outcome = ringlight("module", "watch", "--every", "0.1", "--for", "2", *at)
    timer.join()

    assert outcome.out.splitlines()[-1].endswith("module not readable: it does not answer")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["read", "55h"], "has no such page"),
        (["read", "hello"], "is not a page such as 11h"),
        (["read", "b0h", "12"], "has bytes 128 to 255"),
    ],
)
def test_what_makes_no_sense_is_refused(ringlight: Run, at: list[str], arguments: list[str], said: str) -> None:
    outcome = ringlight("module", *arguments, *at)

    assert outcome.code == ExitCode.ERROR
    assert said in outcome.err


def test_a_dead_module_does_not_answer(
    ringlight: Run, bench: Bench, at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringlight.agents.drivers.cmis.bench.BOOT_PATIENCE", 0.1)
    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.DEAD)))
    outcome = ringlight("module", "show", *at)

    assert outcome.code == ExitCode.ERROR
    assert "nothing is plugged in" in outcome.err
    assert outcome.out == ""


def test_a_file_of_the_kernel_is_looked_at_as_well(ringlight: Run, bench: Bench, tmp_path: Path) -> None:
    """A file as optoe lays it out; where there is no page it shows page 00h."""
    eeprom = tmp_path / "eeprom"

    def copy(module: Module) -> None:
        lower = module.read(128, bench.now(), 0)
        upper = []
        for page in range(256):
            module.write(bytes((126, 0, page)), bench.now())
            upper.append(module.read(128, bench.now(), 128))
        eeprom.write_bytes(lower[:126] + b"\0\0" + b"".join(upper))

    bench.do(copy)
    shown = json.loads(ringlight("module", "show", "--eeprom", str(eeprom), "-o", "json").out)
    absent = ringlight("module", "read", "55h", "--eeprom", str(eeprom))

    assert (shown["driven"], shown["unread"]) == (True, {})
    assert shown["lanes"][7]["path"] == "loopback"
    assert "page 00h shows the same" in absent.err


def test_a_file_that_is_not_there_is_said(ringlight: Run, tmp_path: Path) -> None:
    outcome = ringlight("module", "show", "--eeprom", str(tmp_path / "none"))

    assert outcome.code == ExitCode.ERROR
    assert "cannot be opened" in outcome.err


def test_one_way_to_the_module_is_wanted(ringlight: Run) -> None:
    assert "say which module" in ringlight("module", "show").err
    assert "say which module" in ringlight("module", "show", "--eeprom", "e", "--i2c", "i").err
    assert "say which module" in ringlight("module", "show", "--socket", "s").err
