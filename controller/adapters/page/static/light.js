// Light between nodes: along the circle over distance 1, as arcs on its inside over more.

import {hueOf} from "./palette.js";

export function drawRingLight(p, ring, marks) {
  const faded = p.isFaded(ring.name, marks);
  const colour = hueOf(ring.colour);
  for (const hop of ring.hops) {
    const lit = Boolean(hop.lit);
    const look = {colour: lit ? colour : p.colours.quiet, dash: lit ? [] : [3, 3], width: lit ? 3 : 1.5, faded, lit};
    if (hop.distance === 1) along(p, hop, look);
    else drawBypass(p, hop, {...look, number: lit});
  }
}

function along(p, hop, {colour, dash, width, faded}) {
  if (!p.isSeen(hop.start) && !p.isSeen(hop.end)) return;
  const {c, layout} = p;
  c.globalAlpha = faded ? 0.25 : 1;
  c.strokeStyle = colour;
  c.lineWidth = p.pitch < 6 ? p.thick * 0.5 : width + 1;
  c.setLineDash(dash);
  p.arc(layout.angle(hop.start), layout.angle(hop.start) + layout.pitch, p.view.scale);
  c.stroke();
  c.setLineDash([]);
  c.globalAlpha = 1;
}

export function drawBypass(p, hop, {colour, dash, width, faded = false, lit = false, number = false, sign = ""}) {
  if (!p.isSeen(hop.start, 200) && !p.isSeen(hop.end, 200)) return;
  const {c, layout} = p;
  const {angle, depth} = p.apex(hop);
  // Where nodes are hair-thin, an arc is made wide enough to be seen.
  const half = Math.max((hop.distance * layout.pitch) / 2, 5 / p.view.scale);
  const [from, to] = [angle - half, angle + half];
  const [x1, y1] = p.at(from, p.inner + 1);
  const [x2, y2] = p.at(to, p.inner + 1);
  const [ax, ay] = p.at(angle, p.inner - depth);
  // The control point that leads a quadratic curve through the apex.
  const [qx, qy] = [2 * ax - (x1 + x2) / 2, 2 * ay - (y1 + y2) / 2];
  c.globalAlpha = faded ? 0.25 : 1;
  c.beginPath();
  c.moveTo(x1, y1);
  c.quadraticCurveTo(qx, qy, x2, y2);
  if (lit) {
    c.strokeStyle = p.colours.paper;
    c.lineWidth = width + 4;
    c.stroke();
  }
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.setLineDash(dash);
  c.stroke();
  c.setLineDash([]);
  if (sign) p.hopBadge(ax, ay, sign, colour);
  else if (number && p.pitch >= 15)
    p.text(`+${hop.distance}`, ...p.at(angle, p.inner - depth - 10), {
      size: 10,
      align: "center",
      colour: p.colours.quiet,
    });
  c.globalAlpha = 1;
}
