// Where things are: the order of nodes as a circle of radius 1, and a window on it. Pure; no canvas in here.

const TURN = 2 * Math.PI;
const GAP = 0.07; // of a turn, at the bottom: an open fabric is a line that is bent round

export class Layout {
  constructor(size, closed) {
    this.size = Math.max(1, size);
    this.closed = closed;
    this.pitch = closed ? TURN / this.size : (TURN * (1 - GAP)) / this.size;
    // Position 0 is at the top of a closed order, and just left of the gap of an open one.
    this.first = closed ? -TURN / 4 : TURN / 4 + (TURN * GAP) / 2 + this.pitch / 2;
  }

  angle(position) {
    return this.first + position * this.pitch;
  }

  // The position at an angle, or null where there is none.
  at(angle) {
    const steps = Math.round(modulo(angle - this.first + this.pitch / 2, TURN) / this.pitch - 0.5);
    if (this.closed) return modulo(steps, this.size);
    return steps >= 0 && steps < this.size ? steps : null;
  }
}

export class Window {
  constructor() {
    this.width = this.height = 1;
    this.zoom = 1;
    this.x = this.y = 0; // of the middle of the window, in radii
    this.margin = 90;
  }

  // The middle is a little to the right where there is room, since the legend is on the left.
  get middle() {
    return this.width / 2 + Math.min(70, Math.max(0, (this.width - this.height) / 2 - 40));
  }

  // Pixels a radius.
  get scale() {
    return Math.max(60, Math.min(this.width, this.height) / 2 - this.margin) * this.zoom;
  }

  toScreen(angle, radius) {
    return [
      (Math.cos(angle) * radius - this.x) * this.scale + this.middle,
      (Math.sin(angle) * radius - this.y) * this.scale + this.height / 2,
    ];
  }

  // {angle, radius} of a point of the screen.
  fromScreen(px, py) {
    const x = (px - this.middle) / this.scale + this.x;
    const y = (py - this.height / 2) / this.scale + this.y;
    return {angle: Math.atan2(y, x), radius: Math.hypot(x, y)};
  }

  zoomAt(px, py, factor, most) {
    const before = [(px - this.middle) / this.scale + this.x, (py - this.height / 2) / this.scale + this.y];
    this.zoom = Math.min(most, Math.max(1, this.zoom * factor));
    this.x = before[0] - (px - this.middle) / this.scale;
    this.y = before[1] - (py - this.height / 2) / this.scale;
    this.keepInView();
  }

  pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.keepInView();
  }

  fit() {
    this.zoom = 1;
    this.x = this.y = 0;
  }

  centre(angle) {
    this.x = Math.cos(angle);
    this.y = Math.sin(angle);
  }

  keepInView() {
    const reach = 1.15 * (1 - 1 / this.zoom);
    const far = Math.hypot(this.x, this.y);
    if (far > reach) {
      this.x *= far ? reach / far : 0;
      this.y *= far ? reach / far : 0;
    }
  }

  sees([x, y], margin = 0) {
    return x > -margin && y > -margin && x < this.width + margin && y < this.height + margin;
  }
}

// The middle of a chain, as a position that may lie between two: chains may wrap round and step back.
export function middle(chain, layout) {
  const x = chain.reduce((sum, position) => sum + Math.cos(layout.angle(position)), 0);
  const y = chain.reduce((sum, position) => sum + Math.sin(layout.angle(position)), 0);
  return Math.atan2(y, x);
}

// How many nodes apart labels stand so that they do not touch: 1, 2, 4, 8 ...
export function labelStep(pitchPixels) {
  if (pitchPixels >= 13) return 1;
  let step = 2;
  while (step * pitchPixels < 40) step *= 2;
  return step;
}

export const modulo = (number, by) => ((number % by) + by) % by;
