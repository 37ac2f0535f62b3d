// The pen: where things of the fabric are on the screen, and the shapes that everything is made of.

import {palette} from "./palette.js";

const THINNEST = 11; // px of a cell
const THICKEST = 26;

export class Pen {
  constructor(context, fabric, layout, view) {
    this.c = context;
    this.fabric = fabric;
    this.layout = layout;
    this.view = view;
    this.colours = palette();
    this.pitch = layout.pitch * view.scale;
    this.thick = Math.min(THICKEST, Math.max(THINNEST, this.pitch * 0.75));
    this.gap = this.pitch > 5 ? Math.min(5, this.pitch * 0.22) : -0.5; // hair-thin cells overlap, or they would shimmer
    this.outer = view.scale + this.thick / 2;
    this.inner = view.scale - this.thick / 2;
    this.labels = []; // {name, x, y, width, height}: what a pointer may hit
    [this.cx, this.cy] = view.toScreen(0, 0);
  }

  at(angle, pixels) {
    return [this.cx + Math.cos(angle) * pixels, this.cy + Math.sin(angle) * pixels];
  }

  isSeen(position, margin = 60) {
    return this.view.sees(this.at(this.layout.angle(position), this.view.scale), margin);
  }

  arc(from, to, pixels) {
    this.c.beginPath();
    this.c.arc(this.cx, this.cy, pixels, from, to);
  }

  // The apex of a bypass: deeper, the farther it reaches.
  apex(hop) {
    const angle = this.layout.angle(hop.start) + (hop.distance * this.layout.pitch) / 2;
    const span = hop.distance * this.pitch;
    return {angle, depth: Math.min(this.view.scale * 0.45, Math.max(12, 5 + span * 0.34))};
  }

  cellPath(angle, grow = 0) {
    const {c} = this;
    const half = ((this.pitch - this.gap) / 2 + grow) / this.view.scale;
    const [inner, outer] = [this.inner - grow, this.outer + grow];
    c.beginPath();
    if (this.pitch > 8) {
      roundedSector(c, this.cx, this.cy, inner, outer, angle - half, angle + half, Math.min(4, this.pitch * 0.16));
    } else {
      c.arc(this.cx, this.cy, outer, angle - half, angle + half);
      c.arc(this.cx, this.cy, inner, angle + half, angle - half, true);
      c.closePath();
    }
  }

  disc(x, y, radius) {
    this.c.beginPath();
    this.c.arc(x, y, radius, 0, 2 * Math.PI);
    this.c.fill();
  }

  badge(x, y, sign, colour, size) {
    const {c} = this;
    c.fillStyle = this.colours.paper;
    this.disc(x, y, size + 1.5);
    c.fillStyle = colour;
    this.disc(x, y, size);
    this.text(sign, x, y + 0.5, {align: "center", size: size * 1.75, bold: true, colour: this.colours.paper});
  }

  // Square, where that of a node is round.
  hopBadge(x, y, sign, colour) {
    const {c} = this;
    const side = 6;
    c.fillStyle = colour;
    c.strokeStyle = this.colours.paper;
    c.lineWidth = 1.5;
    c.beginPath();
    c.roundRect(x - side, y - side, 2 * side, 2 * side, 2);
    c.fill();
    c.stroke();
    this.text(sign, x, y + 0.5, {size: 11, bold: true, colour: this.colours.paper});
  }

  font(size, bold = false) {
    return `${bold ? 600 : 400} ${size}px ${this.colours.sans}`;
  }

  text(text, x, y, {align = "center", size = 11, bold = false, colour}) {
    const {c} = this;
    c.font = this.font(size, bold);
    c.fillStyle = colour;
    c.textAlign = align;
    c.textBaseline = "middle";
    c.fillText(text, x, y);
  }

  // Along the radius, and never upside down.
  radial(text, angle, pixels, {colour, size, bold, faded}) {
    const {c} = this;
    const flipped = Math.cos(angle) < -0.001;
    c.save();
    c.globalAlpha = faded ? 0.35 : 1;
    c.translate(...this.at(angle, pixels));
    c.rotate(flipped ? angle + Math.PI : angle);
    this.text(text, 0, 0, {align: flipped ? "right" : "left", size, bold, colour});
    c.restore();
  }

  isFaded(ring, {selected}) {
    return selected !== null && this.fabric.ring.has(selected) && selected !== ring;
  }
}

// How a text beside the circle is anchored, so that it grows away from it; or into it.
export function sideOf(angle, inside = false) {
  const across = Math.cos(angle) * (inside ? -1 : 1);
  return {align: across > 0.35 ? "left" : across < -0.35 ? "right" : "center"};
}

function roundedSector(c, cx, cy, inner, outer, from, to, radius) {
  const [atOuter, atInner] = [radius / outer, radius / inner];
  const point = (angle, r) => [cx + Math.cos(angle) * r, cy + Math.sin(angle) * r];
  c.moveTo(...point(from + atOuter, outer));
  c.arc(cx, cy, outer, from + atOuter, to - atOuter);
  c.quadraticCurveTo(...point(to, outer), ...point(to, outer - radius));
  c.lineTo(...point(to, inner + radius));
  c.quadraticCurveTo(...point(to, inner), ...point(to - atInner, inner));
  c.arc(cx, cy, inner, to - atInner, from + atInner, true);
  c.quadraticCurveTo(...point(from, inner), ...point(from, inner + radius));
  c.lineTo(...point(from, outer - radius));
  c.quadraticCurveTo(...point(from, outer), ...point(from + atOuter, outer));
  c.closePath();
}
