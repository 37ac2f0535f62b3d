// Names and signs: as many as there is room for.

import {labelStep, middle} from "./geometry.js";
import {sideOf} from "./pen.js";
import {signOf} from "./signs.js";

export function drawSectors(p) {
  const {c, layout} = p;
  const radius = p.outer + labelRoom(p) + 14;
  const half = layout.pitch / 2;
  let free = -Infinity; // where along the circle the last name stood, px
  let beginning = null; // where the first did: on a closed circle the last one comes near it
  for (const {name, first, last} of p.fabric.sectors) {
    const [from, to] = [layout.angle(first) - half, layout.angle(last) + half];
    const space = (to - from) * radius;
    const gap = Math.min(3, space * 0.2) / radius;
    c.strokeStyle = p.colours.line;
    c.lineWidth = 3;
    p.arc(from + gap / 2, to - gap / 2, radius);
    c.stroke();
    const angle = (from + to) / 2;
    const along = angle * radius;
    c.font = p.font(11);
    const need = c.measureText(name).width + 16;
    const apart = Math.max(need, space < need ? 96 : 0);
    if (along - free < apart || (beginning !== null && beginning + 2 * Math.PI * radius - along < apart)) continue;
    if (!p.view.sees(p.at(angle, radius), 80)) continue;
    free = along;
    beginning ??= along;
    p.text(name, ...p.at(angle, radius + 10), {...sideOf(angle), colour: p.colours.quiet});
  }
}

// Space for names and signs outside of the cells.
function labelRoom(p) {
  return p.pitch >= 13 ? 52 : 50;
}

export function drawNodeNames(p, marks) {
  const step = labelStep(p.pitch);
  for (const node of p.fabric.nodes) {
    const named = marks.cursor === node.position || marks.hovered === node.name || marks.selected === node.name;
    if ((node.position % step && !named) || !p.isSeen(node.position, 90)) continue;
    const angle = p.layout.angle(node.position);
    const offset = p.outer + (signOf(node) || step > 1 ? 24 : 9);
    const faded = p.isFaded(node.ring, marks);
    p.radial(node.name, angle, offset, {
      colour: named ? p.colours.ink : p.colours.quiet,
      bold: named,
      faded,
      size: p.pitch > 22 ? 12 : 11,
    });
  }
}

// Gravest last, so that it lies on top where signs touch.
export function drawSigns(p, marks) {
  const odd = p.fabric.nodes.filter((node) => signOf(node) && p.isSeen(node.position));
  const order = ["low", "warn", "bad"];
  odd.sort((a, b) => order.indexOf(signOf(a).tone) - order.indexOf(signOf(b).tone));
  for (const node of odd) {
    const {sign, tone} = signOf(node);
    const angle = p.layout.angle(node.position);
    const size = p.pitch > 12 ? 7.5 : 6;
    const [x, y] = p.at(angle, p.outer + 4 + size);
    p.c.globalAlpha = p.isFaded(node.ring, marks) && tone !== "bad" ? 0.4 : 1;
    p.badge(x, y, sign, p.colours.tones[tone], size);
    p.c.globalAlpha = 1;
  }
}

export function drawRingNames(p, marks) {
  const {c} = p;
  for (const ring of p.fabric.rings) {
    if (!ring.chain.length) continue;
    const angle = middle(ring.chain, p.layout);
    const deepest = Math.max(0, ...ring.hops.filter((hop) => hop.distance > 1).map((hop) => p.apex(hop).depth + 12));
    const [x, y] = p.at(angle, p.inner - deepest - 14);
    c.font = p.font(12, true);
    const width = c.measureText(ring.name).width;
    const chosen = marks.selected === ring.name;
    if ((ring.chain.length * p.pitch < Math.max(44, width * 0.8) && !chosen) || !p.view.sees([x, y], 60)) continue;
    const side = sideOf(angle, true);
    p.text(ring.name, x, y, {
      ...side,
      size: 12,
      bold: true,
      colour: p.isFaded(ring.name, marks) ? p.colours.quiet : p.colours.ink,
    });
    const left = side.align === "right" ? x - width : side.align === "center" ? x - width / 2 : x;
    if (ring.state !== "ACTIVE")
      p.text(ring.state.toLowerCase(), x, y + 14, {...side, size: 11, colour: p.colours.quiet});
    p.labels.push({name: ring.name, x: left - 4, y: y - 10, width: width + 8, height: 20});
  }
}

export function drawMiddle(p) {
  if (p.view.zoom > 1.4 || p.inner < 170) return;
  const {facts} = p.fabric;
  const shape = facts.closed ? "closed" : "open";
  p.text(facts.name, p.cx, p.cy - 12, {align: "center", size: 20, bold: true, colour: p.colours.ink});
  p.text(`${p.fabric.size.toLocaleString("en")} nodes of ${facts.gpus_per_node} GPUs`, p.cx, p.cy + 12, {
    align: "center",
    size: 13,
    colour: p.colours.quiet,
  });
  p.text(`${shape}, hops of ${facts.distances.join(", ")}`, p.cx, p.cy + 31, {
    align: "center",
    size: 13,
    colour: p.colours.quiet,
  });
}
