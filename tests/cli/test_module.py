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

    def do(self, action: Callable[[Module], None]) -> None:
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


@pytest.fixture
def at(bench: Bench) -> list[str]:
    return ["--socket", str(bench.socket), "--bus", "n0", "--select", "0"]


def test_a_module_is_shown_with_its_lanes(ringlight: Run, at: list[str]) -> None:
    outcome = ringlight("module", "show", *at)

    assert outcome.code == ExitCode.FINE
    assert "OCSTRX-EMU-800G" in outcome.out
    assert "loopback (all)" in outcome.out
    assert outcome.out.count("ACTIVATED") == 8


def test_programs_get_every_field(ringlight: Run, at: list[str]) -> None:
    outcome = ringlight("module", "show", *at, "-o", "json")
    shown = json.loads(outcome.out)

    assert shown["driven"] is True
    assert shown["pages"]["page 00h, identity"]["serial number"] == "n0-0-0"
    assert shown["pages"]["page B0h, circuit switch"]["committed path"] == "loopback (all)"
    assert len(shown["lanes"]) == 8
    assert shown["missing"] == []


def test_a_foreign_module_is_shown_with_the_reason(ringlight: Run, bench: Bench, at: list[str]) -> None:
    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.OLD_REVISION)))
    outcome = ringlight("module", "show", *at)

    assert outcome.code == ExitCode.DEGRADED
    assert "no: it is of CMIS 3.0" in outcome.out
    assert "OCSTRX-EMU-800G" in outcome.out


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

    written = [data for data in seen if len(data) > 1]
    assert written
    assert all(data[0] == 126 and len(data) == 3 for data in written)


def test_changes_are_told_as_they_come(ringlight: Run, bench: Bench, at: list[str]) -> None:
    timer = threading.Timer(
        0.4, lambda: bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.HOT, amount=30.0)))
    )
    timer.start()
    outcome = ringlight("module", "watch", "--every", "0.1", "--for", "1", *at)
    timer.join()

    lines = outcome.out.splitlines()
    assert "module state READY" in lines[0]
    assert len(lines) == 2
    assert "temperature" in lines[1]
    assert "module state" not in lines[1]


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
    monkeypatch.setattr("ringlight.cli.module._PATIENCE", 0.1)
    bench.do(lambda module: module.break_with(ModuleFault(ModuleFaultKind.DEAD)))
    outcome = ringlight("module", "show", *at)

    assert outcome.code == ExitCode.ERROR
    assert "the module does not answer" in outcome.err


def test_one_way_to_the_module_is_wanted(ringlight: Run) -> None:
    assert "say which module" in ringlight("module", "show").err
    assert "say which module" in ringlight("module", "show", "--eeprom", "e", "--i2c", "i").err
    assert "say which module" in ringlight("module", "show", "--socket", "s").err
