// Colours come from the style sheet, so that dark and light are said in one place. Six hues that people of every colour
// vision tell apart; each a second time with a band through it, so that twelve rings in a row differ.

export const HUES = 6;

let colours = null;

export function palette() {
  if (colours === null) {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    colours = {
      rings: Array.from({length: HUES}, (_, index) => read(`--ring-${index}`)),
      paper: read("--paper"),
      ink: read("--ink"),
      quiet: read("--quiet"),
      line: read("--line"),
      track: read("--track"),
      idle: read("--idle"),
      edge: read("--edge"),
      tones: {fine: read("--fine"), low: read("--quiet"), warn: read("--warn"), bad: read("--bad")},
      focus: read("--focus"),
      sans: read("--sans"),
    };
  }
  return colours;
}

export function forgetPalette() {
  colours = null;
}

export const hueOf = (colour) => palette().rings[colour % HUES];
export const isBanded = (colour) => colour % (2 * HUES) >= HUES;
export const swatch = (colour) => `swatch hue-${colour % HUES}${isBanded(colour) ? " banded" : ""}`;

const THEMES = ["system", "light", "dark"];

// The switch goes round; what was chosen is remembered by the browser.
export function startTheme(button, changed) {
  let theme = THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system";
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    forgetPalette();
    changed();
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("theme", theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
