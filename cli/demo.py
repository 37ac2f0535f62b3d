"""`ringlight demo`: the whole loop on 64 emulated nodes, live."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.foreground import run_in_foreground
from ringlight.cli.output import console
from ringlight.emulator.demo import DemoOutput, DemoReport, StepResult, run_demo
from ringlight.emulator.replay import percentile
from ringlight.emulator.stack import Stack
from ringlight.protos.v1 import fabric_pb2

_SHOWN = {
    "fault-opened",
    "fault-closed",
    "verdict",
    "hop-dead",
    "ring-switching",
    "ring-active",
    "ring-broken",
    "agent-lost",
}


@click.command()
@click.option(
    "--modules",
    type=click.Choice(["fast", "registers"]),
    default="fast",
    show_default=True,
    help="registers: bundles are made of modules that answer as real ones do.",
)
@click.option("--keep", is_flag=True, help="Leave the fabric running at the end, with its addresses printed.")
def demo(*, modules: str, keep: bool) -> ExitCode:
    """Break 64 emulated nodes, and watch the rings heal.

    Starts a controller and an emulator with 64 agents as processes of their own, kills a GPU, powers a node off, cuts
    a fibre, crashes an agent, repairs everything. Exits with 0 when every ring healed and light and plan agree, else
    with 2.
    """
    out = console()
    with tempfile.TemporaryDirectory(prefix="ringlight-demo-") as directory:
        keeper = _keeper(out) if keep else None
        report = run_in_foreground(run_demo(Path(directory), _output(out), modules=modules, keep=keeper))
    _summarise(out, report)
    return ExitCode.FINE if report.good else ExitCode.DEGRADED


def _output(out: Console) -> DemoOutput:
    def started(stack: Stack) -> None:
        out.print(f"live page  http://{stack.http}/\nmetrics    http://{stack.http}/metrics\n")

    def heading(text: str) -> None:
        out.print(Text(text, style="bold"))

    def event(told: fabric_pb2.Event) -> None:
        if told.kind not in _SHOWN:
            return
        line = Text.assemble("  ", (f"{told.kind:<15}", "dim"), f" {told.subject:<8} {told.text}")
        if seconds := told.data.get("heal_seconds"):
            line.append(f" after {float(seconds) * 1000:.1f} ms", style="bold")
        out.print(line, no_wrap=True, overflow="ellipsis")

    def result(step: StepResult) -> None:
        out.print(Text.assemble("  ", ("ok", "green") if step.good else ("WRONG", "bold red"), f" {step.outcome}\n"))

    return DemoOutput(started, heading, event, result)


def _summarise(out: Console, report: DemoReport) -> None:
    table = Table(title="Ringlight demo", box=None if not out.is_terminal else Table().box)
    table.add_column("step")
    table.add_column("what followed")
    table.add_column("evidence to light", justify="right")
    table.add_column("")
    for step in report.steps:
        took = f"{step.seconds * 1000:.1f} ms" if step.seconds is not None else ""
        table.add_row(step.title, step.outcome, took, "ok" if step.good else "WRONG")
    out.print(table)
    p50, p99 = (percentile(report.latencies, share) * 1000 for share in (0.5, 0.99))
    out.print(f"report to ring ACTIVE, {len(report.latencies)} GPUs: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    out.print(f"commands refused by an invariant: {report.violations}")


def _keeper(out: Console) -> Callable[[Stack], Awaitable[None]]:
    async def keep(stack: Stack) -> None:
        out.print(f"controller  {stack.controller}  try: ringlight status --controller {stack.controller}")
        out.print(f"emulator    {stack.emulator}  try: ringlight emulator faults --emulator {stack.emulator}")
        out.print(f"metrics     http://{stack.http}/metrics")
        out.print(f"live page   http://{stack.http}/")
        out.print("Ctrl-C ends it.")
        await asyncio.Event().wait()

    return keep
