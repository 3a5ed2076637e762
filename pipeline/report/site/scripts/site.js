// Shows the view that the address names, whenever that changes.
const main = document.getElementById("main");
let turn = 0;
let before = null;

const nav = document.getElementById("views");
const shownViews = Object.keys(VIEWS).filter((name) => name !== "insert" || index.trends.some(hasSla));
const tabs = new Map(shownViews.map((name) => [name, linked(VIEWS[name].title, `#${name}`)]));
nav.append(...tabs.values());
const CARRIED = ["line", "metric", "base", "step", "axis", "last", "from", "to"];

async function render() {
  turn += 1;
  const mine = turn;
  const state = read();
  main.setAttribute("aria-busy", "true");
  let content;
  try {
    content = await VIEWS[state.view].make(state);
  } catch (error) {
    content = [heading("This cannot be shown"), element("p", "", error.message)];
  }
  if (mine !== turn) return;
  const focus = document.activeElement;
  const held = focus && main.contains(focus) && focus.id ? { id: focus.id, at: focus.selectionStart } : null;
  const at = scrollY;
  // What was drawn for the view before is left to be forgotten, and the new one is kept.
  [...drawn].filter((canvas) => main.contains(canvas)).forEach(forgetChart);
  [...longTables].filter((one) => main.contains(one)).forEach((one) => longTables.delete(one));
  main.replaceChildren(...content);
  main.removeAttribute("aria-busy");
  tabs.forEach((tab, name) => {
    tab.href = link(name, Object.fromEntries(CARRIED.filter((key) => state[key]).map((key) => [key, state[key]])));
    if (name === state.view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  });
  const title = main.querySelector("h1");
  document.title = `nightshift: ${title.textContent}`;
  if (before !== null && before !== state.view) {
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
  } else if (before !== null) {
    scrollTo(0, at);
    const same = held && document.getElementById(held.id);
    if (same) {
      same.focus({ preventScroll: true });
      if (same.type === "search") same.setSelectionRange(held.at, held.at);
    }
  }
  before = state.view;
  performance.mark("nightshift-shown");
}

// The colours of the system, or those that were chosen. The style has them once, for the system's
// choice; a choice of one's own puts that rule in force or out of it.
const DARK = "(prefers-color-scheme: dark)";
const darkRule = [...document.styleSheets[0].cssRules].find((rule) => rule instanceof CSSMediaRule && rule.conditionText === DARK);
const theme = document.getElementById("theme");
const remember = (value) => {
  // A browser may forbid pages from disk to remember anything.
  try { if (value === undefined) return localStorage.getItem("nightshift-colours") || ""; localStorage.setItem("nightshift-colours", value); } catch { /* it is asked again */ }
  return "";
};
function colour(choice_) {
  darkRule.media.mediaText = { dark: "all", light: "not all" }[choice_] || DARK;
  document.documentElement.style.colorScheme = choice_ || "";
  drawAll(false);
}
theme.value = remember();
colour(theme.value);
theme.addEventListener("change", () => { remember(theme.value); colour(theme.value); });
matchMedia(DARK).addEventListener("change", () => drawAll(false));

// On paper everything is drawn, in light colours.
addEventListener("beforeprint", () => {
  colour("light");
  longTables.forEach((one) => one.paper(true));
  drawAll(true);
});
addEventListener("afterprint", () => {
  colour(theme.value);
  longTables.forEach((one) => one.paper(false));
});
addEventListener("hashchange", render);
render();
