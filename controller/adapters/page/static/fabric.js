// The snapshot, made ready to be drawn: nodes with their positions, rings by name, hops with their rings.

export class Fabric {
  constructor(snapshot) {
    this.sequence = snapshot.sequence;
    this.answer = snapshot.answer;
    this.facts = snapshot.fabric;
    this.gates = snapshot.gates;
    this.jobs = snapshot.jobs;
    this.rings = snapshot.rings;
    this.nodes = snapshot.nodes.map((node, position) => ({ring: "", rack: "", reason: "", ...node, position}));
    this.strange = snapshot.strange_hops;
    this.dead = snapshot.dead_hops;
    this.untested = snapshot.untested_hops;
    this.size = this.nodes.length;
    this.closed = snapshot.fabric.closed;
    this.ring = new Map(this.rings.map((ring) => [ring.name, ring]));
    this.node = new Map(this.nodes.map((node) => [node.name, node]));
    this.sectors = sectorsOf(this.nodes);
  }

  kindOf(name) {
    if (this.node.has(name)) return "node";
    if (this.ring.has(name)) return "ring";
    if (this.jobs.some((job) => job.name === name)) return "job";
    return name.includes("+") ? "hop" : null;
  }
}

// Stretches of the order to be marked outside of it. Where racks are cabled one after another those are the racks;
// where neighbours stand in different racks they are the sub-lines, each of which visits every rack once.
function sectorsOf(nodes) {
  if (!nodes.some((node) => node.rack)) return [];
  const interleaved = nodes.every((node, position) => position === 0 || node.rack !== nodes[position - 1].rack);
  const sectors = [];
  let racks = new Set();
  for (const {rack, position} of nodes) {
    const goesOn = sectors.length && (interleaved ? !racks.has(rack) : racks.has(rack));
    if (!goesOn) {
      sectors.push({name: interleaved ? `sub-line ${sectors.length}` : rack, first: position, last: position});
      racks = new Set();
    }
    racks.add(rack);
    sectors.at(-1).last = position;
  }
  return sectors;
}

// Nodes that look different than before: their positions.
export function changed(before, after) {
  if (before === null || before.size !== after.size) return [];
  return after.nodes
    .filter((node, position) => {
      const then = before.nodes[position];
      return then.verdict !== node.verdict || then.ring !== node.ring || then.overlay !== node.overlay;
    })
    .map((node) => node.position);
}
