"""`ringlight plan`: what would be done about faults that are only supposed, and cases run through the planner."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ringlight.cli.changes import outlook
from ringlight.cli.client import Peer, controller_options, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import OutputForm, emit, emit_data, facts, listing, output_option, word
from ringlight.controller.planning.vectors import Case, Outcome, run_case
from ringlight.controller.vector_file import load_cases
from ringlight.protos.v1 import fabric_pb2 as pb

_EXAMPLE = "fail=n17,n18,hop=n3+2"


def _read_what_if(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, list[str]]:
    """What to suppose, as it is typed: ``fail=n17,n18,hop=n3+2``; names by ``fail`` and ``hop``."""
    named: dict[str, list[str]] = {"fail": [], "hop": []}
    for value in values:
        key = ""
        for item in value.split(","):
            before, equals, name = item.rpartition("=")
            if equals:
                key = before.strip()
                if key not in named:
                    raise click.BadParameter(f"{key!r} cannot be supposed; write fail= or hop=, such as {_EXAMPLE}")
            if not key:
                raise click.BadParameter(
                    f"what becomes of {name!r}? Write fail= before nodes, hop= before hops: {_EXAMPLE}"
                )
            if not name.strip():
                what = "a node" if key == "fail" else "a hop"
                raise click.BadParameter(f"{what} is missing after {item or ','!r} in {value!r}, such as {_EXAMPLE}")
            named[key].append(name.strip())
    return named


@click.group(invoke_without_command=True)
@controller_options
@output_option
@click.option(
    "--what-if",
    "supposed",
    metavar="fail=NODE,...,hop=HOP,...",
    multiple=True,
    callback=_read_what_if,
    help=f"Suppose that nodes failed and hops went dark at this moment, such as {_EXAMPLE}.",
)
@click.pass_context
def plan(context: click.Context, *, peer: Peer, output: OutputForm, supposed: dict[str, list[str]]) -> ExitCode | None:
    """What the controller would do, now or if something failed.

    Nothing is changed. Shown are the jobs that would be hit or that wait for room, their rings that would change,
    and the reasons. Exits with 2 when a job would have fewer rings than it has now.
    """
    if context.invoked_subcommand is not None:
        if any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in context.params):
            raise click.UsageError(f"give the options of {context.invoked_subcommand!r} after its name, and no others")
        return None
    request = pb.PlanRequest(failed_nodes=supposed["fail"], dark_hops=supposed["hop"])
    reply = asyncio.run(_ask(peer, request))
    emit(reply, output, lambda: Group(*_plan_lines(reply)))
    return ExitCode.DEGRADED if any(job.rings < job.rings_now for job in reply.jobs) else ExitCode.FINE


@plan.command()
@click.argument("file", type=click.Path(path_type=Path))
@output_option
def vectors(file: Path, output: OutputForm) -> ExitCode:
    """Run the placement cases of FILE through the planner.

    Needs no controller. Each case is a small fabric with rings, faults and the best there is; a plan that is worse,
    or that could not be carried out, is a mismatch. Exits with 2 when there are any.
    """
    cases = load_cases(file)
    wrong = [(case, outcome) for case in cases if (outcome := run_case(case)).is_wrong(case)]
    found = {
        "cases": len(cases),
        "mismatches": len(wrong),
        "wrong": [_mismatch(case, outcome) for case, outcome in wrong],
    }
    emit_data(found, output, lambda: Group(*_vector_lines(found)))
    return ExitCode.DEGRADED if wrong else ExitCode.FINE


async def _ask(peer: Peer, request: pb.PlanRequest) -> pb.PlanReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.Plan, request)


def _plan_lines(reply: pb.PlanReply) -> Iterator[RenderableType]:
    if not reply.jobs:
        yield Text("no ring would change, and none waits")
    for job in reply.jobs:
        yield Text.assemble(
            f"job {job.job}: ",
            word(job.state),
            f", {job.rings} of {job.rings_wanted} rings (now {job.rings_now}, at least {job.min_rings}); "
            f"{job.bundles} {'bundle switches' if job.bundles == 1 else 'bundles switch'}",
        )
        yield from outlook([ring.change for ring in job.changes], ())
        for ring in job.changes:
            yield Text(f"{ring.change.ring}: {ring.cause}")
            yield from (Padding(Text(reason), (0, 0, 0, 2), expand=False) for reason in ring.reasons)
        yield from map(Text, job.reasons)
        yield ""
    yield from map(Text, reply.reasons)


def _mismatch(case: Case, outcome: Outcome) -> dict[str, Any]:
    return {
        "case": case.name,
        "expected": {"rings": case.expected.rings, "kept": case.expected.kept},
        "got": {"rings": outcome.rings, "kept": outcome.kept},
        "flaws": list(outcome.flaws),
    }


def _vector_lines(found: dict[str, Any]) -> Iterator[RenderableType]:
    yield facts([("cases", str(found["cases"])), ("mismatches", str(found["mismatches"]))])
    if not found["wrong"]:
        return
    rows = [
        (
            wrong["case"],
            f"{wrong['expected']['rings']} rings, {wrong['expected']['kept']} kept",
            f"{wrong['got']['rings']} rings, {wrong['got']['kept']} kept",
            "; ".join(wrong["flaws"]) or "-",
        )
        for wrong in found["wrong"]
    ]
    yield ""
    yield listing(("CASE", "EXPECTED", "GOT", "FLAWS"), rows, free=("CASE", "FLAWS"))
