"""`ringlight simulate`: whole fabrics in virtual time, with everything that can go wrong."""

import time
from collections.abc import Iterable, Iterator
from itertools import count

import click
from rich.progress import Progress

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.output import console
from ringlight.simulator.runner import Case, Verdict, run
from ringlight.simulator.soak import run_all, smallest


class _Indices(click.ParamType[tuple[int, ...]]):
    """A list of numbers such as ``3,17,42``."""

    name = "indices"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Read it; ``none`` is the empty list."""
        words = [] if value == "none" else str(value).split(",")
        try:
            return tuple(int(word) for word in words)
        except ValueError:
            self.fail("give numbers of operations, such as 3,17,42, or none", param, ctx)


@click.command()
@click.option("--seeds", type=click.IntRange(min=1), default=100, show_default=True, help="How many runs.")
@click.option("--first-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the first run.")
@click.option("--nodes", type=click.IntRange(min=0), default=64, show_default=True, help="Of the fabric; 0: 10 to 64.")
@click.option("--operations", type=click.IntRange(min=0), default=200, show_default=True, help="That come over a run.")
@click.option("--processes", type=click.IntRange(min=0), default=0, help="Side by side.  [default: one a core]")
@click.option("--endless", is_flag=True, help="Go on with further seeds until one fails, or Ctrl-C.")
@click.option("--seed", type=click.IntRange(min=0), help="Only this run, and tell of it.")
@click.option("--only", type=_Indices(), metavar="N,N,...", help="With --seed: only these operations of it.")
def simulate(
    *,
    seeds: int,
    first_seed: int,
    nodes: int,
    operations: int,
    processes: int,
    endless: bool,
    seed: int | None,
    only: tuple[int, ...] | None,
) -> ExitCode:
    """Run whole fabrics in virtual time, and judge what happens.

    The real engine and the real decisions of agents, over emulated hardware: faults that overlap and flap, links that
    delay, hold up and cut, agents and controllers that crash with and without their files, stalls, clock jumps, two
    controllers at once, full disks, and operators. After every step an independent judge looks for broken invariants
    (I1 to I7); at the end, when everything is repaired, every ring that can exist must. Exits with 1 when a seed
    failed, and prints the one command that repeats it with the fewest operations.
    """
    if seed is not None:
        return _one(Case(seed, nodes, operations, only))
    if only is not None:
        raise click.UsageError("--only needs --seed")
    chosen: Iterable[int] = count(first_seed) if endless else range(first_seed, first_seed + seeds)
    cases = (Case(number, nodes, operations) for number in chosen)
    began = time.monotonic()
    verdicts: list[Verdict] = []
    failed: list[Verdict] = []
    with Progress(console=console(), disable=not console().is_terminal, transient=True) as bar:
        task = bar.add_task("simulating", total=None if endless else seeds)
        for verdict in run_all(cases, processes) if not endless else _until_failure(cases, processes):
            bar.advance(task)
            verdicts.append(verdict)
            if not verdict.good:
                failed.append(verdict)
    for verdict in failed:
        _tell_failure(verdict)
    _tell_sum(verdicts, failed, time.monotonic() - began)
    return ExitCode.ERROR if failed else ExitCode.FINE


def _until_failure(cases: Iterator[Case], processes: int) -> Iterator[Verdict]:
    """In portions, since a pool takes all it is given."""
    while True:
        portion = [next(cases) for _ in range(64)]
        for verdict in run_all(portion, processes):
            yield verdict
            if not verdict.good:
                return


def _one(case: Case) -> ExitCode:
    verdict = run(case)
    for operation in verdict.operations:
        click.echo(str(operation))
    click.echo(f"{verdict.steps} steps, {verdict.commands} commands, {verdict.seconds:.0f} virtual seconds")
    for problem in verdict.problems:
        click.echo(problem)
    click.echo("nothing was wrong" if verdict.good else f"{len(verdict.problems)} things were wrong")
    return ExitCode.FINE if verdict.good else ExitCode.ERROR


def _tell_failure(verdict: Verdict) -> None:
    least = smallest(verdict)
    click.echo(f"seed {verdict.case.seed} failed: {verdict.problems[0]}")
    click.echo(f"  repeat it with the fewest operations: {least.case.command}")
    for operation in least.operations:
        click.echo(f"    {operation}")
    for problem in least.problems:
        click.echo(f"    -> {problem}")


def _tell_sum(verdicts: list[Verdict], failed: list[Verdict], seconds: float) -> None:
    lines = [
        ("seeds", f"{len(verdicts)}, from {verdicts[0].case.seed}"),
        ("operations", str(sum(len(verdict.operations) for verdict in verdicts))),
        ("steps", str(sum(verdict.steps for verdict in verdicts))),
        ("commands", str(sum(verdict.commands for verdict in verdicts))),
        ("bundles switched", str(sum(verdict.writes for verdict in verdicts))),
        ("false bypasses", str(sum(verdict.false_bypasses for verdict in verdicts))),
        ("virtual time", f"{sum(verdict.seconds for verdict in verdicts) / 3600:.1f} h"),
        ("wall time", f"{seconds:.1f} s"),
        ("seeds that failed", ", ".join(str(verdict.case.seed) for verdict in failed) or "none"),
    ]
    for name, value in lines:
        click.echo(f"{name:<20}{value}")
