// What if these nodes failed? The controller's own planner answers; nothing is applied.

import {byId, count, el, fill} from "./dom.js";
import {badge, link} from "./lists.js";
import {JOB_TONES} from "./signs.js";
import {ask} from "./snapshots.js";

export class WhatIf {
  // on: {marks({supposed, foretold})}
  constructor(on, choose) {
    this.on = on;
    this.choose = choose;
    this.fabric = null;
    this.asked = 0;
    byId("suppose").addEventListener("submit", (submit) => {
      submit.preventDefault();
      this.foretell();
    });
    byId("suppose-clear").addEventListener("click", () => {
      byId("supposed").value = "";
      this.foretell();
    });
  }

  get names() {
    return [
      ...new Set(
        byId("supposed")
          .value.split(/[\s,]+/)
          .filter(Boolean),
      ),
    ];
  }

  toggle(name) {
    const names = this.names;
    byId("supposed").value = (names.includes(name) ? names.filter((other) => other !== name) : [...names, name]).join(
      ", ",
    );
    this.foretell();
  }

  async foretell() {
    this.asked += 1;
    const question = this.asked;
    const {names} = this;
    this.#mark([]);
    if (!names.length) {
      fill(byId("foretold"));
      return;
    }
    try {
      const plan = await ask(`/api/plan?fail=${names.map(encodeURIComponent).join(",")}`);
      if (question === this.asked) this.#draw(names, plan);
    } catch (error) {
      if (question === this.asked) fill(byId("foretold"), el("p", {role: "alert"}, error.message));
    }
  }

  #mark(changes) {
    const positions = this.names
      .map((name) => this.fabric?.node.get(name)?.position)
      .filter((position) => position !== undefined);
    const chains = changes.map(({ring, chain}) => [ring, chain.map((name) => this.fabric.node.get(name).position)]);
    this.on.marks({supposed: new Set(positions), foretold: new Map(chains)});
  }

  #draw(names, plan) {
    const changes = plan.jobs.flatMap((job) => job.changes);
    this.#mark(changes);
    fill(
      byId("foretold"),
      el(
        "p",
        {class: "supposition"},
        `If ${names.join(", ")} failed now, as of event ${plan.sequence}. Nothing is applied.`,
      ),
      plan.reasons.map((reason) => el("p", {class: "quiet"}, reason)),
      plan.jobs.length ? plan.jobs.map((job) => this.#job(job)) : el("p", {}, "No ring would move."),
    );
  }

  #job(job) {
    return el(
      "article",
      {class: "job", "data-foretold": job.name},
      el("h3", {}, link(job.name, this.choose), badge(job.state.toLowerCase(), JOB_TONES[job.state])),
      el(
        "p",
        {},
        `${job.rings} of ${count(job.rings_wanted, "ring")} would have nodes (now ${job.rings_now}); `,
        `${count(job.bundles, "bundle")} would switch.`,
      ),
      job.reasons.map((reason) => el("p", {class: "quiet"}, reason)),
      job.changes.map((change) =>
        el(
          "section",
          {class: "change", "data-ring": change.ring},
          el("h4", {}, link(change.ring, this.choose)),
          el("p", {class: "quiet"}, change.cause),
          chain("now", change.former, change.chain, "gone"),
          change.chain.length
            ? chain("then", change.chain, change.former, "new")
            : el("p", {}, "It would wait: there is no other chain for it."),
          change.reasons.length
            ? el(
                "details",
                {},
                el("summary", {}, "Reasons"),
                el(
                  "ul",
                  {},
                  change.reasons.map((reason) => el("li", {}, reason)),
                ),
              )
            : null,
        ),
      ),
    );
  }
}

// A chain, with what the other one does not have marked.
function chain(title, nodes, others, mark) {
  const known = new Set(others);
  return el(
    "p",
    {class: "nodes"},
    el("span", {class: "quiet"}, `${title} `),
    nodes.map((node) => [el(known.has(node) ? "span" : mark === "gone" ? "del" : "ins", {}, node), " "]),
  );
}
