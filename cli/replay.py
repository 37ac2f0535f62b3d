"""`ringlight emulator replay`: a fault trace through the whole real stack."""

import tempfile
from pathlib import Path

import click
from rich.progress import Progress

from ringlight.cli.exit_codes import ExitCode
from ringlight.cli.foreground import run_in_foreground
from ringlight.cli.output import console
from ringlight.emulator.replay import ReplayReport, ReplaySettings, percentile, replay

_DEFAULTS = ReplaySettings()


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--speed",
    type=click.FloatRange(min=1.0),
    default=_DEFAULTS.speed,
    show_default=True,
    help="Seconds of trace in one second; slower where the stack needs longer.",
)
@click.option("--servers", type=click.IntRange(min=8), default=_DEFAULTS.servers, show_default=True, help="Nodes.")
@click.option("--k", type=click.IntRange(1, 4), default=_DEFAULTS.k, show_default=True, help="Longest hop distance.")
@click.option("--tp", type=click.IntRange(min=8), default=_DEFAULTS.tp, show_default=True, help="GPUs a ring.")
@click.option(
    "--fill",
    type=click.FloatRange(0.1, 1.0),
    default=_DEFAULTS.fill,
    show_default=True,
    help="Share of the nodes that the job takes.",
)
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="Of where the servers stand.")
def replay_command(*, trace: Path, speed: float, servers: int, k: int, tp: int, fill: float, seed: int) -> ExitCode:
    """Feed a fault trace through controller, agents and emulated hardware, in compressed time.

    TRACE is a JSON list of {node_id, event_time (days), event_type (fault_start|fault_end), fault_type {Level, Class,
    Desc}}. One job fills most of the fabric; rings that work are never moved, so a ring finds a spare at hand or waits
    for a repair. Exits with 2 when a ring was touched without need, or light and plan ever differed.
    """
    settings = ReplaySettings(speed=speed, servers=servers, k=k, tp=tp, fill=fill, seed=seed)
    out = console()
    with (
        tempfile.TemporaryDirectory(prefix="ringlight-replay-") as directory,
        Progress(console=out, disable=not out.is_terminal, transient=True) as bar,
    ):
        task = bar.add_task("replaying", total=1.0)
        report = run_in_foreground(
            replay(trace, Path(directory), settings, progress=lambda share: bar.update(task, completed=share))
        )
    for name, value in _lines(report, settings):
        out.print(f"{name:<44}{value}")
    return ExitCode.FINE if report.good else ExitCode.DEGRADED


def _lines(report: ReplayReport, settings: ReplaySettings) -> list[tuple[str, str]]:
    p50, p99, most = (percentile(report.heal_seconds, share) * 1000 for share in (0.5, 0.99, 1.0))
    agreement = "always" if not report.mismatches else f"NOT at {len(report.mismatches)} quiet moments"
    return [
        ("seed", str(settings.seed)),
        ("faults", str(report.faults)),
        ("rings healed", str(report.healed)),
        ("rings that had to wait for a repair", str(report.waited)),
        ("rings of nodes without faults touched", str(report.untouched_rings_touched)),
        ("report to ring ACTIVE, p50 / p99 / max", f"{p50:.1f} / {p99:.1f} / {most:.1f} ms"),
        ("quiet moments", str(report.quiet_moments)),
        ("light equal to plan at quiet moments", agreement),
        ("commands refused by an invariant", str(report.violations)),
        ("wall time", f"{report.wall_seconds:.0f} s"),
    ]
