// Fetches the snapshot after events, one request at a time and at most ten a second; unchanged ones are not taken in.

const PAUSE = 100; // ms between two looks
const AFTERGLOW = 1000; // ms after the last event: some changes have none of their own
const REGULAR = 10_000; // ms

export class Snapshots {
  constructor(take) {
    this.take = take;
    this.tag = "";
    this.busy = false;
    this.wanted = false;
    this.afterglow = null;
    setInterval(() => this.look(), REGULAR);
  }

  // Something happened: look now, and once more when it is over.
  news() {
    this.look();
    clearTimeout(this.afterglow);
    this.afterglow = setTimeout(() => this.look(), AFTERGLOW);
  }

  async look() {
    this.wanted = true;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.wanted) {
        this.wanted = false;
        await this.#fetch();
        await new Promise((done) => setTimeout(done, PAUSE));
      }
    } finally {
      this.busy = false;
    }
  }

  async #fetch() {
    try {
      const reply = await fetch("/api/fabric", {cache: "no-cache", signal: AbortSignal.timeout(10_000)});
      const tag = reply.headers.get("ETag");
      if (!reply.ok || tag === this.tag) return;
      const snapshot = await reply.json();
      this.tag = tag;
      this.take(snapshot);
    } catch {
      // The stream says that the connection is gone; it asks again when it is back.
    }
  }
}

export async function ask(path) {
  const reply = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(10_000)});
  const document = await reply.json();
  if (!reply.ok) throw new Error([document.error, document.hint].filter(Boolean).join(" – "));
  return document;
}

export const pathOf = (kind, name) => `/api/${kind}s/${name.split("/").map(encodeURIComponent).join("/")}`;
