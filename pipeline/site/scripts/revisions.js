// Charts over the revisions of a line: figures, repetitions, change points, failures.
const SPREAD = 0.1; // of a revision's width, so that repetitions with one value stay apart
const LETTER = 6.5; // pixels of a name under an axis
const NEAR = 8; // pixels around a dot that are its own
const SHORT = 3 * 86400; // seconds of an axis that shows hours
const STATED = { suspected: "suspected, dashed", confirmed: "confirmed" };
const dateText = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);
const timeText = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
const changeText = ({ worse, text, interval, state }) => `${worse ? "▼" : "▲"} change point ${text} (${interval}), ${STATED[state] || state}`;

// Names of revisions under an axis, from the newest on, which is always described.
function namesOf(labels, [first, last]) {
  return {
    splits: (u) => {
      const room = Math.max(...labels.slice(first, last + 1).slice(-200).map((label) => cut(label).length)) * LETTER + 14;
      const every = Math.max(1, Math.ceil(((last - first + 1) * room) / (u.width - LEFT)));
      const found = [];
      for (let place = last; place >= first; place -= every) found.unshift(place);
      return found;
    },
    values: (u, places) => places.map((place) => cut(labels[place])),
  };
}

const timeAxis = (span) => ({
  space: 100, values: (u, moments) => moments.map((moment) => (span < SHORT ? timeText(moment).slice(5) : dateText(moment))),
});

/* A chart as chart() makes it, of places on a line. Beside what is passed on, `of` has
   labels: names of revisions; dates: seconds, where the axis is time; range: the first and the last place
   lines: values by place; zero: whether the axis starts there
   dots: { places, repetitions, values, hollow }, of each run; changes: change points
   failures: [{ place, repetition, sla }]
   describe(place, line), pick(place, run), zoom(first, last), at: in places; run is null but for a dot */
function overRevisions(of) {
  const [first, last] = of.range;
  const { dates } = of;
  const within = (place) => place >= first && place <= last;
  const order = [];
  for (let place = first; place <= last; place += 1) order.push(place);
  if (dates) order.sort((a, b) => dates[a] - dates[b] || a - b);
  const where = dates ? (place) => dates[place] : (place) => place;
  const x = order.map(where);
  const span = dates ? x[x.length - 1] - x[0] : 0;
  const margin = dates ? span * 0.01 || SHORT / 6 : 0.5;
  const most = Math.max(1, ...(of.dots && order.length <= FEW ? of.dots.repetitions : []));
  const across = (place, repetition) =>
    where(place) + (dates || order.length > FEW ? 0 : (repetition - (most + 1) / 2) * Math.min(SPREAD, 0.5 / most));
  const dots = [];
  of.dots?.places.forEach((place, run) => {
    if (within(place) && !missing(of.dots.values[run])) dots.push({ x: across(place, of.dots.repetitions[run]), y: of.dots.values[run], run, hollow: of.dots.hollow?.(run) });
  });
  const changes = (of.changes || []).filter(({ at }) => within(at)).sort((a, b) => where(a.at) - where(b.at));
  const lines = of.lines.map((line) => ({ ...line, values: order.map((place) => (missing(line.values[place]) ? null : line.values[place])) }));
  const shown = [of.reference, ...dots.map(({ y }) => y)];
  lines.forEach(({ values }) => { for (const value of values) shown.push(value); });
  const said = [of.label || of.caption, `${order.length} revisions from ${of.labels[first]} to ${of.labels[last]}`,
    `${changes.length} change point${changes.length === 1 ? "" : "s"}${changes.map(({ worse, text, at }) => ` ${worse ? "▼" : "▲"} ${text} at ${of.labels[at]}`).join()}`];
  const made = chart({
    ...of, x, lines, dots, label: said.join(", "), range: extent(shown, of.zero),
    xScale: { time: Boolean(dates), range: (u, low, high) => [low - margin, high + margin] },
    xAxis: dates ? timeAxis(span) : namesOf(of.labels, of.range),
    shades: changes.map(({ after, latest, worse }) => ({
      from: where(Math.max(first, after)) + (dates ? 0 : 0.2), until: where(Math.min(last, latest)) - (dates ? 0 : 0.2), colour: worse ? "--worse" : "--better",
    })),
    rules: changes.map(({ at, worse, text, state }) => ({
      x: where(at) - (dates ? 0 : 0.5), colour: worse ? "--worse" : "--better", dash: state === "confirmed" ? [] : [4, 3], text: `${worse ? "▼" : "▲"} ${text}`,
    })),
    marks: (of.failures || []).filter(({ place }) => within(place)).map(({ place, repetition, sla }) => ({ x: across(place, repetition), sign: sla ? "▽" : "✕" })),
    at: within(of.at) ? order.indexOf(of.at) : undefined, stops: changes.map(({ at }) => order.indexOf(at)),
    describe: (at, line) => of.describe(order[at], line),
    pick: of.pick && ((at, left, top) => {
      const { uplot } = made.querySelector(".plot");
      const far = (dot) => Math.hypot(uplot.valToPos(dot.x, "x") - left, uplot.valToPos(dot.y, "y") - top);
      const nearest = left === undefined ? undefined : dots.filter((dot) => far(dot) <= NEAR).sort((a, b) => far(a) - far(b))[0];
      of.pick(order[at], nearest ? nearest.run : null);
    }),
    zoom: of.zoom && ((from, to) => of.zoom(...[order[from], order[to]].sort((a, b) => a - b))),
  });
  return made;
}
