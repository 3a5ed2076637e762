// Shows the view that the address names, whenever that changes.
const main = document.getElementById("main");
let turn = 0;
let before = null;

const tabs = new Map([...document.querySelectorAll("#views a[data-view]")].map((tab) => [tab.dataset.view, tab]));
const CARRIED = ["line", "metric", "base", "step", "axis", "last", "from", "to"];

async function render() {
  turn += 1;
  const mine = turn;
  const state = read();
  main.setAttribute("aria-busy", "true");
  let content;
  try {
    content = await VIEWS[state.view](state);
  } catch (error) {
    content = [heading("This cannot be shown"), element("p", "", error.message)];
  }
  if (mine !== turn) { content.forEach(forget); return; }
  const focus = document.activeElement;
  const held = focus && main.contains(focus) && focus.id ? { id: focus.id, at: focus.selectionStart } : null;
  const at = scrollY;
  forget(main);
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

addEventListener("beforeprint", () => longTables.forEach((one) => one.paper(true)));
addEventListener("afterprint", () => longTables.forEach((one) => one.paper(false)));
addEventListener("hashchange", render);
render();
