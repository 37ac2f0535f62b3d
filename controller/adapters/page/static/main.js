// Wires it all together: events come, a snapshot is fetched, everything is shown anew; a choice is explained.

import {byId, clock, setText} from "./dom.js";
import {EventList} from "./events.js";
import {Fabric} from "./fabric.js";
import {Feed} from "./feed.js";
import {NodeTable, remarks, showAttention, showJobs} from "./lists.js";
import {startTheme} from "./palette.js";
import {Snapshots} from "./snapshots.js";
import {Stage} from "./stage.js";
import {Subject} from "./subject.js";
import {showLegend, showSummary, spokenNode} from "./summary.js";
import {startTabs} from "./tabs.js";
import {WhatIf} from "./whatif.js";

let fabric = null;
let chosenFrom = null; // what had the focus when something was chosen

const stage = new Stage(byId("drawing"), {
  choose,
  suppose,
  point: showHover,
  speak: (node) => setText(byId("spoken"), spokenNode(node)),
  dismiss: () => choose(null),
});
const tabs = startTabs((name) => {
  if (name === "nodes") table.update();
});
const table = new NodeTable(choose);
const events = new EventList(choose);
const subject = new Subject(choose);
const whatIf = new WhatIf({marks: (marks) => stage.mark(marks)}, choose);
const snapshots = new Snapshots(take);

function take(snapshot) {
  fabric = new Fabric(snapshot);
  whatIf.fabric = fabric;
  stage.show(fabric);
  showSummary(fabric);
  showLegend(fabric);
  showAttention(fabric, choose);
  showJobs(fabric, choose);
  table.show(fabric);
  document.documentElement.dataset.sequence = fabric.sequence;
  if (subject.name !== null) subject.refresh();
  else if (location.hash.length > 1) choose(decodeURIComponent(location.hash.slice(1)));
}

// Explain something; null closes the explanation.
function choose(name) {
  const kind = name === null ? null : fabric?.kindOf(name);
  stage.mark({selected: kind ? name : null});
  if (!kind) {
    if (subject.name === null) return;
    subject.forget();
    history.replaceState(null, "", location.pathname);
    tabs.drop("subject");
    chosenFrom?.isConnected && chosenFrom.focus();
    chosenFrom = null;
    return;
  }
  if (subject.name === null) chosenFrom = document.activeElement;
  const node = fabric.node.get(name);
  if (node) stage.reveal(node.position);
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  tabs.offer("subject", name);
  subject.show(kind, name);
}

function suppose(name) {
  tabs.select("whatif");
  whatIf.toggle(name);
}

function showHover(found) {
  const node = found?.kind === "node" ? fabric.node.get(found.name) : null;
  const text = node
    ? [spokenNode({...node, reason: ""}), remarks(node)].filter(Boolean).join(" – ")
    : found
      ? `${found.kind} ${found.name}`
      : "";
  byId("hover").hidden = !text;
  setText(byId("hover"), text);
}

function showLink(state, since, why) {
  byId("link").dataset.state = state;
  document.documentElement.dataset.link = state;
  const lost = since && `No live events since ${clock(since.getTime() / 1000)}${why ? `: ${why}` : ""}`;
  setText(byId("link-text"), state === "live" ? "Live" : lost);
  if (why) snapshots.look(); // somebody answers, if not with events
}

const feed = new Feed({
  event(event) {
    events.add(event);
    snapshots.news();
  },
  synced(sequence) {
    if (sequence !== fabric?.sequence) snapshots.look();
  },
  reset() {
    events.clear();
    events.note("the controller began another log");
  },
  skipped: ({from, to}) => events.note(`events ${from} to ${to} are too many to be shown; ringlight events lists them`),
  state: showLink,
});

document.addEventListener("keydown", (key) => {
  if (key.key === "Escape" && !key.defaultPrevented && subject.name !== null) choose(null);
});
for (const [id, does] of [
  ["zoom-in", () => stage.zoomIn(1.6)],
  ["zoom-out", () => stage.zoomIn(1 / 1.6)],
  ["zoom-fit", () => stage.fit()],
]) {
  byId(id).addEventListener("click", does);
}
startTheme(byId("theme"), () => stage.redraw());
feed.start();
snapshots.look();
