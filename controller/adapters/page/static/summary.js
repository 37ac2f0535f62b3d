// The top of the page: the answer, the figures behind it, and what else one must know.

import {byId, el, fill, setText} from "./dom.js";
import {signOf} from "./signs.js";

const WORDS = {yes: "Yes", less: "Yes, with less", soon: "In a moment", unsure: "Not known yet", no: "No"};

export function showSummary(fabric) {
  const {answer, facts} = fabric;
  byId("answer").dataset.word = answer.word;
  setText(byId("answer-word"), WORDS[answer.word] ?? answer.word);
  setText(byId("answer-line"), answer.line);
  setText(byId("fabric-name"), facts.name);
  setText(
    byId("facts"),
    `epoch ${facts.epoch} · generation ${facts.generation} · ${facts.settled ? "at rest" : "changing"}`,
  );
  fill(
    byId("notes"),
    answer.notes.map((note) => el("li", {}, note)),
  );
  byId("notes").hidden = !answer.notes.length;
  fill(
    byId("figures"),
    figures(fabric).map(([name, value, of, tone]) =>
      el("div", {"data-tone": tone}, el("dt", {}, name), el("dd", {}, value, of ? el("small", {}, ` ${of}`) : null)),
    ),
  );
  document.title = `${WORDS[answer.word] ?? answer.word} · ${facts.name} · Ringlight`;
}

const number = (value) => value.toLocaleString("en");

function figures({facts, jobs, gates}) {
  const live = jobs.filter((job) => job.state !== "RELEASED");
  const active = live.reduce((sum, job) => sum + job.active, 0);
  const wanted = live.reduce((sum, job) => sum + job.rings, 0);
  const odd = Object.entries(facts.verdicts).reduce(
    (sum, [verdict, nodes]) => sum + (verdict === "HEALTHY" ? 0 : nodes),
    0,
  );
  const shut = gates.filter((gate) => !gate.open).map((gate) => gate.name);
  return [
    ["Rings lit", number(active), `of ${number(wanted)}`, active < wanted ? "warn" : ""],
    ["GPUs in rings", number(facts.gpus_in_rings), `of ${number(facts.gpus)}`, ""],
    ["Not healthy", number(odd), odd === 1 ? "node" : "nodes", odd ? "warn" : ""],
    ["Spare", number(facts.spares), facts.spares === 1 ? "node" : "nodes", ""],
    ...(facts.gpus_wasted === undefined
      ? []
      : [
          [
            "Wasted",
            number(facts.gpus_wasted),
            facts.gpus_wasted === 1 ? "GPU" : "GPUs",
            facts.gpus_wasted ? "warn" : "",
          ],
        ]),
    [
      "Longest bypass",
      facts.longest_bypass > 1 ? number(facts.longest_bypass) : "none",
      facts.longest_bypass > 1 ? "hops" : "",
      "",
    ],
    ["Gates", shut.length ? shut.join(", ") : "open", shut.length ? "shut" : "", shut.length ? "warn" : ""],
  ];
}

export const spokenNode = (node) =>
  [
    node.name,
    node.verdict.toLowerCase(),
    node.reason,
    node.ring ? `ring ${node.ring}` : node.spare ? "spare" : "in no ring",
    node.overlay,
    node.quarantine && "quarantined",
  ]
    .filter(Boolean)
    .join(", ");

// Only what is in the picture needs explaining; docs/page.md has every sign.
export function showLegend(fabric) {
  const rings = fabric.rings.some((ring) => ring.chain.length);
  const bypasses = fabric.rings.some((ring) => ring.hops.some((hop) => hop.distance > 1));
  const dark = fabric.rings.some((ring) => ring.hops.some((hop) => !hop.lit));
  const signs = new Map(
    fabric.nodes
      .map(signOf)
      .filter(Boolean)
      .map((sign) => [sign.sign, sign]),
  );
  fill(
    byId("legend"),
    rings && row(el("span", {class: "swatch hue-0"}), "node of a ring"),
    fabric.nodes.some((node) => node.spare) && row(el("span", {class: "swatch hollow"}), "spare node"),
    fabric.nodes.some((node) => !node.spare && !node.ring && node.verdict !== "FAILED") &&
      row(el("span", {class: "swatch idle"}), "in no ring, not usable"),
    bypasses && row(el("span", {class: "stroke lit"}), "bypass, lit"),
    dark && row(el("span", {class: "stroke dark"}), "wanted, not lit"),
    fabric.dead.length > 0 && row(el("span", {class: "stroke dead"}), "dead hop"),
    fabric.untested.length > 0 && row(el("span", {class: "stroke untested"}), "untested hop"),
    fabric.strange.length > 0 && row(el("span", {class: "stroke strange"}), "light of no ring"),
    [...signs.values()].map(({sign, tone, means}) => row(el("span", {class: `badge ${tone}`}, sign), means)),
  );
}

const row = (...content) => el("li", {}, content);
