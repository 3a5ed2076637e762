// The functions of a counted step over the revisions of a line.
const exactly = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const exact = (value) => (missing(value) ? "–" : exactly.format(value).replaceAll(",", "\u202f"));
const COUNTED = "instructions/o";

const functionsOf = (trend, step) => once(`${trend.folder} functions ${step}`, async () => {
  const found = await load(`${trend.folder}/functions-${step}`);
  return { share: found.share, functions: found.functions.map((each, place) => ({ ...each, values: overRuns(trend, unpack(found.costs[place], Float32Array)) })) };
});

// The same step of the same line and setup in the other mode: its trend, and the place of the step.
function otherMode(trend, name, mode) {
  for (const other of index.trends) {
    const step = other.steps.findIndex((each) => each.name === name);
    if (step >= 0 && other.mode === mode && other.line === trend.line && String(other.setup) === String(trend.setup)) return { other, step };
  }
  return null;
}

// Instructions per operation: of the step, and of the functions that execute most, or changed most.
async function countedSection(trend, step, state) {
  const [runs, { share, functions }] = await Promise.all([runsOf(trend, step), functionsOf(trend, step)]);
  const whole = overRuns(trend, runs.get(COUNTED));
  const range = rangeIn(trend, state);
  const [first, last] = range;
  const below = `< ${number(100 * share)} %`;
  // What the store leaves out is below a share of the step: zero in a chart, and marked in the table.
  const lines = functions.map(({ name, values }, place) => ({
    name, values: values.map((value, at) => (Number.isNaN(value) && !Number.isNaN(whole[at]) ? 0 : value)), ...lookOf(place),
  }));
  const others = whole.map((value, at) => lines.reduce((left, { values }) => left - values[at], value));
  const section = element("section");
  section.append(element("h2", "", "Functions: own instructions per operation"),
    element("p", "of", `The ${functions.length} functions that execute most instructions by themselves at some revision, or whose own instructions differ most. A function with less than ${number(100 * share)} % of a step is not kept and drawn as zero.`));
  const made = overRevisions({
    caption: "Own instructions per operation", height: 280, labels: trend.labels, dates: state.axis ? trend.dates : null, range, lines, zero: true,
    tags: lines.map((line) => key(line.name, line)),
    describe: (place, line) => [trend.labels[place], `all ${exact(whole[place])}`, ...lines.map(({ name, values }, at) => `${at === line ? "› " : ""}${name} ${exact(values[place])}`)].join("\n"),
    zoom: zoomIn(trend), at: trend.place.get(state.at),
  });
  made.classList.add("functions");
  section.append(made, longTable("Own instructions per operation by function, newest first",
    ["Revision", COUNTED, ...functions.map(({ name }) => name), "all others"], last - first + 1,
    (number_) => {
      const place = last - number_;
      return [trend.labels[place], exact(whole[place]), ...functions.map(({ values }) => (Number.isNaN(values[place]) && !Number.isNaN(whole[place]) ? below : exact(values[place]))), exact(others[place])];
    }));
  return section;
}

// What a timed step executes, from the counted step beside it; null without one.
async function countedBeside(trend, name, state) {
  const found = otherMode(trend, name, "count");
  if (!found || !found.other.steps[found.step].functions) return null;
  const counted = await open(found.other);
  const runs = await runsOf(counted, found.step);
  const section = await countedSection(counted, found.step, state);
  const about = element("p", "of", "Counted beside the times: ");
  about.append(linked(counted.title, link("step", { line: counted.name, step: name })), ".");
  const instructions = panel(counted, found.step, COUNTED, overRuns(counted, runs.get(COUNTED)), runs.get(COUNTED), baseIn(counted, state), rangeIn(counted, state), state);
  section.querySelector("h2").after(about, instructions);
  return section;
}
