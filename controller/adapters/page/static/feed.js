// The event stream: resumed where it ended, and never silently dead. A stream without a sign of life counts as lost.

const SILENCE = 6000; // ms: three beats
const PAUSES = [500, 1000, 2000, 5000]; // ms between attempts

export class Feed {
  // on: {event(event), synced(sequence): there is nothing later, reset(), skipped(range), state(state, since, why)}
  constructor(on) {
    this.on = on;
    this.last = null;
    this.failures = 0;
    this.since = null;
    this.source = null;
    this.watchdog = null;
  }

  start() {
    const source = new EventSource(this.last === null ? "/api/events" : `/api/events?after=${this.last}`);
    this.source = source;
    const hear = (kind, take) =>
      source.addEventListener(kind, (message) => {
        this.#alive();
        take(JSON.parse(message.data));
      });
    hear("message", (event) => {
      this.last = event.sequence;
      this.on.event(event);
    });
    hear("synced", ({sequence}) => {
      this.last = sequence;
      this.failures = 0;
      this.since = null;
      this.on.state("live", null, "");
      this.on.synced(sequence);
    });
    hear("reset", () => {
      this.last = null;
      this.on.reset();
    });
    hear("skipped", (range) => this.on.skipped(range));
    hear("ended", ({error}) => this.#lost(error));
    hear("beat", ({sequence}) => this.on.synced(sequence));
    source.addEventListener("error", () => this.#lost(""));
    this.#alive();
  }

  #alive() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.#lost("the controller is silent"), SILENCE);
  }

  #lost(why) {
    if (this.source === null) return;
    this.source.close();
    this.source = null;
    clearTimeout(this.watchdog);
    this.since ??= new Date();
    this.on.state("lost", this.since, why);
    if (!why) this.#ask();
    const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)];
    this.failures += 1;
    setTimeout(() => this.start(), pause);
  }

  // An event source does not tell why it was refused.
  async #ask() {
    const ended = new AbortController();
    try {
      const reply = await fetch("/api/events", {signal: ended.signal});
      if (!reply.ok) this.on.state("lost", this.since, (await reply.json()).error);
    } catch {
      // Nobody answers: there is nothing more to say.
    } finally {
      ended.abort();
    }
  }
}
