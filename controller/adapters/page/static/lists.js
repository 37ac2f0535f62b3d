// Jobs, what needs attention, and the table of nodes: the drawing in words.

import {byId, count, el, fill, setText} from "./dom.js";
import {swatch} from "./palette.js";
import {byGravity, isOdd, JOB_TONES, RING_TONES, signOf} from "./signs.js";

const MOST_ODD = 40; // shown; the table has them all
const MOST_CHIPS = 96; // rings of one job

// A button that explains something.
export function link(name, choose, ...content) {
  return el(
    "button",
    {type: "button", class: "link", "data-subject": name, onclick: () => choose(name)},
    content.length ? content : name,
  );
}

export function ringChip(ring, choose) {
  return el(
    "button",
    {
      type: "button",
      class: "chip",
      "data-subject": ring.name,
      "data-state": ring.state,
      title: `${ring.state.toLowerCase()}${ring.cause ? `: ${ring.cause}` : ""}`,
      onclick: () => choose(ring.name),
    },
    el("span", {class: swatch(ring.colour), "aria-hidden": "true"}),
    ring.name.slice(ring.name.lastIndexOf("/") + 1),
    ring.state === "ACTIVE" ? null : el("small", {}, ring.state.toLowerCase()),
  );
}

export const badge = (text, tone) => el("span", {class: `state ${tone ?? "low"}`}, text);

export function showJobs(fabric, choose) {
  fill(
    byId("jobs"),
    el("h2", {}, "Jobs"),
    fabric.jobs.length
      ? null
      : el("p", {class: "quiet"}, "None. ", el("code", {}, "ringlight jobs submit"), " asks for rings."),
    fabric.jobs.map((job) => {
      const rings = fabric.rings.filter((ring) => ring.job === job.name);
      return el(
        "article",
        {class: "job", "data-job": job.name},
        el("h3", {}, link(job.name, choose), badge(job.state.toLowerCase(), JOB_TONES[job.state])),
        el(
          "p",
          {class: "quiet"},
          `${count(job.rings, "ring")} of ${job.tp} GPUs, needs ${job.min_rings}; priority ${job.priority}`,
          job.pinned && "; pinned",
        ),
        job.state === "RUNNING" ? null : el("p", {}, job.reason),
        el(
          "div",
          {class: "chips"},
          rings.slice(0, MOST_CHIPS).map((ring) => ringChip(ring, choose)),
        ),
        rings.length > MOST_CHIPS
          ? el("p", {class: "quiet"}, `and ${count(rings.length - MOST_CHIPS, "ring")} more`)
          : null,
      );
    }),
  );
}

export function showAttention(fabric, choose) {
  const nodes = fabric.nodes.filter(isOdd).sort(byGravity);
  const rings = fabric.rings.filter((ring) => ring.state === "BROKEN");
  const rows = [
    ...rings.map((ring) => row(ring.name, badge("broken", RING_TONES.BROKEN), ring.cause, choose)),
    ...nodes.slice(0, MOST_ODD).map((node) => nodeRow(node, choose)),
    ...fabric.dead.map((hop) => row(hop.name, badge("dead hop", "bad"), "no ring is led over it", choose)),
    ...fabric.untested.map((hop) =>
      row(hop.name, badge("untested hop", "warn"), "was dead, and was not seen lit since", choose),
    ),
  ];
  fill(
    byId("attention"),
    el("h2", {}, "Needs attention"),
    rows.length
      ? el("ul", {class: "rows"}, rows)
      : el("p", {class: "quiet"}, "Nothing: every node is healthy, and no fibre is dead."),
    nodes.length > MOST_ODD
      ? el("p", {class: "quiet"}, `and ${count(nodes.length - MOST_ODD, "node")} more: see Nodes`)
      : null,
  );
}

function nodeRow(node, choose) {
  const sign = signOf(node);
  const word =
    node.verdict === "HEALTHY" ? (node.quarantine ? "quarantined" : node.overlay) : node.verdict.toLowerCase();
  return row(node.name, badge(word, sign.tone), remarks(node), choose, {
    "data-node": node.name,
    "data-verdict": node.verdict,
  });
}

function row(name, state, text, choose, attributes = {}) {
  return el("li", attributes, link(name, choose), state, el("span", {class: "why"}, text));
}

export function remarks(node) {
  return [
    node.reason,
    node.overlay && `${node.overlay}${node.overlay_reason ? `: ${node.overlay_reason}` : ""}`,
    node.quarantine && `quarantined: ${node.quarantine}`,
  ]
    .filter(Boolean)
    .join("; ");
}

// Rows are kept and changed in place: at 2,048 nodes an event touches a few of them.
export class NodeTable {
  constructor(choose) {
    this.choose = choose;
    this.rows = new Map();
    this.fabric = null;
    byId("node-filter").addEventListener("input", () => this.filter());
    byId("node-abnormal").addEventListener("change", () => this.filter());
  }

  show(fabric) {
    this.fabric = fabric;
    if (!byId("pane-nodes").hidden) this.update();
  }

  update() {
    if (this.fabric === null) return;
    const names = this.fabric.nodes.map((node) => node.name);
    if (names.length !== this.rows.size || names.some((name) => !this.rows.has(name))) {
      this.rows = new Map(this.fabric.nodes.map((node) => [node.name, this.#newRow(node)]));
      fill(
        byId("nodes"),
        [...this.rows.values()].map(({element}) => element),
      );
    }
    for (const node of this.fabric.nodes) this.#fillRow(this.rows.get(node.name), node);
    this.filter();
  }

  #newRow(node) {
    const cells = {verdict: el("td"), ring: el("td"), remarks: el("td")};
    const element = el(
      "tr",
      {"data-node": node.name},
      el("th", {scope: "row"}, link(node.name, this.choose)),
      cells.verdict,
      cells.ring,
      cells.remarks,
    );
    return {element, cells, said: ""};
  }

  #fillRow(row, node) {
    const said = JSON.stringify(node);
    if (row.said === said) return;
    row.said = said;
    row.element.dataset.verdict = node.verdict;
    fill(row.cells.verdict, badge(node.verdict.toLowerCase(), signOf(node)?.tone ?? "fine"));
    fill(row.cells.ring, node.ring ? link(node.ring, this.choose) : node.spare ? "spare" : "");
    setText(row.cells.remarks, [remarks(node), node.rack && `rack ${node.rack}`].filter(Boolean).join("; "));
    row.text = `${node.name} ${node.verdict} ${node.ring} ${node.rack} ${remarks(node)}`.toLowerCase();
    row.odd = isOdd(node);
  }

  filter() {
    const wanted = byId("node-filter").value.trim().toLowerCase();
    const odd = byId("node-abnormal").checked;
    let shown = 0;
    for (const row of this.rows.values()) {
      row.element.hidden = (odd && !row.odd) || (wanted !== "" && !row.text.includes(wanted));
      shown += row.element.hidden ? 0 : 1;
    }
    setText(byId("nodes-count"), `${shown.toLocaleString("en")} of ${count(this.rows.size, "node")}`);
  }
}
