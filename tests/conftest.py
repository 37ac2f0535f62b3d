"""Fabrics for every test: factories, since a test that needs one says what matters about it."""

import signal
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ringlight.controller.health.settings import HealthSettings
from ringlight.controller.settings import Settings
from ringlight.fabric.circuits import Path
from ringlight.fabric.spec import (
    BundleSpec,
    FabricSpec,
    NodeSpec,
    default_bundles,
    default_port_map,
    fibres_of_port_map,
    nearest_distances,
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
    distances: Sequence[int] | None = None,
    edges: Sequence[int] | None = None,
    offsets: Mapping[tuple[int, Path], int] | None = None,
) -> FabricSpec:
    distances = nearest_distances(k) if distances is None else tuple(distances)
    port_map = default_port_map(distances) if offsets is None else dict(offsets)
    return FabricSpec(
        name=name,
        distances=distances,
        closed=closed,
        gpus=gpus,
        bundles=default_bundles(len(distances), gpus) if edges is None else tuple(BundleSpec(edge) for edge in edges),
        nodes=tuple(NodeSpec(f"n{position}") for position in range(nodes)),
        fibres=fibres_of_port_map(port_map, nodes, closed=closed),
    )


@cache
def _cached_wiring(nodes: int, distances: tuple[int, ...], gpus: int, *, closed: bool) -> Wiring:
    return Wiring(_make_spec(nodes, gpus=gpus, closed=closed, distances=distances))


def _make_wiring(
    nodes: int = 16, k: int = 2, gpus: int = 4, *, closed: bool = True, distances: Sequence[int] | None = None
) -> Wiring:
    return _cached_wiring(nodes, nearest_distances(k) if distances is None else tuple(distances), gpus, closed=closed)


@pytest.fixture(scope="session")
def make_spec() -> MakeSpec:
    """Nodes n0.. in order.

    `distances` are other hop distances than 1..k, `edges` puts bundles elsewhere, `offsets` is another port map than
    the default one.
    """
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
        distances: Sequence[int] | None = None,
        probation: float = 600.0,
        retest: float = 3600.0,
        **sections: Any,
    ) -> World:
        health = HealthSettings(probation=probation, dead_hop_retest=retest)
        spec = make_spec(nodes, k, gpus, closed=closed, distances=distances)
        return World(spec, Settings(**{"health": health, **sections}))

    return make


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """16 nodes, started, with a job of two rings of four nodes."""
    world = make_world().start()
    assert world.submit().error is None
    return world
