// What stands for what: verdicts and overlays have a sign of their own, so that colour never is the only carrier.

export const VERDICTS = {
  HEALTHY: {sign: "", tone: "fine", means: "healthy"},
  PROBATION: {sign: "↻", tone: "low", means: "well again, not trusted yet"},
  SUSPECT: {sign: "?", tone: "low", means: "silent for a moment"},
  DEGRADED: {sign: "!", tone: "warn", means: "works, and should be looked at"},
  UNKNOWN: {sign: "·", tone: "low", means: "never heard since the start"},
  UNREACHABLE: {sign: "–", tone: "warn", means: "silent, and not proven dead"},
  FAILED: {sign: "×", tone: "bad", means: "failed"},
};

export const OVERLAYS = {
  cordoned: {sign: "C", means: "cordoned: no new ring may take it"},
  draining: {sign: "D", means: "draining: its ring is laid without it"},
  maintenance: {sign: "M", means: "in maintenance"},
  audited: {sign: "A", means: "the cabling audit has it"},
};

export const QUARANTINE = {sign: "Q", means: "quarantined until a person releases it"};

const GRAVITY = ["FAILED", "UNREACHABLE", "DEGRADED", "SUSPECT", "UNKNOWN", "PROBATION", "HEALTHY"];

export const byGravity = (a, b) => GRAVITY.indexOf(a.verdict) - GRAVITY.indexOf(b.verdict) || a.position - b.position;

// The sign that a node carries, or null: what is wrong comes before what somebody laid over it.
export function signOf(node) {
  if (node.verdict !== "HEALTHY") return VERDICTS[node.verdict] ?? {sign: "?", tone: "low", means: node.verdict};
  if (node.quarantine) return {...QUARANTINE, tone: "warn"};
  if (node.overlay) return {...(OVERLAYS[node.overlay] ?? {sign: "?", means: node.overlay}), tone: "low"};
  return null;
}

export const isOdd = (node) => node.verdict !== "HEALTHY" || Boolean(node.overlay) || Boolean(node.quarantine);

export const JOB_TONES = {RUNNING: "fine", PLACING: "low", DEGRADED: "warn", WAITING: "bad", RELEASED: "low"};
export const RING_TONES = {ACTIVE: "fine", PLANNED: "low", SWITCHING: "low", VERIFYING: "low", BROKEN: "bad"};

const BAD_KINDS = new Set([
  "ring-broken",
  "breaker-tripped",
  "deposed",
  "invariant-violation",
  "node-quarantined",
  "store-begun-anew",
]);
const WARN_KINDS = new Set([
  "fault-opened",
  "hop-dead",
  "agent-lost",
  "gate-shut",
  "paused",
  "drift",
  "refused",
  "no-answer",
  "reverted",
  "agent-refused",
  "stalled",
  "node-drain-failed",
]);
const FINE_KINDS = new Set(["ring-active", "fault-closed", "hop-lit", "gate-open", "resumed", "ring-adopted"]);

export function toneOfEvent(event) {
  if (event.kind === "verdict") return VERDICTS[event.data.verdict]?.tone ?? "low";
  if (BAD_KINDS.has(event.kind)) return "bad";
  if (WARN_KINDS.has(event.kind)) return "warn";
  return FINE_KINDS.has(event.kind) ? "fine" : "low";
}
