// Elements from data. Text is only ever put in as text, so that no name or reason can become anything else.

export const byId = (id) => document.getElementById(id);

// el("p", {class: "x", onclick: f, "data-a": 1}, "text", child, null, [more])
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(isSomething));
  return element;
}

const isSomething = (child) => child !== null && child !== undefined && child !== false && child !== "";

// New content in place of the old. What had the focus keeps it, and what was unfolded stays so.
export function fill(element, ...children) {
  const held = element.contains(document.activeElement) ? keyOf(document.activeElement) : "";
  const unfolded = new Set([...element.querySelectorAll("details[open]")].map(titleOf));
  element.replaceChildren(...children.flat(Infinity).filter(isSomething));
  for (const details of element.querySelectorAll("details")) details.open = unfolded.has(titleOf(details));
  if (held) [...element.querySelectorAll("button")].find((button) => keyOf(button) === held)?.focus();
}

const keyOf = (element) => element.dataset.subject ?? element.id;
const titleOf = (details) => details.firstChild?.textContent;

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const count = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
