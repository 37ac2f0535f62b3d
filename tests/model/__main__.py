"""Explores the big scenarios, some minutes of them: `python -m tests.model`."""

import sys

from tests.model.scenarios import BIG, QUICK


def main() -> int:
    """Explore every scenario; 1 when one of them breaks a rule."""
    broken = 0
    for scenario in (*QUICK, *BIG):
        result = scenario.explore()
        broken += bool(result.broken)
        print(f"{scenario.name}: {result}; {result.seconds:.1f} s", flush=True)  # noqa: T201 - a command's output
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
