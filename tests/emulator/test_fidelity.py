"""Either fidelity, served: whoever drives it over its sockets or files cannot tell."""

from dataclasses import replace
from pathlib import Path as FilePath
from random import Random

import pytest

from ringlight.agents.drivers.cmis.backend import cmis_drivers
from ringlight.agents.drivers.cmis.file import CmisNode, ModuleAddress
from ringlight.agents.ports import CircuitDriver
from ringlight.emulator import eeprom_files
from ringlight.emulator.fidelity import EmulatedHardware, Fidelity, Sockets, emulated_hardware
from ringlight.fabric.circuits import Path
from ringlight.fabric.errors import UnavailableError
from ringlight.fabric.spec import FabricSpec
from ringlight.fabric.wiring import Wiring
from tests.emulator.fuse import needs_fuse

L, P1 = Path.LOOPBACK, Path.PATH_1


@pytest.fixture
def fabric(make_spec) -> FabricSpec:
    """Nodes whose bundles differ in size: one module, and two."""
    spec = make_spec(5, k=2, gpus=4)
    return replace(
        spec, bundles=tuple(replace(bundle, modules=1 + number) for number, bundle in enumerate(spec.bundles))
    )


@pytest.fixture
def sockets(tmp_path: FilePath) -> Sockets:
    return Sockets(tmp_path / "hardware.sock", tmp_path / "modules.sock")


async def assert_moves(emulated: EmulatedHardware, driver: CircuitDriver) -> None:
    """The bundle of two modules goes to a path, all of it, and the other one stays."""
    plant = emulated.plant
    try:
        assert (await driver.open()).fabric == plant.wiring.spec.name
        assert (await driver.read()).circuits == (L, L)
        assert (await driver.switch(1, P1)).path is P1
        assert plant.table(1) == (L, P1)
        readout = await driver.read()
        assert (readout.circuits, readout.faults) == ((L, P1), ())
        assert not any(readout.light.values()), "nobody selects the other end"
    finally:
        await driver.close()


@pytest.mark.parametrize("fidelity", Fidelity)
async def test_an_agent_in_this_process_moves_a_bundle(fabric, sockets, fidelity) -> None:
    async with emulated_hardware(fabric, fidelity, sockets, boot="b", seed=1) as emulated:
        assert f"socket={sockets.hardware}" in emulated.addresses
        assert (f"modules={sockets.modules}" in emulated.addresses) is (fidelity is Fidelity.REGISTERS)
        assert sockets.modules.exists() is (fidelity is Fidelity.REGISTERS)
        driver, _ = emulated.for_agents("n1")
        await assert_moves(emulated, driver)
    assert not sockets.hardware.exists()
    assert not sockets.modules.exists()


@needs_fuse
async def test_the_driver_of_real_modules_moves_a_bundle_over_files(fabric, sockets, tmp_path) -> None:
    files = tmp_path / "modules"
    shown = replace(sockets, files=files)
    async with emulated_hardware(fabric, Fidelity.REGISTERS, shown, boot="b", seed=1) as emulated:
        assert emulated.addresses.endswith(f" files={files}")
        modules = [ModuleAddress(eeprom=files / f"n1-{select}" / "eeprom") for select in range(3)]
        node = CmisNode(bundles=[modules[:1], modules[1:]], poll=0.2)
        await assert_moves(emulated, cmis_drivers({"n1": node}, Wiring(fabric), Random(1))("n1"))
    assert not files.is_mount()


async def test_files_that_cannot_be_shown_leave_no_sockets_behind(fabric, sockets, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(eeprom_files, "_DEVICE", tmp_path / "no-fuse")
    shown = replace(sockets, files=tmp_path / "modules")
    with pytest.raises(UnavailableError, match="no-fuse"):
        async with emulated_hardware(fabric, Fidelity.REGISTERS, shown, boot="b", seed=1):
            pass
    assert not sockets.hardware.exists()
    assert not sockets.modules.exists()


async def test_modules_are_the_same_whenever_the_seed_is(fabric, tmp_path) -> None:
    serials = []
    for number, seed in enumerate((1, 1, 2)):
        sockets = Sockets(tmp_path / f"h{number}.sock", tmp_path / f"m{number}.sock")
        async with emulated_hardware(fabric, Fidelity.REGISTERS, sockets, boot="b", seed=seed) as emulated:
            of_nodes = [emulated.plant.modules(position) for position in range(5)]
            serials.append([module.identity.serial for of_node in of_nodes for module in of_node])
    assert serials[0] == serials[1] != serials[2]
    assert len(set(serials[0])) == 15, "every module has a serial number of its own"
