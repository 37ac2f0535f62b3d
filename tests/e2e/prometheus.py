"""A real Prometheus with the rules that are shipped, in a hurry: what takes it minutes takes it seconds here."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

import aiohttp
import pytest
import yaml

from ringlight.emulator.stack import lasting_address

SHIPPED = Path(__file__).parents[2] / "deploy" / "prometheus"
PATIENCE = 60.0  # seconds no healthy test ever waits for
EVERY = 0.2  # seconds between scrapes, and between evaluations
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

needs_prometheus = pytest.mark.skipif(which("prometheus") is None, reason="prometheus (Debian) is not installed")


def hurried(text: str, times: float) -> str:
    """Durations that stand alone, such as `5m` or `[15m]`, that many times as short."""

    def shorter(match: re.Match[str]) -> str:
        return f"{max(1, round(float(match[1]) * _UNITS[match[2]] * 1000 / times))}ms"

    return re.sub(r"(?<![\w.])(\d+)([smh])(?!\w)", shorter, text)


def hurried_rules(times: float) -> dict:
    """The shipped rules: waiting periods and look-backs are shorter, everything else is as it is."""
    rules = yaml.safe_load((SHIPPED / "ringlight.rules.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = hurried(rule["for"], times)
            rule["expr"] = re.sub(r"\[\w+\]", lambda span: hurried(span[0], times), rule["expr"])
    return rules


class Prometheus:
    """One that runs."""

    def __init__(self, address: str, client: aiohttp.ClientSession) -> None:
        self.address = address
        self._client = client

    async def query(self, expression: str) -> list[dict]:
        """The samples that an expression has now: each with `metric` and `value`."""
        async with self._client.get(f"http://{self.address}/api/v1/query", params={"query": expression}) as reply:
            answer = await reply.json()
        assert answer["status"] == "success", (expression, answer)
        return answer["data"]["result"]

    async def until(self, expression: str) -> list[dict]:
        """Wait until an expression has samples."""
        async with asyncio.timeout(PATIENCE):
            while not (samples := await self.query(expression)):  # noqa: ASYNC110
                await asyncio.sleep(EVERY)  # nothing tells of an evaluation
        return samples

    async def firing(self) -> set[str]:
        """The alerts that fire now."""
        return {sample["metric"]["alertname"] for sample in await self.query('ALERTS{alertstate="firing"}')}

    async def until_firing(self, *alerts: str) -> None:
        """Wait until just these alerts fire."""
        fired: set[str] = set()
        try:
            async with asyncio.timeout(PATIENCE):
                while fired != set(alerts):
                    await asyncio.sleep(EVERY)
                    fired = await self.firing()
        except TimeoutError:
            raise AssertionError(f"{sorted(fired)} fire, and {sorted(alerts)} should") from None

    async def fired_within(self, seconds: float) -> set[str]:
        """The alerts that fired at any time lately."""
        samples = await self.query(f'last_over_time(ALERTS{{alertstate="firing"}}[{max(1, round(seconds * 1000))}ms])')
        return {sample["metric"]["alertname"] for sample in samples}


@asynccontextmanager
async def run_prometheus(
    directory: Path, *, controllers: Sequence[str], agents: Sequence[str] = (), hurry: float = 1.0
):
    """Run one over the shipped configuration, with these targets in place of its own."""
    _configure(directory, {"ringlight-controller": controllers, "ringlight-agent": agents}, hurry)
    address = lasting_address()
    with (directory / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "prometheus",
            *("--config.file", directory / "prometheus.yml", "--storage.tsdb.path", directory / "data"),
            *("--web.listen-address", address, "--log.level", "warn"),
            stdout=log,
            stderr=log,
        )
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as client:
            prometheus = Prometheus(address, client)
            await _until_ready(prometheus, client)
            yield prometheus
    finally:
        process.terminate()
        await process.wait()


def _configure(directory: Path, targets: dict[str, Sequence[str]], hurry: float) -> None:
    config = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
    config["global"] = dict.fromkeys(("scrape_interval", "evaluation_interval"), f"{EVERY * 1000:.0f}ms")
    for job in config["scrape_configs"]:
        job.pop("file_sd_configs", None)
        job["static_configs"] = [{"targets": list(targets[job["job_name"]]), "labels": {"fabric": "lab"}}]
        job["scrape_timeout"] = config["global"]["scrape_interval"]
    directory.mkdir()
    (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
    (directory / "ringlight.rules.yml").write_text(yaml.safe_dump(hurried_rules(hurry)))


async def _until_ready(prometheus: Prometheus, client: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                async with client.get(f"http://{prometheus.address}/-/ready") as reply:
                    if reply.status == 200:
                        return
            except aiohttp.ClientError:
                pass  # it does not listen yet
            await asyncio.sleep(0.05)
