// A line: every step relative to the base, over its revisions.
const PANEL = 130; // pixels
VIEWS.trend = lineView(async (trend, state, { metric, base, range }) => {
  const values = metric ? await medians(trend, metric) : [];
  const changes = trend.changes.filter((change) => change.metric === metric);
  const changed = new Set(changes.map(({ step }) => step));
  const groups = [...new Set(trend.steps.map(({ group }) => group))];
  const wanted = (state.find || "").toLowerCase();
  const shown = trend.steps.map((_, step) => step).filter((step) =>
    (!state.group || trend.steps[step].group === state.group) &&
    (!wanted || trend.steps[step].name.toLowerCase().includes(wanted)) &&
    (!state.changed || changed.has(step)) &&
    values[step].some((value) => !Number.isNaN(value)));
  const ratios = new Map(shown.map((step) => [step, relativeTo(values[step], base)]));
  const find = element("label", "", "Steps with");
  const input = element("input");
  input.id = "find";
  input.type = "search";
  input.size = 14;
  input.value = state.find || "";
  input.addEventListener("input", () => go({ find: input.value }, true));
  find.append(input);
  const made = [
    heading(`${trend.line}: ${metric || "nothing measured"}`),
    element("p", "of", `${trend.title}. Relative to ${trend.labels[base]}. ${metric && aboutMetric(metric)}`),
    controls(chooseTrend(trend), chooseMetric(trend, metric),
      revisionInput("base", "Base", trend, trend.labels[base], (label) => go({ base: label })),
      choice("group", "Group", [["", "all"], ...groups.map((group) => [group, group])], state.group || "", (group) => go({ group })),
      find, ...chooseRange(trend, state),
      tick("changed", "with change points only", Boolean(state.changed), (on) => go({ changed: on ? "1" : "" })),
      revisionNames()),
  ];
  const dates = state.axis ? trend.dates : null;
  const shownGroups = groups.map((group) => [group, shown.filter((step) => trend.steps[step].group === group)]).filter(([, steps]) => steps.length);
  if (!shown.length) {
    made.push(element("p", "nothing", "No step fits these choices."));
    return made;
  }
  const lines = shownGroups.map(([group, steps], place) => ({
    name: group, values: together(steps.map((step) => ratios.get(step))), width: 2, ...lookOf(place),
  }));
  made.push(overRevisions({
    caption: "Median over the steps of a group", height: 240, labels: trend.labels, dates, range, lines, reference: 1,
    tags: lines.map((line) => key(line.name, line)),
    describe: (place, line) => [trend.labels[place], ...lines.map(({ name, values: of }, number_) => `${number_ === line && lines.length > 1 ? "› " : ""}${name} ${ratioText(of[place])}`)].join("\n"),
    zoom: zoomIn(trend),
  }));
  shownGroups.forEach(([group, steps]) => {
    const section = element("section");
    section.append(element("h2", "", group));
    const panels = element("div", "panels");
    steps.forEach((step) => {
      const name = trend.steps[step].name;
      const own = changes.filter((change) => change.step === step);
      const newest = lastKnown(ratios.get(step), range);
      const tag = ratioInto(element("span", "now"), metric, newest);
      const address = (place) => link("step", { line: trend.name, step: name, metric, base: state.base, last: state.last, from: state.from, to: state.to, axis: state.axis, at: place === undefined ? "" : trend.labels[place] });
      panels.append(overRevisions({
        caption: name, link: address(), tags: [tag], height: PANEL, labels: trend.labels, dates, range,
        lines: [{ name, values: ratios.get(step), colour: "--series-0" }], changes: own, reference: 1,
        failures: failuresOf(trend, step),
        describe: (place) => describeStep(trend, metric, values[step], ratios.get(step), own, place, step),
        pick: (place) => { location.hash = address(place); }, pickText: "shows the step", zoom: zoomIn(trend),
      }));
    });
    section.append(panels);
    made.push(section);
  });
  made.push(folded(`Table: ${metric} relative to ${trend.labels[base]}, newest first`, () => {
    const [first, last] = range;
    return longTable(`${metric} relative to ${trend.labels[base]}`, ["Revision", ...lines.map(({ name }) => `${name} (median)`), ...shown.map((step) => trend.steps[step].name)], last - first + 1,
      (number_) => [trend.labels[last - number_], ...[...lines.map((line) => line.values), ...shown.map((step) => ratios.get(step))].map((values_) => ratioInto(element("td"), metric, values_[last - number_]))]);
  }));
  return made;
});

function lastKnown(values, [first, last]) {
  for (let place = last; place >= first; place -= 1) if (!Number.isNaN(values[place])) return values[place];
  return NaN;
}

// What names a line of a chart.
function key(name, look) {
  const made = element("span", "key");
  made.append(swatch(look), name);
  return made;
}

const failuresOf = (trend, step) => trend.failures.filter(([, of]) => of === step)
  .map(([run, , status]) => ({ place: trend.places[run], repetition: trend.repetitions[run], sla: status !== "failed" }));

function describeStep(trend, metric, values, ratios, changes, place, step) {
  const failed = trend.failures.filter(([run, of]) => of === step && trend.places[run] === place);
  return [
    trend.labels[place], dateText(trend.dates[place]),
    `${number(values[place])} ${unitOf(metric)}`.trim(), `${ratioText(ratios[place])} of the base`,
    ...changes.filter(({ at }) => at === place).map(changeText),
    ...failed.map(([run, , status, note]) => `repetition ${trend.repetitions[run]} ${status === "failed" ? "failed" : "failed its SLA"}: ${note || "no reason was recorded"}`),
  ].join("\n");
}
