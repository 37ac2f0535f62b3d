"""How boards look: panels with a unit, a meaning and thresholds, in rows; one colour for one state on every board.

Panels of Grafana's core only. A description says what is shown, and what good looks like.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as queries

GOOD, WATCH, BAD, CALM, DIM = "green", "orange", "red", "blue", "#8e8e8e"
COLOURS = {  # by label, and its value
    "verdict": {
        "HEALTHY": GOOD,
        "PROBATION": CALM,
        "SUSPECT": "yellow",
        "UNREACHABLE": WATCH,
        "UNKNOWN": "purple",
        "DEGRADED": "dark-orange",
        "FAILED": BAD,
    },
    "state": {  # of rings, of jobs, and of hops
        "ACTIVE": GOOD,
        "SWITCHING": CALM,
        "VERIFYING": "light-blue",
        "PLANNED": DIM,
        "BROKEN": BAD,
        "RUNNING": GOOD,
        "PLACING": CALM,
        "DEGRADED": WATCH,
        "WAITING": BAD,
        "live": GOOD,
        "untested": WATCH,
        "dead": BAD,
    },
    "class": {"info": CALM, "degraded": WATCH, "fatal": BAD},
}
YES_NO = {1: ("yes", GOOD), 0: ("no", BAD)}
FABRIC = 'fabric=~"$fabric"'
NODE = 'fabric=~"$fabric",node=~"$node"'
_NODE_BOARD = "/d/ringlight-node?var-node=${__value.raw}&${fabric:queryparam}&${datasource:queryparam}"
_SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
_SMALL, _TALL = 4, 8  # rows of Grafana's grid


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel, and the name of its series."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Attributes:
        kind: ``stat``, ``trend``, ``stack`` or ``table``.
        unit: Grafana's name of it.
        width: of 24.
        steps: colours from a value on, the first from below.
        words: what values are called, and their colours.
        columns: of a table, and what they are called.
        empty: what is said in place of nothing.
        alerts: that watch the same thing.
    """

    kind: str
    title: str
    text: str
    queries: tuple[Query, ...]
    unit: str
    width: int = 6
    steps: Sequence[tuple[float | None, str]] = ()
    words: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    empty: str = ""
    alerts: tuple[str, ...] = ()
    decimals: int | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard.

    Attributes:
        rows: panels under a heading.
        variables: queries of label values, by the name of the variable.
    """

    uid: str
    title: str
    text: str
    rows: Mapping[str, Sequence[Panel]]
    variables: Mapping[str, str]


def in_charge(metric: str, matchers: str = "") -> str:
    """A metric of the controller that may act, in parentheses: one that was deposed still shows what it knew."""
    return f"({metric}{{{matchers}{FABRIC}}} and on (instance) ringlight_leader{{{FABRIC}}} == 1)"


def build(board: Board) -> model.Dashboard:
    """The dashboard, as Grafana stores it. The same every time."""
    builder = (
        dashboard.Dashboard(f"Ringlight / {board.title}")
        .uid(board.uid)
        .description(board.text)
        .tags(["ringlight"])
        .refresh("5s")
        .time("now-30m", "now")
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .readonly()
        .link(_boards())
        .link(dashboard.DashboardLink("Live page").type(model.DashboardLinkType.LINK).url("${page}").target_blank(True))
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for name, query in board.variables.items():
        builder.with_variable(_variable(name, query))
    builder.with_variable(_address("page", "Controller's page at", "http://localhost:7480"))
    builder.with_variable(_address("runbooks", "Runbooks at", "https://docs.example.org/ringlight/runbooks"))
    for title, panels in board.rows.items():
        builder.with_row(dashboard.Row(title))
        for panel in panels:
            builder.with_panel(_panel(panel))
    builder.annotation(_woken())
    built = builder.build()
    for number, shown in enumerate(built.panels or (), start=1):
        shown.id_val = number
    return built


def _woken() -> dashboard.AnnotationQuery:
    """When somebody was woken, and by which alert."""
    query = f'ALERTS{{alertstate="firing",severity="page",{FABRIC}}}'
    mark = dashboard.AnnotationQuery().name("Alerts").datasource(_SOURCE).enable(True).hide(False).icon_color(BAD)
    return mark.expr(query)


def _boards() -> dashboard.DashboardLink:
    link = dashboard.DashboardLink("Ringlight").type(model.DashboardLinkType.DASHBOARDS).tags(["ringlight"])
    return link.as_dropdown(True).include_vars(True).keep_time(True)


def _variable(name: str, query: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(name.capitalize())
        .datasource(_SOURCE)
        .query({"query": query, "refId": name})
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(model.VariableOption(selected=True, text="All", value="$__all"))
    )


def _address(name: str, label: str, default: str) -> dashboard.TextBoxVariable:
    return dashboard.TextBoxVariable(name).label(label).default_value(default).hide(model.VariableHide.HIDE_VARIABLE)


_Shown = stat.Panel | timeseries.Panel | table.Panel


def _panel(panel: Panel) -> Builder[model.Panel]:
    shown: _Shown
    match panel.kind:
        case "stat":
            shown = _stat(panel)
        case "table":
            shown = _table(panel)
        case _:
            shown = _trend(panel)
    shown.title(panel.title).description(_description(panel)).datasource(_SOURCE)
    shown.span(panel.width).height(_SMALL if panel.kind == "stat" else _TALL).unit(panel.unit)
    if panel.decimals is not None:
        shown.decimals(panel.decimals)
    if panel.empty:
        shown.no_value(panel.empty)
    if panel.steps:
        steps = [model.Threshold(value, colour) for value, colour in panel.steps]
        shown.thresholds(dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps))
    if panel.words:
        shown.mappings([_words({str(value): word for value, word in panel.words.items()})])
    _colour(shown, panel)
    shown.links([_runbook(alert) for alert in panel.alerts])
    for number, query in enumerate(panel.queries):
        shown.with_target(_target(panel, query, chr(ord("A") + number)))
    return shown


def _colour(shown: _Shown, panel: Panel) -> None:
    """Series that are named by a state have its colour."""
    for label, colours in COLOURS.items():
        if any(f"{{{{{label}}}}}" in query.legend for query in panel.queries):
            for name, colour in colours.items():
                fixed = {"mode": "fixed", "fixedColor": colour}
                shown.override_by_name(name, [model.DynamicConfigValue("color", fixed)])


def _description(panel: Panel) -> str:
    watched = f"\n\nWatched by {', '.join(panel.alerts)}." if panel.alerts else ""
    return panel.text + watched


def _runbook(alert: str) -> dashboard.DashboardLink:
    link = dashboard.DashboardLink(f"Runbook: {alert}").type(model.DashboardLinkType.LINK)
    return link.url(f"${{runbooks}}/{alert}.md").target_blank(True)


def _stat(panel: Panel) -> stat.Panel:
    last = common.ReduceDataOptions().calcs(["lastNotNull"])
    named = any(query.legend for query in panel.queries)
    mode = looks.BigValueTextMode.VALUE_AND_NAME if named else looks.BigValueTextMode.VALUE
    shown = stat.Panel().reduce_options(last).text_mode(mode).graph_mode(looks.BigValueGraphMode.NONE)
    return shown.color_mode(looks.BigValueColorMode.VALUE)


def _table(panel: Panel) -> table.Panel:
    """Named columns only; a verdict has its colour, and a node leads to its own board."""
    columns = {
        "excludeByName": {name: True for name in ("Time", "Value") if name not in panel.columns},
        "indexByName": {name: place for place, name in enumerate(panel.columns)},
        "renameByName": dict(panel.columns),
    }
    shown = table.Panel().show_header(True)
    if len(panel.queries) > 1:  # one row for what they say of the same; their values are called Value #A and so on
        shown.with_transformation(model.DataTransformerConfig("merge", options={}))
    shown.with_transformation(model.DataTransformerConfig("organize", options=columns))
    if "verdict" in panel.columns:
        verdicts = _words({verdict: (verdict, colour) for verdict, colour in COLOURS["verdict"].items()})
        coloured = model.DynamicConfigValue("custom.cellOptions", {"type": "color-text"})
        shown.override_by_name(
            panel.columns["verdict"], [model.DynamicConfigValue("mappings", [verdicts.to_json()]), coloured]
        )
    if "node" in panel.columns:
        link = {"title": "Its modules and GPUs", "url": _NODE_BOARD}
        shown.override_by_name(panel.columns["node"], [model.DynamicConfigValue("links", [link])])
    return shown


def _words(words: Mapping[str, tuple[str, str]]) -> model.ValueMap:
    return model.ValueMap({value: model.ValueMappingResult(word, colour) for value, (word, colour) in words.items()})


def _trend(panel: Panel) -> timeseries.Panel:
    legend = common.VizLegendOptions().display_mode(looks.LegendDisplayMode.LIST)
    tooltip = common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.DESCENDING)
    shown = timeseries.Panel().legend(legend.placement(looks.LegendPlacement.BOTTOM).show_legend(True))
    shown.tooltip(tooltip).line_width(1).fill_opacity(8).show_points(looks.VisibilityMode.NEVER).min(0)
    if panel.kind == "stack":
        shown.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL)).fill_opacity(40)
        shown.line_interpolation(looks.LineInterpolation.STEP_AFTER)
    if panel.unit == "dBm":
        shown = shown.min(-30)
    if panel.steps:
        shown.thresholds_style(common.GraphThresholdsStyleConfig().mode(looks.GraphTresholdsStyleMode.DASHED))
    return shown


def _target(panel: Panel, query: Query, ref: str) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).ref_id(ref).legend_format(query.legend or "__auto")
    target.datasource(_SOURCE)
    if panel.kind == "table":
        return target.instant().format(queries.PromQueryFormat.TABLE)
    return target.instant() if panel.kind == "stat" else target.range()
