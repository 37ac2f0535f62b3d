// What the hand points at, what is supposed, what changed a moment ago, and where on the whole the window is.

import {hueOf} from "./palette.js";

export const GLOW_TIME = 2500; // ms that a change shows

export function drawGlows(p, {glows, now}) {
  for (const [position, since] of glows) {
    const left = 1 - (now - since) / GLOW_TIME;
    if (left <= 0 || !p.isSeen(position)) continue;
    const [x, y] = p.at(p.layout.angle(position), p.view.scale);
    p.c.globalAlpha = 0.28 * left;
    p.c.fillStyle = p.colours.focus;
    p.disc(x, y, p.thick * 0.9 + 10);
    p.c.globalAlpha = 1;
  }
}

// A dot outside of every node that stands in the same rack as the one that is pointed at.
export function drawRack(p, {hovered, selected}) {
  const rack = (p.fabric.node.get(hovered) ?? p.fabric.node.get(selected))?.rack;
  if (!rack) return;
  p.c.fillStyle = p.colours.focus;
  for (const node of p.fabric.nodes) {
    if (node.rack !== rack || !p.isSeen(node.position)) continue;
    p.disc(...p.at(p.layout.angle(node.position), p.inner - 7), 2.5);
  }
}

export function drawForetold(p, {supposed, foretold}) {
  const {c} = p;
  for (const [name, chain] of foretold) {
    const ring = p.fabric.ring.get(name);
    c.strokeStyle = ring ? hueOf(ring.colour) : p.colours.ink;
    c.lineWidth = 2;
    c.setLineDash([4, 3]);
    for (const position of chain) {
      if (!p.isSeen(position)) continue;
      p.cellPath(p.layout.angle(position), 3);
      c.stroke();
    }
    c.setLineDash([]);
  }
  for (const position of supposed) {
    if (!p.isSeen(position)) continue;
    const angle = p.layout.angle(position);
    p.cellPath(angle);
    c.fillStyle = p.colours.paper;
    c.fill();
    c.strokeStyle = p.colours.tones.bad;
    c.lineWidth = 1.5;
    c.stroke();
    const [x, y] = p.at(angle, p.view.scale);
    const size = Math.max(4, p.thick * 0.24);
    c.lineWidth = 2.5;
    c.beginPath();
    c.moveTo(x - size, y - size);
    c.lineTo(x + size, y + size);
    c.moveTo(x + size, y - size);
    c.lineTo(x - size, y + size);
    c.stroke();
  }
}

export function drawPointed(p, {selected, cursor, hovered}) {
  const {c} = p;
  const outline = (position, colour, width) => {
    p.cellPath(p.layout.angle(position), p.pitch > 8 ? 2.5 : 3);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.stroke();
  };
  const node = p.fabric.node.get(selected);
  if (node) outline(node.position, p.colours.ink, 2);
  const under = p.fabric.node.get(hovered);
  if (under) outline(under.position, p.colours.ink, 1.25);
  if (cursor !== null) {
    outline(cursor, p.colours.focus, 2.5);
    if (p.pitch < 8) pin(p, cursor);
  }
  if (node && p.pitch < 8) pin(p, node.position);
}

// Where cells are hair-thin, a triangle points at one.
function pin(p, position) {
  const {c} = p;
  const angle = p.layout.angle(position);
  const [x, y] = p.at(angle, p.inner - 4);
  c.fillStyle = p.colours.focus;
  c.beginPath();
  c.moveTo(x, y);
  c.lineTo(...p.at(angle - 6 / p.inner, p.inner - 15));
  c.lineTo(...p.at(angle + 6 / p.inner, p.inner - 15));
  c.fill();
}

// Where on the whole circle the window is, once it does not show all of it.
export function drawOverview(p) {
  const {c, view} = p;
  if (view.zoom < 1.4) return;
  const radius = 34;
  const [x, y] = [view.width - radius - 20, radius + 20];
  c.fillStyle = p.colours.paper;
  c.globalAlpha = 0.85;
  p.disc(x, y, radius + 8);
  c.globalAlpha = 1;
  c.strokeStyle = p.colours.track;
  c.lineWidth = 3;
  c.beginPath();
  c.arc(x, y, radius, p.layout.angle(0), p.layout.angle(p.layout.size - 1));
  c.stroke();
  c.fillStyle = p.colours.tones.bad;
  for (const node of p.fabric.nodes) {
    if (node.verdict !== "FAILED") continue;
    const angle = p.layout.angle(node.position);
    p.disc(x + Math.cos(angle) * radius, y + Math.sin(angle) * radius, 2);
  }
  c.save();
  c.beginPath();
  c.arc(x, y, radius + 10, 0, 2 * Math.PI);
  c.clip();
  const [w, h] = [(view.width / view.scale) * radius, (view.height / view.scale) * radius];
  c.strokeStyle = p.colours.focus;
  c.lineWidth = 1.5;
  c.strokeRect(
    x + view.x * radius - Math.max(6, w) / 2,
    y + view.y * radius - Math.max(6, h) / 2,
    Math.max(6, w),
    Math.max(6, h),
  );
  c.restore();
}
