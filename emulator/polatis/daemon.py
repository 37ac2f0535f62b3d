"""The process of an emulated matrix switch."""

import asyncio
from collections.abc import Callable

from ringlight.emulator.polatis.instrument import Instrument
from ringlight.emulator.polatis.matrix import BootMode, Matrix
from ringlight.emulator.polatis.server import PolatisServer


async def run_polatis(
    *,
    inputs: int,
    outputs: int,
    monitors: bool,
    boot_mode: str,
    serial: str,
    listen: str,
    seed: int,
    ready: Callable[[str], None],
) -> None:
    """Run an emulated switch until cancelled; cancellation is the orderly way to stop it.

    Args:
        inputs: ingresses.
        outputs: egresses.
        monitors: it can measure power.
        boot_mode: ``DARK``, ``REST`` or ``AUT``.
        serial: number it says it has.
        listen: ``HOST:PORT``.
        seed: of losses and of the time that moves take.
        ready: called with one line that names the address.

    Raises:
        RinglightError: the address cannot be used.
    """
    matrix = Matrix(inputs, outputs, seed=seed)
    matrix.boot_mode = BootMode(boot_mode)
    series = "N-OST" if monitors else "I-OST"
    server = PolatisServer(Instrument(matrix, f"{series}-{inputs}x{outputs}-LA1-DMHNS", serial))
    await server.start(listen)
    try:
        ready(f"ready scpi={server.address}")
        await asyncio.Event().wait()
    finally:
        await server.stop()
