// Draws the fabric: racks or sub-lines outside, nodes as cells of a ring, light between them, bypasses as arcs inside. All
// of it follows from the fabric, the window and what is pointed at; no picture remembers anything of the one before.

import {drawMiddle, drawNodeNames, drawRingNames, drawSectors, drawSigns} from "./labels.js";
import {drawBypass, drawRingLight} from "./light.js";
import {drawForetold, drawGlows, drawOverview, drawPointed, drawRack} from "./marks.js";
import {hueOf, isBanded} from "./palette.js";

// marks: {selected, cursor, hovered, supposed: Set, foretold: Map(ring -> chain), glows: Map(position -> since), now}
export function draw(p, marks) {
  const {c, view} = p;
  c.clearRect(0, 0, view.width, view.height);
  c.lineCap = "butt";
  c.lineJoin = "round";
  track(p);
  drawSectors(p);
  drawGlows(p, marks);
  for (const ring of p.fabric.rings) drawRingLight(p, ring, marks);
  for (const hop of p.fabric.strange) drawBypass(p, hop, {colour: p.colours.quiet, dash: [2, 3], width: 1.5});
  for (const hop of p.fabric.untested)
    drawBypass(p, hop, {colour: p.colours.tones.warn, dash: [2, 4], width: 1.5, sign: "?"});
  for (const hop of p.fabric.dead)
    drawBypass(p, hop, {colour: p.colours.tones.bad, dash: [5, 4], width: 1.75, sign: "×"});
  for (const node of p.fabric.nodes) cell(p, node, marks);
  drawForetold(p, marks);
  drawNodeNames(p, marks);
  drawSigns(p, marks);
  drawRingNames(p, marks);
  drawMiddle(p);
  drawRack(p, marks);
  drawPointed(p, marks);
  drawOverview(p);
}

function track(p) {
  const {c, layout} = p;
  c.strokeStyle = p.colours.track;
  c.lineWidth = 1;
  const half = layout.pitch / 2;
  p.arc(layout.angle(0) - half, layout.angle(layout.size - 1) + half, p.view.scale);
  c.stroke();
  if (layout.closed) return;
  for (const [angle, text, align] of [
    [layout.angle(0) - half, "first", "left"],
    [layout.angle(layout.size - 1) + half, "last", "right"],
  ]) {
    c.beginPath();
    c.moveTo(...p.at(angle, p.inner - 6));
    c.lineTo(...p.at(angle, p.outer + 6));
    c.stroke();
    p.text(text, ...p.at(angle, p.inner - 18), {align: align === "left" ? "right" : "left", colour: p.colours.quiet});
  }
}

function cell(p, node, marks) {
  if (!p.isSeen(node.position)) return;
  const {c, layout} = p;
  const angle = layout.angle(node.position);
  const ring = p.fabric.ring.get(node.ring);
  p.cellPath(angle);
  if (p.isFaded(node.ring, marks)) {
    c.fillStyle = p.colours.paper; // so that nothing shines through
    c.fill();
    c.globalAlpha = 0.25;
  }
  if (node.verdict === "FAILED") {
    c.fillStyle = p.colours.tones.bad;
    c.fill();
  } else if (ring) {
    ringCell(p, angle, ring);
  } else if (p.pitch < 4) {
    c.fillStyle = node.spare ? p.colours.track : p.colours.edge;
    c.fill();
  } else {
    c.fillStyle = node.spare ? p.colours.paper : p.colours.idle;
    c.fill();
    c.strokeStyle = p.colours.edge;
    c.lineWidth = 1;
    c.stroke();
  }
  c.globalAlpha = 1;
}

function ringCell(p, angle, ring) {
  const {c} = p;
  c.fillStyle = hueOf(ring.colour);
  c.fill();
  if (isBanded(ring.colour)) {
    const half = (p.pitch - p.gap) / 2 / p.view.scale;
    c.strokeStyle = p.colours.paper;
    c.lineWidth = Math.max(2, p.thick * 0.2);
    p.arc(angle - half, angle + half, p.view.scale);
    c.stroke();
  }
  if (ring.state !== "ACTIVE") {
    // Hollow until its light is proven.
    p.cellPath(angle, -Math.min(4, p.pitch * 0.15));
    c.fillStyle = p.colours.paper;
    c.globalAlpha *= 0.65;
    c.fill();
  }
}
