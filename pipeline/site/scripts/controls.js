// Controls and small pieces that views are made of.
function choice(id, text, options, value, change) {
  const label = element("label", "", text);
  const select = element("select");
  select.id = id;
  options.forEach(([name, shown]) => select.append(new Option(shown, name, name === value, name === value)));
  select.addEventListener("change", () => change(select.value));
  label.append(select);
  return label;
}

// A revision, typed or chosen from all of a trend; any other text is reported as unknown.
function revisionInput(id, text, trend, value, change) {
  const label = element("label", "", text);
  const input = element("input");
  input.id = id;
  input.value = value;
  input.size = 12;
  input.setAttribute("list", "revisions");
  // Thousands of names are made when somebody is about to choose one.
  input.addEventListener("focus", () => nameRevisions(trend), { once: true });
  input.addEventListener("change", () => {
    const known = input.value === "" || trend.place.has(input.value);
    input.setCustomValidity(known ? "" : `${trend.line} has no revision ${input.value} that was measured`);
    if (known) change(input.value);
    else input.reportValidity();
  });
  label.append(input);
  return label;
}

// The names of all revisions, newest first, for the inputs of a view.
function nameRevisions(trend) {
  const list = document.getElementById("revisions");
  if (list.options.length) return;
  list.append(...trend.labels.toReversed().map((label) => new Option(label, label)));
}

function revisionNames() {
  const list = element("datalist");
  list.id = "revisions";
  return list;
}

function tick(id, text, value, change) {
  const label = element("label", "tick");
  const box = element("input");
  box.type = "checkbox";
  box.id = id;
  box.checked = value;
  box.addEventListener("change", () => change(box.checked));
  label.append(box, text);
  return label;
}

function controls(...parts) {
  const form = element("form", "controls");
  form.setAttribute("aria-label", "What is shown");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(...parts.filter(Boolean));
  return form;
}

const chooseTrend = (trend, fits = () => true) => choice("line", "Line",
  index.trends.filter(fits).map((each) => [each.name, `${each.line}: ${each.title}`]), trend.name,
  (line) => go({ line, base: "", from: "", to: "", versions: "", step: "" }));

const chooseMetric = (trend, metric, only = () => true) => choice("metric", "Metric",
  trend.metrics.filter(only).map((name) => [name, unitOf(name) ? `${name} (${unitOf(name)})` : name]), metric,
  (chosen) => go({ metric: chosen }));

const chooseStep = (trend, step) => choice("step", "Step",
  trend.steps.map(({ name }) => [name, name]), trend.steps[step].name, (chosen) => go({ step: chosen }));

// Which revisions, and along what: position on the line, or time.
function chooseRange(trend, state) {
  const counts = [20, 50, 200, 1000].filter((count) => count < trend.labels.length);
  const zoomed = !state.last && (state.from || state.to);
  const options = [["", `all ${trend.labels.length}`], ...counts.map((count) => [String(count), `newest ${count}`])];
  if (zoomed) options.unshift(["zoomed", `${state.from || trend.labels[0]} to ${state.to || trend.labels[trend.labels.length - 1]}`]);
  return [
    choice("range", "Revisions", options, zoomed ? "zoomed" : state.last || "", (last) => last !== "zoomed" && go({ last, from: "", to: "" })),
    choice("axis", "Axis", [["", "position"], ["time", trend.made ? "time they were made" : "time of first run"]], state.axis || "", (axis) => go({ axis })),
  ];
}
const zoomIn = (trend) => (from, to) => go({ from: trend.labels[from], to: trend.labels[to], last: "" });

const aboutMetric = (metric) => `${metric}: ${metricOf(metric).help}; ${metricOf(metric).more ? "more" : "less"} is better.`;

function heading(text) {
  const made = element("h1", "", text);
  made.tabIndex = -1;
  return made;
}

// A view of one line: what is chosen of it in the address, or by default.
const lineView = (make, fits = () => true, none = "No line was measured yet") => async (state) => {
  const chosen = trendOf(state, fits);
  if (!chosen) return [heading(none)];
  const trend = await open(chosen);
  return make(trend, state, { metric: metricIn(trend, state), base: baseIn(trend, state), range: rangeIn(trend, state) });
};

// A revision's name, which may be the whole hash of a commit.
function named(label) {
  const made = element("span", "", cut(label));
  if (made.textContent !== label) made.title = label;
  return made;
}

// A relative value in its colour, with a sign that means the same.
function ratioInto(cell, metric, ratio) {
  const tone = toneOf(metric, ratio);
  if (tone) {
    cell.classList.add(tone);
    cell.append(sign(tone === "worse"), element("span", "hidden", tone));
  }
  cell.append(ratioText(ratio));
  return cell;
}

// The way of a group, for the eye; its figures are in the cells beside it.
function spark(points, last) {
  const wide = 160;
  const high = 28;
  const [low, top] = extent(points.map(([, value]) => value).concat(1), false);
  const x = (place) => 2 + (last ? place / last : 0.5) * (wide - 4);
  const y = (value) => high - 2 - ((value - low) / (top - low)) * (high - 4);
  const path = points.map(([place, value], number_) => `${number_ ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return drawing("svg", { class: "spark", viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, "aria-hidden": true },
    drawing("path", { class: "one", d: `M2 ${y(1)}H${wide - 2}` }), drawing("path", { class: "way", d: path }));
}

function folded(summary, make) {
  const details = element("details");
  details.append(element("summary", "", summary));
  details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(make()); });
  return details;
}
