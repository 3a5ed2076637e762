// One step: throughput with every repetition, cost, response time and variance side by side.
const KINDS = [
  ["Throughput", ["qps", "nopm", "tpm", "inserts/s", "deletes/s", "sla"]],
  ["Cost of an operation", ["cpu_us/o", "cpu/o", "cs/o", "server_cs/o", "instructions/o", "cycles/o", "rKB/o", "wKB/o", "r/o", "w/o", "client_us/o"]],
  ["Response time", ["latency_p95", "latency_p50", "latency_p99", "latency_max", "inserts_p99", "inserts_max", "deletes_p99", "deletes_max"]],
  ["Variance", ["qps_cv", "qps_p1", "stall_s", "warming_s", "drift", "oscillation", "period_s"]],
];
const OTHERS = "Machine and other figures";

VIEWS.step = lineView(async (trend, state, { base, range }) => {
  const step = Math.max(0, trend.steps.findIndex(({ name }) => name === state.step));
  const runs = await runsOf(trend, step);
  const names = trend.metrics.filter((metric) => runs.has(metric));
  const of = new Map(names.map((metric) => [metric, overRuns(trend, runs.get(metric))]));
  const failed = trend.failures.filter(([, place]) => place === step);
  const { name, group, unit, anchor } = trend.steps[step];
  const about = element("p", "of", `${group}, in ${unit || "operations"}; ${trend.line}, ${trend.title}. `);
  about.append(linked("What the DBMS did over time is in the report of the last night", `${index.report}#${anchor}`), ".");
  const timed = trend.mode === "count" && otherMode(trend, name, "time");
  if (timed) about.append(" ", linked("The same step in time", link("step", { line: timed.other.name, step: name })), ".");
  const made = [
    heading(name), about,
    controls(chooseTrend(trend), chooseStep(trend, step), revisionInput("base", "Base", trend, trend.labels[base], (label) => go({ base: label })), ...chooseRange(trend, state), revisionNames()),
  ];
  if (failed.length) made.push(folded(`${failed.length} ${failed.length === 1 ? "run" : "runs"} failed or missed the SLA`, () => {
    const list = element("ul");
    failed.forEach(([run, , status, note]) => list.append(element("li", "", `${trend.labels[trend.places[run]]}, repetition ${trend.repetitions[run]}: ${status}, ${note || "no reason was recorded"}`)));
    return list;
  }));
  if (!names.length) return [...made, element("p", "nothing", "No run of this step has figures.")];
  const counted = trend.steps[step].functions ? await countedSection(trend, step, state) : await countedBeside(trend, name, state);
  const listed = new Set(KINDS.flatMap(([, metrics]) => metrics));
  const kinds = [...KINDS, [OTHERS, names.filter((metric) => !listed.has(metric))]];
  const met = kinds.map(([kind, metrics]) => [kind, metrics.filter((metric) => of.has(metric) && !idle(of.get(metric)))]);
  // The first of each kind side by side, and then the others by kind.
  const leading = met.slice(0, KINDS.length).flatMap(([, metrics]) => metrics.slice(0, 1));
  const sections = [["Side by side", leading], ...met.map(([kind, metrics]) => [`More: ${kind.toLowerCase()}`, metrics.filter((metric) => !leading.includes(metric))])];
  sections.filter(([, metrics]) => metrics.length).forEach(([kind, metrics], place) => {
    const section = element("section");
    section.append(element("h2", place ? "" : "hidden", kind));
    const panels = element("div", place ? "panels wider" : "panels leading");
    metrics.forEach((metric) => panels.append(panel(trend, step, metric, of.get(metric), runs.get(metric), base, range, state)));
    section.append(panels);
    made.push(section);
    if (!place && counted) made.push(counted);
  });
  const zero = names.filter((metric) => idle(of.get(metric)));
  if (zero.length) made.push(element("p", "of", `Zero in every run: ${zero.join(", ")}.`));
  const [first, last] = range;
  made.push(folded("Table: medians, newest first", () => longTable(`${name}: medians over the repetitions`, ["Revision", `${names[0]} relative`, ...names.map((metric) => (unitOf(metric) ? `${metric} (${unitOf(metric)})` : metric))], last - first + 1,
    (number_) => {
      const place = last - number_;
      const main = of.get(names[0]);
      return [trend.labels[place], ratioInto(element("td"), names[0], main[base] ? main[place] / main[base] : NaN), ...names.map((metric) => number(of.get(metric)[place]))];
    })));
  return made;
});

const idle = (values) => values.every((value) => value === 0 || Number.isNaN(value));

function panel(trend, step, metric, values, runs, base, range, state) {
  const changes = trend.changes.filter((change) => change.step === step && change.metric === metric);
  const ratios = relativeTo(values, base);
  const now = ratioInto(element("span", "now"), metric, lastKnown(ratios, range));
  now.title = `newest relative to ${trend.labels[base]}`;
  const made = overRevisions({
    caption: withUnit(metric), tags: [now], height: 180, labels: trend.labels,
    dates: state.axis ? trend.dates : null, range, lines: [{ name: metric, values, colour: "--series-0" }],
    dots: { places: trend.places, repetitions: trend.repetitions, values: runs }, changes,
    failures: failuresOf(trend, step),
    describe: (place) => {
      const each = [];
      for (let run = 0; run < runs.length; run += 1) if (trend.places[run] === place && !Number.isNaN(runs[run])) each.push(number(runs[run]));
      return `${describeStep(trend, metric, values, ratios, changes, place, step)}${each.length > 1 ? `\nruns ${each.join(", ")}` : ""}`;
    },
    zoom: zoomIn(trend), at: trend.place.get(state.at),
  });
  made.title = metricOf(metric).help;
  return made;
}

// Medians over the repetitions; runs are ordered by revision.
function overRuns(trend, runs) {
  const result = new Float32Array(trend.revisions).fill(NaN);
  let first = 0;
  while (first < runs.length) {
    let end = first;
    while (end < runs.length && trend.places[end] === trend.places[first]) end += 1;
    const begin = first;
    result[trend.places[first]] = middle(end - first, (number_) => runs[begin + number_]);
    first = end;
  }
  return result;
}
