// Steps that have to sustain a rate of work beside what they measure: did they, and at what price.
const SUSTAINED = index.limits.sustained; // of the target, below which an SLA is missed
const TARGETS = { "inserts/s": "inserts_target", "deletes/s": "deletes_target" };
const RATES = ["sla", "inserts/s", "inserts_target", "deletes/s", "deletes_target", "inserts_p99", "inserts_max", "deletes_p99", "deletes_max"];
const hasSla = (trend) => trend.sla;

VIEWS.insert = lineView(async (trend, state, { range }) => {
  const metric = trend.metrics.includes(state.metric) && (RATES.includes(state.metric) || state.metric === trend.headline) ? state.metric : "sla";
  const target = trend.metrics.includes(TARGETS[metric]) ? TARGETS[metric] : "";
  const [sla, values, targets] = await Promise.all([medians(trend, "sla"), medians(trend, metric), target && medians(trend, target)]);
  const shown = (value) => (metricOf(metric).unit === "ratio" ? ratioText(value) : number(value));
  const bound = trend.steps.map((_, step) => step).filter((step) => sla[step].some((value) => !Number.isNaN(value)));
  const missed = bound.filter((step) => lastKnown(sla[step], range) < SUSTAINED);
  const made = [
    heading(`${trend.line}: ${missed.length ? `${missed.length} of ${bound.length} steps miss their SLA` : "every SLA is met"}`),
    element("p", "of", `${trend.title}. An SLA is met when at least ${SUSTAINED} of the target rate of inserts and deletes is sustained while the step's queries are measured. Figures of a run that missed it are in no other view.`),
    controls(chooseTrend(trend, hasSla), chooseMetric(trend, metric, (name) => RATES.includes(name) || name === trend.headline), ...chooseRange(trend, state)),
  ];
  const panels = element("div", "panels wider");
  bound.forEach((step) => panels.append(overRevisions({
    caption: trend.steps[step].name, link: link("step", { line: trend.name, step: trend.steps[step].name }), height: 160,
    tags: [element("span", lastKnown(sla[step], range) < SUSTAINED ? "now failed" : "now", lastKnown(sla[step], range) < SUSTAINED ? "▼ missed" : "met")],
    labels: trend.labels, dates: state.axis ? trend.dates : null, range, lines: [{ name: metric, values: values[step], colour: "--series-0" }, ...(target ? [{ name: target, values: targets[step], colour: "--soft" }] : [])],
    changes: trend.changes.filter((change) => change.step === step && change.metric === metric),
    failures: trend.labels.map((_, place) => ({ place, repetition: 1, sla: true })).filter(({ place }) => sla[step][place] < SUSTAINED),
    reference: metric === "sla" ? SUSTAINED : undefined, zoom: zoomIn(trend),
    describe: (place) => `${trend.labels[place]}\n${metric} ${shown(values[step][place])} ${unitOf(metric)}${target ? `\n${target} ${number(targets[step][place])}` : ""}\nSLA ${ratioText(sla[step][place])}, ${sla[step][place] < SUSTAINED ? "missed" : "met"}`,
  })));
  made.push(panels);
  const [first, last] = range;
  made.push(element("h2", "", `${metric} by revision`), longTable(`${metric} of each step; ▼ where its SLA is missed`, ["Revision", ...bound.map((step) => trend.steps[step].name)], last - first + 1, (number_) => {
    const place = last - number_;
    return [trend.labels[place], ...bound.map((step) => {
      const low = sla[step][place] < SUSTAINED;
      const cell = element("td", low ? "failed" : "");
      if (low) cell.append(sign(true), element("span", "hidden", "SLA missed "));
      cell.append(shown(values[step][place]));
      return cell;
    })];
  }));
  return made;
}, hasSla, "No workload with an SLA was measured");
