// Why one node, ring, job or hop is as it is: the explanation, circuits and faults, and its events of the log.

import {byId, el, fill} from "./dom.js";
import {eventLine} from "./events.js";
import {badge, link} from "./lists.js";
import {JOB_TONES, RING_TONES, signOf} from "./signs.js";
import {ask, pathOf} from "./snapshots.js";

const AGAIN = 300; // ms between two looks at the same subject

export class Subject {
  constructor(choose) {
    this.choose = choose;
    this.kind = null;
    this.name = null;
    this.due = null;
  }

  async show(kind, name) {
    const other = name !== this.name;
    [this.kind, this.name] = [kind, name];
    if (other) fill(byId("pane-subject"), el("h2", {}, name), el("p", {class: "quiet"}, "…"));
    try {
      const found = await ask(pathOf(kind, name));
      if (name === this.name) this.#draw(found);
    } catch (error) {
      if (name === this.name) fill(byId("pane-subject"), el("h2", {}, name), el("p", {role: "alert"}, error.message));
    }
  }

  // Something may have changed.
  refresh() {
    if (this.name === null || this.due !== null) return;
    this.due = setTimeout(() => {
      this.due = null;
      if (this.name !== null) this.show(this.kind, this.name);
    }, AGAIN);
  }

  forget() {
    this.kind = this.name = null;
    fill(byId("pane-subject"));
  }

  #draw(found) {
    const parts = {
      node: () => this.#node(found.node),
      ring: () => this.#ring(found.ring),
      job: () => this.#job(found.job),
      hop: () => [],
    }[found.kind]();
    fill(
      byId("pane-subject"),
      el(
        "div",
        {class: "subject", "data-subject": found.subject},
        el("p", {class: "quiet"}, found.kind),
        el("h2", {}, found.subject, " ", stateOf(found)),
        el("button", {type: "button", class: "plain", id: "subject-close", onclick: () => this.choose(null)}, "Close"),
      ),
      el("p", {class: "summary"}, found.summary),
      parts,
      el("h3", {}, "What led to it"),
      found.history.length
        ? el(
            "ol",
            {class: "history"},
            found.history.map((event) => eventLine(event, null)),
          )
        : el("p", {class: "quiet"}, "The log says nothing about it."),
    );
  }

  #node(node) {
    return [
      facts([
        ["Ring", node.ring ? link(node.ring, this.choose) : node.spare ? "none; spare" : "none"],
        ["Rack", node.rack],
        ["Agent", node.agent || "no session"],
        ["Overlay", overlayOf(node)],
        ["Quarantine", node.quarantine],
      ]),
      node.faults.length
        ? [
            el("h3", {}, "Open faults"),
            el(
              "ul",
              {class: "rows"},
              node.faults.map((fault) =>
                el(
                  "li",
                  {},
                  el("strong", {}, fault.component),
                  badge(fault.fault_class.toLowerCase(), {FATAL: "bad", DEGRADED: "warn"}[fault.fault_class]),
                  el(
                    "span",
                    {class: "why"},
                    [fault.code, fault.text, fault.recovery && `recovery: ${fault.recovery}`]
                      .filter(Boolean)
                      .join(" – "),
                  ),
                ),
              ),
            ),
          ]
        : null,
      el("h3", {}, "Circuits"),
      el(
        "table",
        {class: "list circuits"},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["Bundle", "Selects", "Port", "Leads to", "Light"].map((name) => el("th", {scope: "col"}, name)),
          ),
        ),
        el(
          "tbody",
          {},
          node.bundles.map((bundle) => bundleRows(bundle, node.faults)),
        ),
      ),
    ];
  }

  #ring(ring) {
    return [
      facts([
        ["Job", link(ring.job, this.choose)],
        ["Generation", String(ring.generation)],
      ]),
      el("h3", {}, `Chain of ${ring.nodes.length}`),
      ring.nodes.length
        ? el(
            "ol",
            {class: "chain"},
            ring.nodes.map((node, index) =>
              el("li", {}, link(node, this.choose), index < ring.hops.length ? hopMark(ring.hops[index]) : null),
            ),
          )
        : el("p", {class: "quiet"}, "It has no nodes at present."),
      el(
        "details",
        {},
        el("summary", {}, `Rank order of its ${ring.gpus.length} GPUs`),
        el("p", {class: "gpus"}, ring.gpus.join(" ")),
      ),
    ];
  }

  #job(job) {
    return [
      facts([
        ["Rings", `${job.active} lit of ${job.rings}, of ${job.tp} GPUs each; needs ${job.min_rings}`],
        ["Priority", `${job.priority}${job.pinned ? "; pinned" : ""}`],
        ["Generation", String(job.generation)],
      ]),
    ];
  }
}

function stateOf({node, ring, job}) {
  if (node) return badge(node.verdict.toLowerCase(), signOf(node)?.tone ?? "fine");
  if (ring) return badge(ring.state.toLowerCase(), RING_TONES[ring.state]);
  return job ? badge(job.state.toLowerCase(), JOB_TONES[job.state]) : null;
}

function overlayOf({overlay, overlay_reason: reason, overlay_seconds: seconds}) {
  return [overlay, reason, seconds && `${Math.round(seconds)} s left`].filter(Boolean).join(", ");
}

function facts(rows) {
  return el(
    "dl",
    {class: "facts"},
    rows.filter(([, value]) => value).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

function hopMark(hop) {
  const lit = hop.lit ? "lit" : "dark";
  return el(
    "span",
    {class: `hop ${lit}${hop.distance > 1 ? " bypass" : ""}`, title: `${hop.name}, ${lit}`},
    hop.distance > 1 ? `+${hop.distance}` : "–",
    el("span", {class: "hidden"}, lit),
  );
}

const PATHS = {LOOPBACK: "loopback", PATH_1: "path 1", PATH_2: "path 2", DARK: "dark", UNKNOWN: "unknown"};

function bundleRows(bundle, faults) {
  const modules = faults
    .filter((fault) => fault.component.startsWith(`b${bundle.number}.`))
    .map((fault) => fault.component);
  const differs = bundle.observed !== bundle.desired;
  const selects = [
    PATHS[bundle.observed] ?? bundle.observed,
    differs ? el("span", {class: "state warn"}, `should: ${PATHS[bundle.desired]}`) : null,
  ];
  const head = [
    el(
      "th",
      {scope: "row", rowspan: Math.max(1, bundle.ports.length)},
      `b${bundle.number}`,
      el("small", {}, modules.length ? ` ${modules.join(", ")} faulty` : ` ${bundle.modules} modules`),
    ),
    el("td", {rowspan: Math.max(1, bundle.ports.length)}, selects),
  ];
  if (!bundle.ports.length) return [el("tr", {}, head, el("td", {colspan: 3}, "not cabled"))];
  return bundle.ports.map((port, index) =>
    el(
      "tr",
      {},
      index ? null : head,
      el("td", {}, port.name.slice(port.name.indexOf("/") + 1)),
      el("td", {}, port.peer),
      el(
        "td",
        {class: port.light ? "lit" : "", title: port.hop},
        port.dead ? "dead hop" : port.light === null ? "not said" : port.light ? "light" : "dark",
      ),
    ),
  );
}
