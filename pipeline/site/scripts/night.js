// The report of one night: a chart for every step, and what is clicked or pressed there.
const STEP_HEIGHT = 300; // pixels of a step's chart
const charts = new Map(index.charts.map((chart_) => [chart_.id, chart_]));
const scaleups = new Map(index.scaleups.map((one) => [one.id, one]));
const states = new Map();

const lastAt = ({ points }) => Math.max(...points.map(([position]) => position));
const versus = (value, reference, label) => (reference && !missing(value) ? `, ${(value / reference).toFixed(3)} of ${label}` : "");

// The chart of a step for the metric that is chosen, over the revisions of its line.
function drawStep(section) {
  const of = charts.get(section.id);
  const { metric, zero } = states.get(section.id);
  const values = of.values[metric];
  if (!values) return;
  const labels = index.lines[of.line];
  const medians = of.medians[metric];
  const reference = medians[of.base];
  const runs = of.points.map((_, run) => run);
  // What failed its SLA has no figure but those of the SLA.
  const missed = runs.filter((run) => run in of.sla && values[run] === null);
  const changes = of.changes.filter((change) => change.metric === metric);
  const made = overRevisions({
    caption: metric === "qps" ? `${of.unit || "operations"}/s` : withUnit(metric), label: `${of.step}, ${metric}; the table beside it has the medians`,
    height: STEP_HEIGHT, labels, range: [0, labels.length - 1], zero, reference, base: reference, changes,
    lines: [{ values: medians, colour: "--ink" }],
    dots: { places: of.points.map(([position]) => position), repetitions: of.points.map(([, repetition]) => repetition), values, hollow: (run) => run in of.marks },
    failures: [...of.failed.map(([place, repetition]) => ({ place, repetition })), ...missed.map((run) => ({ place: of.points[run][0], repetition: of.points[run][1], sla: true }))],
    describe: (place) => [
      labels[place], `median ${number(medians[place])} ${unitOf(metric)}${versus(medians[place], reference, labels[of.base])}`,
      ...runsAt(of, place).map((run) => `repetition ${of.points[run][1]}: ${missed.includes(run) ? `failed its SLA: ${of.sla[run]}` : `${number(values[run])}${versus(values[run], reference, labels[of.base])}`}${(of.marks[run] || []).map((mark) => `; ${mark}`).join("")}`),
      ...of.failed.filter(([at]) => at === place).map(([, repetition, note]) => `repetition ${repetition} failed: ${note || "no reason was recorded"}`),
      ...changes.filter(({ at }) => at === place).map(changeText),
    ].join("\n"),
    pick: (place, run) => show(section, place, run), pickText: "shows its runs over time",
  });
  const { range } = made.querySelector(".plot").shows;
  section.querySelector(".axis").textContent = `y axis from ${range[0] <= 0 ? "zero" : `${number(range[0])}, not zero`}${reference ? `; right: relative to ${labels[of.base]}` : ""}`;
  section.querySelectorAll("thead button").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.metric === metric)));
  const place = section.querySelector(".place");
  forget(place);
  place.replaceChildren(made);
}

document.querySelectorAll("section.step").forEach((section) => {
  const of = charts.get(section.id);
  states.set(section.id, { metric: of.values.qps ? "qps" : Object.keys(of.values)[0], zero: false, within: null });
  section.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const state = states.get(section.id);
    if (button.dataset.metric) { state.metric = button.dataset.metric; drawStep(section); }
    else if (button.dataset.position) show(section, Number(button.dataset.position), null);
    else if (button.classList.contains("over-time")) show(section, lastAt(of), null);
    else if (button.classList.contains("zoom")) {
      state.zero = !state.zero;
      button.setAttribute("aria-pressed", String(state.zero));
      drawStep(section);
    }
  });
  section.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(section); });
  whenNear(section, () => drawStep(section));
});
document.querySelectorAll("section.scale-up").forEach((section) => whenNear(section, () => { prepareScaleUp(section); drawScaleUp(section); }));

// A link from a table of one metric shows that metric's chart.
document.querySelectorAll("a[data-metric]").forEach((link_) => link_.addEventListener("click", () => {
  const section = document.getElementById(link_.getAttribute("href").slice(1));
  const state = section && states.get(section.id);
  if (!state || !charts.get(section.id).values[link_.dataset.metric]) return;
  state.metric = link_.dataset.metric;
  if (section.seen) drawStep(section);
}));

const narrow = matchMedia("(max-width: 1100px)");
const folds = document.querySelectorAll("#sections details");
const fold = () => folds.forEach((one) => { one.open = !narrow.matches; });
narrow.addEventListener("change", fold);
fold();
folds.forEach((one) => {
  one.addEventListener("toggle", () => {
    if (!narrow.matches || !one.open) return;
    folds.forEach((other) => { if (other !== one) other.open = false; });
    one.querySelector(".menu").style.top = `${one.parentElement.getBoundingClientRect().bottom}px`;
  });
  one.addEventListener("click", (event) => { if (narrow.matches && event.target.closest("a")) one.open = false; });
});
document.querySelector("main").addEventListener("click", () => { if (narrow.matches) fold(); });

const here = new Map([...document.querySelectorAll("#sections a[href^='#']")].map((link_) => [link_.getAttribute("href").slice(1), link_]));
const reading = new IntersectionObserver((entries) => entries.forEach((entry) => {
  const link_ = here.get(entry.target.id);
  if (!link_) return;
  if (entry.isIntersecting) link_.setAttribute("aria-current", "true");
  else link_.removeAttribute("aria-current");
}), { rootMargin: "-20% 0px -70% 0px" });
document.querySelectorAll("section[id]").forEach((section) => reading.observe(section));
