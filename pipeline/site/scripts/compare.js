// Steps by versions, each relative to a base: the grid that performance teams use.
const SOME = 10; // versions that are shown if none are chosen
const MOST = 60; // columns of a grid at most
const FULL = 0.3; // a change of this size has the full colour
const STRONGEST = 55; // percent of the colour there, so that figures stay legible

VIEWS.compare = lineView(async (trend, state, { metric, base }) => {
  const values = metric ? await medians(trend, metric) : [];
  const versions = versionsIn(trend, state, base);
  const show = (places) => go({ versions: JSON.stringify([...new Set(places)].sort((a, b) => a - b).map((place) => trend.labels[place])) });
  const made = [
    heading(`${trend.line}: ${metric} relative to ${trend.labels[base]}`),
    element("p", "of", `${trend.title}. ${metric && aboutMetric(metric)} Orange with ▼ is worse, blue with ▲ better; the deeper the larger.`),
    controls(chooseTrend(trend), chooseMetric(trend, metric),
      revisionInput("base", "Base", trend, trend.labels[base], (label) => go({ base: label })),
      revisionInput("add", "Add version", trend, "", (label) => label && show([...versions, trend.place.get(label)])),
      trend.labels.length > SOME + 1 ? pushed("newest", `Newest ${SOME}`, () => go({ versions: "" })) : state.versions && pushed("newest", "All", () => go({ versions: "" })),
      trend.labels.length <= MOST && trend.labels.length > SOME + 1 && pushed("every", `All ${trend.labels.length}`, () => show(trend.labels.map((_, place) => place))),
      trend.changes.length && pushed("changes", "At change points", () => show(trend.changes.flatMap(({ at }) => [Math.max(0, at - 1), at]).slice(0, MOST))),
      revisionNames()),
  ];
  const groups = [...new Set(trend.steps.map(({ group }) => group))];
  const grid = table(`${metric} of each step relative to ${trend.labels[base]}`, [], [], "heat");
  const body = grid.querySelector("tbody");
  const head = grid.querySelector("thead tr");
  const corner = element("th", "name", "Step");
  corner.scope = "col";
  const level = element("th", "base", `${cut(trend.labels[base])}${unitOf(metric) ? `, ${unitOf(metric)}` : ""}`);
  level.scope = "col";
  head.append(corner, level, ...versions.map((place) => {
    const cell = element("th");
    cell.append(named(trend.labels[place]), " ");
    cell.scope = "col";
    const away = pushed(`without-${place}`, "×", () => show(versions.filter((other) => other !== place)));
    away.setAttribute("aria-label", `leave out ${trend.labels[place]}`);
    if (versions.length > 1) cell.append(away);
    return cell;
  }));
  groups.forEach((group) => {
    const steps = trend.steps.map((_, step) => step).filter((step) => trend.steps[step].group === group);
    const title = element("tr", "group");
    const cell = element("th", "name", group);
    cell.colSpan = versions.length + 2;
    cell.scope = "colgroup";
    title.append(cell);
    body.append(title, ...steps.map((step) => row([
      linked(trend.steps[step].name, link("step", { line: trend.name, step: trend.steps[step].name, metric, base: state.base })),
      cellOf("base", number(values[step] && values[step][base])),
      ...versions.map((place) => heat(metric, ratioAt(values[step], place, base))),
    ])));
    if (steps.length > 1) body.append(row([cellOf("name", `median of ${steps.length}`, "th"), element("td", "base"), ...versions.map((place) => heat(metric, middle(steps.length, (number_) => ratioAt(values[steps[number_]], place, base))))]));
  });
  return [...made, grid];
});

const ratioAt = (values, place, base) => (values[base] ? values[place] / values[base] : NaN);

function cellOf(className, text, tag = "td") {
  const made = element(tag, className, text);
  if (tag === "th") made.scope = "row";
  return made;
}

function versionsIn(trend, state, base) {
  let described = [];
  try { described = JSON.parse(state.versions || "[]"); } catch { /* an address that was cut off */ }
  const places = (Array.isArray(described) ? described : []).map((label) => trend.place.get(label)).filter((place) => place !== undefined);
  if (places.length) return places.slice(0, MOST);
  const last = trend.labels.length - 1;
  const newest = [];
  for (let place = last; place >= 0 && newest.length < SOME; place -= 1) if (place !== base) newest.unshift(place);
  return newest.length ? newest : [base];
}

// The colour by the logarithm, so that a half and a double are as deep.
function heat(metric, ratio) {
  const cell = ratioInto(element("td", "ratio"), metric, ratio);
  if (Number.isNaN(ratio)) return cell;
  const turned = metricOf(metric).more ? ratio : 1 / ratio;
  const part = turned > 0 ? Math.min(1, Math.abs(Math.log(turned)) / Math.log(1 + FULL)) : 1;
  cell.style.setProperty("--part", `${Math.round(part * STRONGEST)}%`);
  cell.style.setProperty("--way", turned < 1 ? "var(--worse)" : "var(--better)");
  return cell;
}
