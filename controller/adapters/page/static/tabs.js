// The tabs of the panel, as the ARIA pattern has them: arrow keys move, one tab is a stop of the Tab key.

import {byId, setText} from "./dom.js";

export function startTabs(selected) {
  const list = byId("tabs");
  const all = () => [...list.querySelectorAll("[role=tab]")].filter((tab) => !tab.hidden);
  const nameOf = (tab) => tab.id.slice("tab-".length);
  let before = "jobs";

  function select(name) {
    for (const tab of list.querySelectorAll("[role=tab]")) {
      const chosen = nameOf(tab) === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(`pane-${nameOf(tab)}`).hidden = !chosen;
    }
    if (name !== "subject") before = name;
    selected(name);
  }

  list.addEventListener("click", (click) => click.target.role === "tab" && select(nameOf(click.target)));
  list.addEventListener("keydown", (key) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[key.key];
    if (!step) return;
    const tabs = all();
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    select(nameOf(next));
  });
  select("jobs");
  return {
    select,
    // A tab that is there only while it has something to show.
    offer(name, title) {
      const tab = byId(`tab-${name}`);
      setText(tab, title);
      tab.hidden = false;
      select(name);
    },
    drop(name) {
      byId(`tab-${name}`).hidden = true;
      if (!byId(`pane-${name}`).hidden) select(before);
    },
  };
}
