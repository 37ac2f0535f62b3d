"""The emulator process: emulated hardware, control service and hosted agents, started and stopped in order."""

import asyncio
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc.aio

from ringlight.emulator.agents import HostedAgents
from ringlight.emulator.control import EmulatorService
from ringlight.emulator.emulation import Emulation
from ringlight.emulator.fidelity import Fidelity, Sockets, emulated_hardware
from ringlight.fabric.spec import FabricSpec
from ringlight.protos.channel import server_options
from ringlight.protos.serving import add_health_and_reflection, bind, set_serving
from ringlight.protos.v1 import emulator_pb2, emulator_pb2_grpc

_STOP_GRACE = 1.0  # seconds for calls in progress to end by themselves
_SERVICES = [emulator_pb2.DESCRIPTOR.services_by_name["EmulatorService"].full_name]


async def run_emulator(
    *,
    fabric: FabricSpec,
    controller: str | None,
    listen: str,
    socket: Path | None,
    nodes_per_agent: int,
    state_dir: Path | None,
    seed: int,
    ready: Callable[[str], None],
    fidelity: Fidelity = Fidelity.FAST,
    module_socket: Path | None = None,
    eeprom_files: Path | None = None,
) -> None:
    """Run an emulated fabric until cancelled; cancellation is the orderly way to stop it.

    Args:
        fabric: what is emulated.
        controller: ``HOST:PORT`` that the hosted agents dial; None hosts none.
        listen: ``HOST:PORT`` of the control service.
        socket: path of the hardware socket; None puts it into a directory that is removed at the end.
        nodes_per_agent: nodes one hosted agent serves; 0 hosts no agents.
        state_dir: where hosted agents keep their state; None forgets it at the end.
        seed: of switching times and jitter.
        ready: called with one line that names control address and socket, before agents start.
        fidelity: whether bundles are objects or made of modules with registers.
        module_socket: path of the socket of module buses, with registers; None as for `socket`.
        eeprom_files: directory that shows the modules as files, with registers; None shows none.

    Raises:
        RinglightError: an address or the socket cannot be used.
    """
    boot = uuid.uuid4().hex[:8]
    async with AsyncExitStack() as exits:
        scratch = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="ringlight-emulator-")))
        places = Sockets(socket or scratch / "hardware.sock", module_socket or scratch / "modules.sock", eeprom_files)
        emulated = await exits.enter_async_context(emulated_hardware(fabric, fidelity, places, boot=boot, seed=seed))
        agents = None
        if controller is not None and nodes_per_agent > 0:
            agents = HostedAgents(
                emulated.plant,
                controller=controller,
                hardware=emulated.for_agents,
                directory=state_dir or scratch / "agents",
                nodes_per_agent=nodes_per_agent,
                boot=boot,
            )
        address = await exits.enter_async_context(_serve(Emulation(emulated.plant, emulated.publish, agents), listen))
        ready(f"ready grpc={address} {emulated.addresses}")
        if agents is not None:
            exits.push_async_callback(agents.stop)
            agents.start()
        await asyncio.Event().wait()


@asynccontextmanager
async def _serve(emulation: Emulation, listen: str) -> AsyncIterator[str]:
    server = grpc.aio.server(options=server_options())
    emulator_pb2_grpc.add_EmulatorServiceServicer_to_server(EmulatorService(emulation), server)
    health = add_health_and_reflection(server, _SERVICES)
    bound = bind(server, listen)
    await server.start()
    await set_serving(health, _SERVICES, serving=True)
    try:
        yield bound
    finally:
        await set_serving(health, _SERVICES, serving=False)
        await server.stop(_STOP_GRACE)
