"""Fabrics for every test: factories, since a test that needs one says what matters about it."""

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from ringlight.controller.settings import HealthSettings, Settings
from ringlight.fabric.circuits import Path
from ringlight.fabric.spec import (
    BundleSpec,
    FabricSpec,
    NodeSpec,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
)
from ringlight.fabric.wiring import Wiring
from tests.world import World

# A shell that starts us in the background lets us ignore Ctrl-C, and our children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about the machine than about the code.
settings.register_profile("ringlight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ringlight")

MakeSpec = Callable[..., FabricSpec]
MakeWiring = Callable[..., Wiring]


def _make_spec(
    nodes: int = 16,
    k: int = 2,
    gpus: int = 4,
    *,
    closed: bool = True,
    name: str = "test",
    edges: Sequence[int] | None = None,
    offsets: Mapping[tuple[int, Path], int] | None = None,
) -> FabricSpec:
    return FabricSpec(
        name=name,
        k=k,
        closed=closed,
        gpus=gpus,
        bundles=default_bundles(k, gpus) if edges is None else tuple(BundleSpec(edge) for edge in edges),
        nodes=tuple(NodeSpec(f"n{position}") for position in range(nodes)),
        fibres=fibres_of_port_map(default_port_map(k) if offsets is None else dict(offsets), nodes, closed=closed),
    )


@cache
def _cached_wiring(nodes: int, k: int, gpus: int, *, closed: bool) -> Wiring:
    return Wiring(_make_spec(nodes, k, gpus, closed=closed))


def _make_wiring(nodes: int = 16, k: int = 2, gpus: int = 4, *, closed: bool = True) -> Wiring:
    return _cached_wiring(nodes, k, gpus, closed=closed)


@pytest.fixture(scope="session")
def make_spec() -> MakeSpec:
    """Nodes n0.. in order. `edges` puts bundles elsewhere, `offsets` is another port map than the default one."""
    return _make_spec


@pytest.fixture(scope="session")
def make_wiring() -> MakeWiring:
    """The wiring of a spec with default bundles and port map; never changed, so the same one for the same numbers."""
    return _make_wiring


@pytest.fixture
def make_world(make_spec: MakeSpec) -> Callable[..., World]:
    """Fabrics without processes, in virtual time; see `tests.world`."""

    def make(
        nodes: int = 16,
        k: int = 2,
        gpus: int = 4,
        *,
        closed: bool = True,
        probation: float = 600.0,
        retest: float = 3600.0,
    ) -> World:
        health = HealthSettings(probation=probation, dead_hop_retest=retest)
        return World(make_spec(nodes, k, gpus, closed=closed), Settings(health=health))

    return make


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """16 nodes, started, with a job of two rings of four nodes."""
    world = make_world().start()
    assert world.submit().error is None
    return world
