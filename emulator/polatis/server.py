"""The socket of an emulated switch: several clients, each line carried out in the order in which it came.

A client that is dropped, or loses its switch to a power cut, finds its connection reset, and may dial again at once, or
when power is back. What it commanded before is done all the same.
"""

import asyncio
import logging

from ringlight.emulator.polatis.instrument import Instrument
from ringlight.emulator.polatis.syntax import shown
from ringlight.emulator.tasks import TaskRegistry
from ringlight.fabric.errors import InvalidError

_log = logging.getLogger(__name__)

_LINE_LIMIT = 1 << 16  # bytes of a line; a client that sends longer ones is cut off
_MOST_CLIENTS = 64


class PolatisServer:
    """Serves one instrument.

    Attributes:
        address: ``HOST:PORT`` at which it listens, once started.
    """

    def __init__(self, instrument: Instrument) -> None:
        self.address = ""
        self._instrument = instrument
        self._clients: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._tasks = TaskRegistry()
        self._server: asyncio.Server | None = None

    async def start(self, address: str) -> None:
        """Listen at ``HOST:PORT``; port 0 takes any.

        Raises:
            InvalidError: it cannot listen there.
        """
        host, _, port = address.rpartition(":")
        try:
            self._server = await asyncio.start_server(self._accept, host.strip("[]"), int(port), limit=_LINE_LIMIT)
        except OSError as error:
            raise InvalidError(
                f"cannot listen at {address}: {error}", hint="give another address, or port 0"
            ) from error
        name, number = self._server.sockets[0].getsockname()[:2]
        self.address = f"[{name}]:{number}" if ":" in name else f"{name}:{number}"

    async def stop(self) -> None:
        """Stop listening and cut every client off."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        self._drop_all()
        await self._tasks.close()
        if server is not None:
            await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= _MOST_CLIENTS or self._server is None:
            writer.transport.abort()
            return
        self._clients[writer] = self._tasks.start(self._serve(reader, writer), name="client of the emulated switch")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read lines until the client leaves or is cut off."""
        try:
            while line := await reader.readline():
                text = line.decode("ascii", errors="replace").strip()
                answer = await self._obey(text)
                if answer is not None and asyncio.get_running_loop().time() >= self._instrument.silent_until:
                    writer.write(f"{answer}\r\n".encode("ascii", errors="replace"))
                    await writer.drain()
                await self._carry_out_orders()
        except (ConnectionError, ValueError) as error:  # a ValueError is a line without an end
            _log.info("a client left: %s", error)
        finally:
            self._clients.pop(writer, None)
            writer.close()

    async def _obey(self, line: str) -> str | None:
        loop = asyncio.get_running_loop()
        _log.debug("<- %s", shown(line))
        steps = self._instrument.obey(line, loop.time())
        try:
            until = next(steps)
            while True:
                await asyncio.sleep(max(0.0, until - loop.time()))
                until = steps.send(loop.time())
        except StopIteration as end:
            answer: str | None = end.value
            return answer
        finally:
            steps.close()

    async def _carry_out_orders(self) -> None:
        orders = self._instrument.take_orders()
        if orders.off_for is not None:
            _log.info("no power for %g s, boot mode %s", orders.off_for, self._instrument.matrix.boot_mode.value)
            self._tasks.start(self._without_power(orders.off_for), name="power cycle of the emulated switch")
        elif orders.drop:
            self._drop_all()

    async def _without_power(self, seconds: float) -> None:
        server, self._server = self._server, None
        if server is None:
            return  # it is off already
        server.close()
        self._drop_all()
        await asyncio.sleep(seconds)
        await self.start(self.address)

    def _drop_all(self) -> None:
        for writer, task in list(self._clients.items()):
            writer.transport.abort()
            task.cancel()
        self._clients.clear()  # a task that had not begun will never do so
