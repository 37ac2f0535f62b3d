// The drawing and the hand on it: pointer, wheel, keys; what is pointed at; when to draw.

import {draw} from "./draw.js";
import {changed} from "./fabric.js";
import {Layout, modulo, Window} from "./geometry.js";
import {GLOW_TIME} from "./marks.js";
import {Pen} from "./pen.js";

const WIDEST = 44; // px between nodes at the closest look
const KEPT = 78; // px outside of the circle for names and signs

export class Stage {
  // on: {choose(name), suppose(name), point(node or null), dismiss()}
  constructor(canvas, on) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.on = on;
    this.fabric = null;
    this.layout = new Layout(1, true);
    this.view = new Window();
    this.marks = {
      selected: null,
      cursor: null,
      hovered: null,
      supposed: new Set(),
      foretold: new Map(),
      glows: new Map(),
      now: 0,
    };
    this.place = 0; // of the keyboard's cursor, also while it is not shown
    this.pen = null; // of the last picture: what was drawn where
    this.due = false;
    this.pointers = new Map();
    this.moved = 0;
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.#listen();
  }

  show(fabric) {
    const now = performance.now();
    for (const position of changed(this.fabric, fabric)) this.marks.glows.set(position, now);
    if (this.fabric === null || this.fabric.size !== fabric.size || this.fabric.closed !== fabric.closed) {
      this.layout = new Layout(fabric.size, fabric.closed);
      this.place = 0;
      this.view.fit();
    }
    this.fabric = fabric;
    this.view.margin = fabric.sectors.length ? KEPT + 24 : KEPT;
    this.drawNow();
  }

  mark(marks) {
    Object.assign(this.marks, marks);
    this.redraw();
  }

  // Soon, with whatever else comes until then.
  redraw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.drawNow();
    });
  }

  drawNow() {
    if (this.fabric === null || this.canvas.width === 0) return;
    const now = performance.now();
    this.marks.now = now;
    for (const [position, since] of this.marks.glows) if (now - since > GLOW_TIME) this.marks.glows.delete(position);
    const ratio = devicePixelRatio || 1;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen = new Pen(this.context, this.fabric, this.layout, this.view);
    draw(this.pen, this.marks);
    this.canvas.dataset.sequence = this.fabric.sequence;
    if (this.marks.glows.size && !this.fading) {
      this.fading = setTimeout(() => {
        this.fading = null;
        this.redraw();
      }, 100);
    }
  }

  #resize() {
    const {width, height} = this.canvas.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    [this.view.width, this.view.height] = [width, height];
    this.drawNow();
  }

  zoom(factor, x = this.view.width / 2, y = this.view.height / 2) {
    const most = Math.max(1, WIDEST / ((this.layout.pitch * this.view.scale) / this.view.zoom));
    this.view.zoomAt(x, y, factor, Math.max(3, most));
    this.redraw();
  }

  // Without a pointer: towards what is chosen, or else where the window looks already.
  zoomIn(factor) {
    const chosen = this.fabric?.node.get(this.marks.selected)?.position ?? this.marks.cursor;
    const looked = this.view.zoom > 1.01 ? this.layout.at(Math.atan2(this.view.y, this.view.x)) : null;
    const angle = this.layout.angle(chosen ?? looked ?? this.place);
    this.zoom(factor);
    if (factor > 1) this.view.centre(angle);
    this.redraw();
  }

  fit() {
    this.view.fit();
    this.redraw();
  }

  // {kind, name} under a point, or null.
  hit(x, y) {
    if (!this.fabric || !this.pen) return null;
    const label = this.pen.labels.find(
      (box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height,
    );
    if (label) return {kind: "ring", name: label.name};
    const {angle, radius} = this.view.fromScreen(x, y);
    const pixels = radius * this.view.scale;
    if (pixels > this.pen.inner - 5 && pixels < this.pen.outer + 46) {
      const position = this.layout.at(angle);
      return position === null ? null : {kind: "node", name: this.fabric.nodes[position].name};
    }
    return this.#hopAt(angle, pixels);
  }

  // A bypass or a dead hop whose arc passes near.
  #hopAt(angle, pixels) {
    const hops = [
      ...this.fabric.dead.map((hop) => [hop, {kind: "hop", name: hop.name}]),
      ...this.fabric.rings.flatMap((ring) =>
        ring.hops.filter((hop) => hop.distance > 1).map((hop) => [hop, {kind: "ring", name: ring.name}]),
      ),
    ];
    for (const [hop, found] of hops) {
      const {angle: middle, depth} = this.pen.apex(hop);
      const off = Math.abs(modulo(angle - middle + Math.PI, 2 * Math.PI) - Math.PI);
      const half = (hop.distance * this.layout.pitch) / 2;
      if (off > half) continue;
      const expected = this.pen.inner - depth * (1 - (off / half) ** 2);
      if (Math.abs(expected - pixels) < 7) return found;
    }
    return null;
  }

  #listen() {
    const {canvas} = this;
    canvas.addEventListener(
      "wheel",
      (wheel) => {
        wheel.preventDefault();
        this.zoom(Math.exp(-wheel.deltaY * (wheel.deltaMode ? 0.05 : 0.0016)), wheel.offsetX, wheel.offsetY);
      },
      {passive: false},
    );
    canvas.addEventListener("pointerdown", (down) => {
      canvas.setPointerCapture(down.pointerId);
      this.pointers.set(down.pointerId, [down.offsetX, down.offsetY]);
      if (this.pointers.size === 1) this.moved = 0;
    });
    canvas.addEventListener("pointermove", (move) => this.#move(move));
    canvas.addEventListener("pointerup", (up) => {
      this.pointers.delete(up.pointerId);
      if (this.moved > 4) return;
      const found = this.hit(up.offsetX, up.offsetY);
      if (found?.kind === "node") this.place = this.fabric.node.get(found.name).position;
      if (found?.kind === "node" && up.shiftKey) this.on.suppose(found.name);
      else if (found) this.on.choose(found.name);
      else this.on.dismiss();
    });
    canvas.addEventListener("pointercancel", (gone) => this.pointers.delete(gone.pointerId));
    canvas.addEventListener("pointerleave", () => this.#hover(null));
    canvas.addEventListener("keydown", (key) => this.#key(key));
    canvas.addEventListener("focus", () => {
      if (canvas.matches(":focus-visible")) this.#go(this.place);
    });
    canvas.addEventListener("blur", () => this.mark({cursor: null}));
  }

  #move(move) {
    const before = this.pointers.get(move.pointerId);
    const now = [move.offsetX, move.offsetY];
    if (!before) {
      this.#hover(this.hit(...now));
      return;
    }
    const others = [...this.pointers].filter(([id]) => id !== move.pointerId).map(([, at]) => at);
    this.pointers.set(move.pointerId, now);
    if (others.length) {
      const apart = ([x, y]) => Math.hypot(x - others[0][0], y - others[0][1]);
      this.zoom(apart(now) / Math.max(1, apart(before)), (now[0] + others[0][0]) / 2, (now[1] + others[0][1]) / 2);
      this.moved = Infinity;
      return;
    }
    this.moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (this.moved > 4) {
      this.view.pan(now[0] - before[0], now[1] - before[1]);
      this.redraw();
    }
  }

  #hover(found) {
    const name = found?.name ?? null;
    this.canvas.classList.toggle("over", found !== null);
    if (name === this.marks.hovered) return;
    this.mark({hovered: name});
    this.on.point(found);
  }

  #key(key) {
    if (!this.fabric || key.ctrlKey || key.metaKey || key.altKey) return;
    const node = this.fabric.nodes[this.place];
    const does = {
      ArrowRight: () => this.#go(this.place + 1),
      ArrowLeft: () => this.#go(this.place - 1),
      ArrowDown: () => this.#go(this.#nextRing(+1)),
      ArrowUp: () => this.#go(this.#nextRing(-1)),
      Home: () => this.#go(0),
      End: () => this.#go(this.fabric.size - 1),
      Enter: () => this.on.choose(node.name),
      r: () => node.ring && this.on.choose(node.ring),
      a: () => this.#go(this.#next((other) => other.verdict !== "HEALTHY")),
      x: () => this.on.suppose(node.name),
      Escape: () => this.on.dismiss(),
      "+": () => this.zoomIn(1.6),
      "=": () => this.zoomIn(1.6),
      "-": () => this.zoomIn(1 / 1.6),
      0: () => this.fit(),
    }[key.key.length === 1 ? key.key.toLowerCase() : key.key];
    if (!does) return;
    key.preventDefault();
    does();
  }

  #next(fits, step = 1) {
    for (let away = 1; away <= this.fabric.size; away += 1) {
      const node = this.fabric.nodes[modulo(this.place + step * away, this.fabric.size)];
      if (fits(node)) return node.position;
    }
    return this.place;
  }

  #nextRing(step) {
    const {ring} = this.fabric.nodes[this.place];
    return this.#next((node) => node.ring && node.ring !== ring, step);
  }

  #go(position) {
    this.place = this.layout.closed
      ? modulo(position, this.fabric?.size ?? 1)
      : Math.min(Math.max(0, position), (this.fabric?.size ?? 1) - 1);
    if (this.fabric) this.on.speak(this.fabric.nodes[this.place]);
    this.reveal(this.place);
    this.mark({cursor: this.place});
  }

  // Bring a node into the window, if it is not.
  reveal(position) {
    const angle = this.layout.angle(position);
    if (!this.view.sees(this.view.toScreen(angle, 1), -40)) {
      this.view.centre(angle);
      this.redraw();
    }
  }
}
