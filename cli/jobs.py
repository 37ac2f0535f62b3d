"""`ringlight jobs`: submit, list, show, resize and release jobs."""

import asyncio
from contextlib import aclosing

import click
from rich.console import Group
from rich.table import Table

from ringlight.cli.changes import confirmed, disturbed, titled
from ringlight.cli.client import ControllerConnection, Peer, controller_options, moments, to_controller
from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.nodes import nodes_table
from ringlight.cli.output import OutputForm, emit, facts, listing, output_option, word
from ringlight.cli.views import View, show, watch_option
from ringlight.fabric.errors import NotFoundError
from ringlight.protos.v1 import fabric_pb2 as pb

COUNT = click.IntRange(min=1, max=2**32 - 1)


@click.group()
def jobs() -> None:
    """Submit, list, show, resize and release jobs."""


@jobs.command()
@controller_options
@output_option
@click.argument("name")
@click.option("--rings", type=COUNT, required=True, help="Rings wanted.")
@click.option("--tp", type=COUNT, required=True, help="GPUs a ring; a multiple of a node's GPUs.")
@click.option("--min-rings", type=COUNT, help="Below this the job cannot run.  [default: as many as --rings]")
@click.option(
    "--priority",
    type=click.IntRange(-(2**31), 2**31 - 1),
    default=0,
    show_default=True,
    help="Higher is planned first.",
)
@click.option("--pinned", is_flag=True, help="Never move a ring of this job that works.")
@click.option(
    "--wait",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Wait so long until the job is RUNNING; exit with 2 when it is not.",
)
def submit(
    peer: Peer,
    output: OutputForm,
    *,
    name: str,
    rings: int,
    tp: int,
    min_rings: int | None,
    priority: int,
    pinned: bool,
    wait: float | None,
) -> ExitCode:
    """Ask for a job of a number of rings.

    The answer comes as soon as the request is accepted; the rings are switched after that. See --wait.
    """
    request = pb.SubmitJobRequest(
        name=name, rings=rings, tp=tp, min_rings=min_rings or 0, priority=priority, pinned=pinned
    )
    job = asyncio.run(_submit(peer, request, wait))
    emit(job, output, lambda: _facts(job))
    return ExitCode.FINE if wait is None or job.state == "RUNNING" else ExitCode.DEGRADED


@jobs.command("list")
@controller_options
@output_option
@watch_option
def list_jobs(peer: Peer, output: OutputForm, *, watch: bool) -> ExitCode:
    """List all jobs."""

    async def fetch(controller: ControllerConnection) -> pb.ListJobsReply:
        return await controller.call(controller.stub.ListJobs, pb.ListJobsRequest())

    return show(View(fetch, _listing), peer, output, watch=watch)


@jobs.command("show")
@controller_options
@output_option
@click.argument("name")
def show_job(peer: Peer, output: OutputForm, name: str) -> ExitCode:
    """Show one job; the table form also lists its rings."""
    job, rings = asyncio.run(_job_and_rings(peer, name))
    emit(job, output, lambda: Group(_facts(job), "", _rings(rings)) if rings.rings else _facts(job))
    return ExitCode.FINE


@jobs.command()
@controller_options
@output_option
@click.argument("name")
@click.option("--rings", type=COUNT, required=True, help="Rings wanted from now on.")
@click.option(
    "--min-rings",
    type=COUNT,
    help="Below this the job cannot run.  [default: unchanged, or as many as --rings if that is less]",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def resize(
    peer: Peer, output: OutputForm, *, name: str, rings: int, min_rings: int | None, dry_run: bool, yes: bool
) -> ExitCode:
    """Give a job another number of rings.

    Growing is refused with exit code 3 when the job would have fewer rings than its minimum. Shrinking releases
    first the rings that carry no light, then those of the highest ranks; the others keep their names. When a ring
    that has nodes would be released or moved, this asks first on a terminal; elsewhere --yes is required.
    """
    request = pb.ResizeJobRequest(name=name, rings=rings, min_rings=min_rings or 0, dry_run=True)
    if dry_run or not yes:
        reply = asyncio.run(_resize(peer, request))
        if dry_run:
            emit(reply, output, lambda: titled(_facts(reply.job), reply.rings, reply.reasons))
            return ExitCode.FINE
        touched = disturbed(reply.rings)
        if touched and not confirmed(
            f"Resize job {name!r} to {rings} rings, and release or move {' '.join(touched)}?",
            doing=f"resizing job {name!r}, which releases or moves {' '.join(touched)},",
            otherwise="nothing was resized",
            yes=yes,
        ):
            return ExitCode.ERROR
    request.dry_run = False
    reply = asyncio.run(_resize(peer, request))
    emit(reply, output, lambda: titled(_facts(reply.job), reply.rings, reply.reasons))
    return ExitCode.FINE


@jobs.command()
@controller_options
@output_option
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def release(peer: Peer, output: OutputForm, *, name: str, yes: bool) -> ExitCode:
    """End a job and give its nodes back.

    Asks first on a terminal; elsewhere --yes is required.
    """
    if not confirmed(
        f"Release job {name!r} and open all its rings?",
        doing=f"releasing job {name!r}",
        otherwise="nothing was released",
        yes=yes,
    ):
        return ExitCode.ERROR
    job = asyncio.run(_release(peer, name))
    emit(job, output, lambda: _facts(job))
    return ExitCode.FINE


async def _submit(peer: Peer, request: pb.SubmitJobRequest, wait: float | None) -> pb.Job:
    async with to_controller(peer) as controller:
        job = await controller.call(controller.stub.SubmitJob, request)
        if wait is not None:
            try:
                async with asyncio.timeout(wait), aclosing(moments(controller)) as looks:
                    async for _ in looks:
                        job = await _job(controller, request.name)
                        if job.state in {"RUNNING", "RELEASED"}:
                            break
            except TimeoutError:
                click.echo(f"job {request.name!r} is not RUNNING after {wait:g} s", err=True)
    return job


async def _job_and_rings(peer: Peer, name: str) -> tuple[pb.Job, pb.ListRingsReply]:
    async with to_controller(peer) as controller:
        job = await _job(controller, name)
        return job, await controller.call(controller.stub.ListRings, pb.ListRingsRequest(job=name))


async def _resize(peer: Peer, request: pb.ResizeJobRequest) -> pb.ResizeJobReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.ResizeJob, request)


async def _release(peer: Peer, name: str) -> pb.Job:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.ReleaseJob, pb.ReleaseJobRequest(name=name))


async def _job(controller: ControllerConnection, name: str) -> pb.Job:
    reply = await controller.call(controller.stub.ListJobs, pb.ListJobsRequest(name=name))
    if not reply.jobs:
        raise NotFoundError(f"there is no job {name!r}", hint="'ringlight jobs list' shows all jobs")
    return reply.jobs[0]


def _listing(reply: pb.ListJobsReply) -> Table:
    return listing(
        ("JOB", "STATE", "ACTIVE", "WANTED", "MIN", "TP", "PRIO", "GEN", "REASON"),
        [
            (
                job.name,
                word(job.state),
                str(job.active),
                str(job.rings),
                str(job.min_rings),
                str(job.tp),
                str(job.priority),
                str(job.generation),
                job.reason,
            )
            for job in reply.jobs
        ],
        free=("JOB", "REASON"),
    )


def _rings(reply: pb.ListRingsReply) -> Table:
    return listing(
        ("RING", "STATE", "NODES"),
        [(ring.name, word(ring.state), " ".join(ring.nodes)) for ring in reply.rings],
        free=("RING", "NODES"),
    )


def _facts(job: pb.Job) -> Table:
    return facts(
        [
            ("job", job.name),
            ("state", word(job.state)),
            ("rings", f"{job.active} active of {job.rings} wanted, at least {job.min_rings}"),
            ("tp", f"{job.tp} GPUs a ring"),
            ("priority", str(job.priority)),
            ("pinned", "yes" if job.pinned else "no"),
            ("generation", str(job.generation)),
            ("reason", job.reason or "-"),
        ]
    )


@jobs.command()
@controller_options
@output_option
@click.argument("name")
def stalled(peer: Peer, output: OutputForm, *, name: str) -> ExitCode:
    """For a job's launcher: say that the job stands still.

    A second witness against nodes of it whose agents are silent while their light is on: they are bypassed. Shows the
    job's nodes that are not HEALTHY; none of them is touched if it speaks.
    """
    reply = asyncio.run(_report_stall(peer, name))
    emit(reply, output, lambda: nodes_table(reply.nodes))
    return ExitCode.FINE


async def _report_stall(peer: Peer, name: str) -> pb.ReportStallReply:
    async with to_controller(peer) as controller:
        return await controller.call(controller.stub.ReportStall, pb.ReportStallRequest(job=name))
