"""What one look of the live page costs: on the event loop, where decisions wait for it, and in a thread after that."""

import gzip

from bench.engine import IdealFabric
from bench.figures import Figure, median_time
from ringlight.controller.adapters.page.rendering import fabric_to, to_bytes
from ringlight.controller.adapters.page.site import look

_SIZES = (64, 2_048, 10_000)
_TIMES = 15


def measure(*, quick: bool) -> list[Figure]:
    """Measure on fabrics of three sizes; of two when quick."""
    figures = []
    for nodes in _SIZES[: 2 if quick else None]:
        fabric = IdealFabric(nodes)
        now = fabric.fall_silent(0.0)
        shown = look(fabric.state, now, store_trouble="")
        body = to_bytes(fabric_to(shown))
        look_time = median_time(lambda f=fabric, n=now: look(f.state, n, store_trouble=""), times=_TIMES)
        each = median_time(lambda f=fabric: [node.verdict for node in f.state.nodes], times=_TIMES)
        render = median_time(lambda s=shown: _packed(to_bytes(fabric_to(s))), times=_TIMES)
        packed = median_time(lambda b=body: _packed(b), times=_TIMES)
        title = f"{nodes:,} nodes, {len(_packed(body)) / 1000:,.0f} kB packed"
        figures += [
            Figure("page", f"look on the event loop p50, {title}", look_time, each, "each node's verdict"),
            Figure("page", f"document in a thread p50, {title}", render, packed, "packing it"),
        ]
    return figures


def _packed(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=1, mtime=0)
