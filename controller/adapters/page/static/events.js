// The event list: newest first, bounded, with a filter and a pause. While it is paused, events are counted and kept.

import {byId, clock, count, el, fill, setText} from "./dom.js";
import {link} from "./lists.js";
import {toneOfEvent} from "./signs.js";

const KEPT = 1000; // events in memory
const SHOWN = 150; // lines on the page

export class EventList {
  constructor(choose) {
    this.choose = choose;
    this.events = []; // oldest first
    this.paused = false;
    this.held = 0;
    this.due = false;
    byId("event-filter").addEventListener("input", () => this.draw());
    byId("event-pause").addEventListener("click", () => this.pause(!this.paused));
  }

  add(event) {
    this.events.push(event);
    if (this.events.length > KEPT) this.events.shift();
    if (this.paused) this.held += 1;
    this.#soon();
  }

  note(text) {
    this.add({kind: "note", subject: "", text, time: Date.now() / 1000, data: {}, sequence: 0});
  }

  clear() {
    this.events = [];
    this.held = 0;
    this.draw();
  }

  pause(paused) {
    this.paused = paused;
    this.held = 0;
    byId("event-pause").setAttribute("aria-pressed", String(paused));
    this.#button();
    this.draw();
  }

  #button() {
    setText(
      byId("event-pause"),
      this.paused ? `Go on${this.held ? ` (${count(this.held, "new one")})` : ""}` : "Pause",
    );
  }

  #soon() {
    if (this.due) return;
    this.due = true;
    setTimeout(() => {
      this.due = false;
      if (this.paused) this.#button();
      else this.draw();
    }, 100);
  }

  draw() {
    const wanted = byId("event-filter").value.trim().toLowerCase();
    const upTo = this.paused ? this.events.length - this.held : this.events.length;
    const lines = [];
    for (let index = upTo - 1; index >= 0 && lines.length < SHOWN; index -= 1) {
      const event = this.events[index];
      if (wanted && !`${event.kind} ${event.subject} ${event.text}`.toLowerCase().includes(wanted)) continue;
      lines.push(eventLine(event, this.choose));
    }
    fill(byId("events"), lines.length ? lines : el("li", {class: "quiet"}, "None."));
  }
}

export function eventLine(event, choose) {
  return el(
    "li",
    {class: "event", "data-kind": event.kind, "data-sequence": event.sequence},
    el(
      "time",
      {datetime: new Date(event.time * 1000).toISOString(), title: new Date(event.time * 1000).toLocaleString("en-GB")},
      clock(event.time),
    ),
    el(
      "p",
      {title: event.text},
      el("span", {class: `kind ${toneOfEvent(event)}`}, event.kind),
      " ",
      event.subject && choose ? [link(event.subject, choose), " "] : null,
      el("span", {class: "why"}, event.text),
    ),
  );
}
