// What is shown is in the fragment of the address: it can be linked, and the back button works.
const VIEWS = {}; // name -> make(state) -> elements

function read() {
  const [view, rest] = location.hash.slice(1).split("?", 2);
  const state = Object.fromEntries(new URLSearchParams(rest || ""));
  return { ...state, view: VIEWS[view] ? view : "overview" };
}

function link(view, state) {
  const described = Object.entries(state).filter(([name, value]) => name !== "view" && value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(described).toString();
  return `#${view}${query ? `?${query}` : ""}`;
}

// Go to the same view with something changed; what is typed letter by letter replaces itself.
function go(changes, replace = false) {
  const state = { ...read(), ...changes };
  const address = link(state.view, state);
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(null, "", address);
    render();
  } else location.hash = address;
}

const trendOf = (state, fits = () => true) => {
  const chosen = trends.get(state.line);
  return chosen && fits(chosen) ? chosen : index.trends.find(fits);
};
const metricIn = (trend, state) => (trend.metrics.includes(state.metric) ? state.metric : trend.headline);
const baseIn = (trend, state) => trend.place.get(state.base) ?? 0;

// The first and last revision that are shown.
function rangeIn(trend, state) {
  const last = trend.labels.length - 1;
  if (state.last) return [Math.max(0, last + 1 - Number(state.last)), last];
  const from = trend.place.get(state.from) ?? 0;
  const to = trend.place.get(state.to) ?? last;
  return from <= to ? [from, to] : [to, from];
}
