// Runs over time: throughput and, under it on the same time axis, what the DBMS did meanwhile.
const THROUGHPUT_HEIGHT = 190; // pixels
const ROW_HEIGHT = 62;
const ROW_GAP = 24; // with the name of the row in it
const FIRST_ROWS = 6; // shown at once
const FOOT = 34;
const KILO = 1024;

const timelineOf = (chart, index) => data.timelines[chart.points[index][3]];
const runsAt = (chart, position) =>
  chart.points.map((_, index) => index).filter((index) => chart.points[index][0] === position);

// What a revision is laid beside: the one before its last change, without any the base.
function comparedWith(chart, position) {
  const before = chart.shifts.filter((shift) => shift.position <= position).map((shift) => shift.after);
  return before.length ? Math.max(...before) : chart.base;
}

// Opens the panel of a step for a revision; `focus` is the index of the run to look at, or null.
function show(section, position, focus) {
  const chart = charts.get(section.id);
  const positions = [...new Set([comparedWith(chart, position), position])];
  states.get(section.id).within = { opened: position, positions, position, focus, allRows: false };
  look(section, position, focus);
  // Under a long table it would open out of sight.
  section.querySelector(".within").scrollIntoView({ block: "nearest" });
}

// Makes a run the one that is drawn strong, told in words and laid over the activity.
function look(section, position, focus) {
  const chart = charts.get(section.id);
  const within = states.get(section.id).within;
  const runs = runsAt(chart, position);
  const recorded = runs.filter((index) => chart.points[index][3] >= 0);
  within.position = position;
  within.focus = focus ?? recorded[0] ?? runs[0] ?? null;
  refresh(section);
}

function refresh(section) {
  const chart = charts.get(section.id);
  const within = states.get(section.id).within;
  const panel = section.querySelector(".within");
  const pressed = document.activeElement && panel.contains(document.activeElement)
    ? document.activeElement.dataset.name : undefined;
  const says = element("p", "says");
  says.textContent = sentences(chart, within).join(" ");
  panel.replaceChildren(controls(section, chart, within), says);
  panel.hidden = false;
  section.querySelectorAll("tbody tr").forEach((row) => {
    const button = row.querySelector("button[data-position]");
    if (button) row.classList.toggle("chosen", within.positions.includes(Number(button.dataset.position)));
  });
  drawOverTime(section, panel, chart, within);
  drawResponses(panel, chart, within);
  // What was pressed was made anew.
  if (pressed) panel.querySelector(`[data-name="${CSS.escape(pressed)}"]`)?.focus();
}

function controls(section, chart, within) {
  const revisions = data.lines[chart.line];
  const head = element("div", "head");
  const title = element("div", "row");
  title.append(element("b", "", `${chart.step}, ${revisions[within.position]}: over time`));
  const button = (into, className, text, on, pressed) => {
    const made = element("button", className, text);
    made.type = "button";
    made.dataset.name = `${className} ${text}`;
    if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
    made.addEventListener("click", on);
    into.append(made);
    return made;
  };
  button(title, "close", "close", () => hide(section));
  head.append(title);

  const shown = element("div", "row");
  shown.setAttribute("role", "group");
  shown.setAttribute("aria-label", "revisions shown");
  const present = revisions.map((_, at) => at).filter((at) =>
    runsAt(chart, at).length || chart.failed.some((point) => point[0] === at));
  present.forEach((at) => {
    const made = button(shown, "revision", revisions[at], () => choose(section, at), within.positions.includes(at));
    made.prepend(swatch(at));
  });
  if (present.length > 2) {
    const all = present.every((at) => within.positions.includes(at));
    button(shown, "every", "all", () => {
      within.positions = all ? [within.position] : present;
      refresh(section);
    }, all);
  }
  head.append(shown);

  const runs = runsAt(chart, within.position);
  if (runs.length > 1) {
    const repetitions = element("div", "row");
    repetitions.setAttribute("role", "group");
    repetitions.setAttribute("aria-label", `repetitions of ${revisions[within.position]}`);
    runs.forEach((index) => button(repetitions, "repetition", `repetition ${chart.points[index][1]}`,
      () => look(section, within.position, index), index === within.focus));
    head.append(repetitions);
  }
  return head;
}

// Shows a revision and looks at it, or puts it away; one always stays.
function choose(section, position) {
  const within = states.get(section.id).within;
  if (!within.positions.includes(position)) {
    within.positions = [...within.positions, position].sort((a, b) => a - b);
    look(section, position, null);
  } else if (within.positions.length > 1) {
    within.positions = within.positions.filter((at) => at !== position);
    if (position === within.position) look(section, within.positions[within.positions.length - 1], null);
    else refresh(section);
  }
}

function sentences(chart, within) {
  const found = [];
  const runs = runsAt(chart, within.position);
  const recorded = runs.filter((index) => chart.points[index][3] >= 0);
  const longest = Math.max(0, ...recorded.map((index) => timelineOf(chart, index).reports));
  if (!runs.length) found.push("No run of this revision gave a figure.");
  else if (!longest) found.push("No throughput within the run was recorded.");
  else if (longest === 1) found.push("The step is so short that there is one report a run: nothing can be seen within it.");
  chart.failed.filter((point) => point[0] === within.position).forEach((point) =>
    found.push(`Repetition ${point[1]} failed: ${point[2] || "no reason was recorded"}.`));
  runs.forEach((index) => {
    const repetition = `Repetition ${chart.points[index][1]}`;
    if (index in chart.sla) found.push(`${repetition} failed its SLA: ${chart.sla[index]}.`);
    (chart.marks[index] || []).forEach((mark) => found.push(`${repetition}: ${mark}${/[.!?]$/.test(mark) ? "" : "."}`));
  });
  const focus = within.focus;
  if (focus !== null && recorded.includes(focus)) {
    const line = timelineOf(chart, focus);
    const shaded = [];
    if (line.stalls?.length) shaded.push("stalls, below a tenth of the median throughput");
    if (line.warming) shaded.push(`the first ${number(line.warming)} s, until the throughput was steady`);
    if (shaded.length) found.push(`Shaded: ${shaded.join("; ")}.`);
    if (line.thinned) found.push(`Of ${number(line.reports)} reports ${number(line.t.length)} are drawn, every peak and every dip among them.`);
  }
  if (focus !== null) found.push(`Bundle: ${data.runs[chart.points[focus][2]]}.`);
  return found;
}

function drawOverTime(section, panel, chart, within) {
  const drawn = within.positions.flatMap((position) => runsAt(chart, position))
    .filter((index) => chart.points[index][3] >= 0)
    // The strong line lies on top.
    .sort((a, b) => (a === within.focus) - (b === within.focus));
  if (!drawn.length) return;
  // Of every revision one run: that many lines can be told apart.
  const told = drawn.filter((index) => index === within.focus
    || (chart.points[index][0] !== within.position && index === runsAt(chart, chart.points[index][0]).find((one) => chart.points[one][3] >= 0)));
  const moves = (field) => told.some((index) => {
    const line = timelineOf(chart, index).activity[field];
    return line && line.v.some((value) => value !== line.v[0]);
  });
  const fields = chart.fields.filter(moves);
  const rows = within.allRows ? fields : fields.slice(0, FIRST_ROWS);
  const inner = THROUGHPUT_HEIGHT + rows.length * (ROW_HEIGHT + ROW_GAP);
  const plot = element("div", "plot");
  plot.style.height = `${inner + FOOT + 8}px`;
  panel.append(plot);
  if (fields.length > FIRST_ROWS) {
    const more = element("button", "more", within.allRows ? "fewer" : `${fields.length - FIRST_ROWS} more that moved`);
    more.type = "button";
    more.dataset.name = "more";
    more.addEventListener("click", () => { within.allRows = !within.allRows; refresh(section); });
    panel.append(more);
  }

  const revisions = data.lines[chart.line];
  const style = (index) => {
    const { color, dash } = lookOf(chart.points[index][0]);
    const strong = index === within.focus;
    return { line: { color, dash, width: strong ? 2 : 1 }, opacity: strong ? 1 : 0.45 };
  };
  const traces = drawn.map((index) => {
    const line = timelineOf(chart, index);
    const [position, repetition] = chart.points[index];
    return {
      x: line.t, y: line.v, yaxis: "y", mode: line.v.length > 60 ? "lines" : "lines+markers", marker: { size: 5 }, ...style(index),
      name: `${plain(revisions[position])}, repetition ${repetition}`,
      ...(index === within.focus || drawn.length === 1
        ? { text: line.v.map((value) => `${number(value)} ${plain(chart.unit || "operations")}/s`), hovertemplate: "%{text}<extra></extra>" }
        : { hoverinfo: "skip" }),
    };
  });
  const share = (pixels) => pixels / inner;
  const title = (text) => ({ text, standoff: 4, font: { size: 11, color: css("--soft") } });
  const axis = { fixedrange: true, gridcolor: css("--rule"), zeroline: false, automargin: false, separatethousands: true, tickfont: { size: 11 } };
  const lines = drawn.map((index) => timelineOf(chart, index));
  const last = Math.max(1, ...lines.flatMap((line) => line.t));
  const high = Math.max(1, ...lines.flatMap((line) => line.v));
  const layout = base({
    margin: { l: 58, r: 14, t: 8, b: FOOT },
    hovermode: "x unified", hoversubplots: "axis",
    // The line at what is pointed at is drawn with an edge that fits the ground, if there is one.
    paper_bgcolor: css("--raised"), plot_bgcolor: css("--raised"),
    xaxis: {
      title: title("seconds"), range: [0, last * 1.02], showgrid: false, zeroline: false, linecolor: css("--rule"),
      anchor: rows.length ? `y${rows.length + 1}` : "y", fixedrange: !matchMedia("(pointer: fine)").matches, unifiedhovertitle: { text: "%{x:.1f} s" },
      spikecolor: css("--soft"), spikethickness: 1, spikedash: "dot",
    },
    yaxis: { ...axis, domain: [1 - share(THROUGHPUT_HEIGHT), 1], range: [0, high * 1.1], nticks: 5, title: title(`${plain(chart.unit || "operations")}/s`) },
    annotations: [], shapes: [],
  });
  rows.forEach((field, row) => {
    const { label, unit } = data.fields[field];
    const own = told.filter((index) => timelineOf(chart, index).activity[field]);
    const most = Math.max(...own.flatMap((index) => timelineOf(chart, index).activity[field].v.map(Math.abs)));
    const [scale, shown] = readable(unit, most);
    const top = 1 - share(THROUGHPUT_HEIGHT + ROW_GAP + row * (ROW_HEIGHT + ROW_GAP));
    const values = own.flatMap((index) => timelineOf(chart, index).activity[field].v.map((value) => value / scale));
    const range = extent(values, Math.min(...values) < Math.max(...values) / 2);
    layout[`yaxis${row + 2}`] = { ...axis, domain: [Math.max(0, top - share(ROW_HEIGHT)), top], range, nticks: 3, anchor: "x" };
    layout.annotations.push({
      text: plain(shown ? `${label}, ${shown}` : label), xref: "paper", yref: "paper", x: 0, y: top, xanchor: "left", yanchor: "bottom",
      showarrow: false, font: { size: 11, color: css("--soft") },
    });
    own.forEach((index) => {
      const line = timelineOf(chart, index).activity[field];
      traces.push({
        x: line.t, y: line.v.map((value) => value / scale), yaxis: `y${row + 2}`, mode: "lines", ...style(index), name: plain(label), hoverinfo: "skip",
      });
      if (index !== within.focus) return;
      // Of level stretches the ends alone are kept, but something is to be told everywhere.
      const { t } = timelineOf(chart, index);
      const values = t.map((at) => valueAt(line, at));
      traces.push({
        x: t, y: values.map((value) => (value === null ? null : value / scale)), yaxis: `y${row + 2}`, mode: "markers", marker: { opacity: 0, color: style(index).line.color },
        text: values.map((value) => `${plain(label)}: ${number(value === null ? null : value / scale)} ${plain(shown)}`), hovertemplate: "%{text}<extra></extra>",
      });
    });
  });
  const strong = drawn.includes(within.focus) ? timelineOf(chart, within.focus) : {};
  const shade = (from, until, colour) => layout.shapes.push({
    type: "rect", yref: "paper", y0: 0, y1: 1, x0: from, x1: until, fillcolor: css(colour), opacity: 0.16, line: { width: 0 }, layer: "below",
  });
  (strong.stalls || []).forEach(([from, until]) => shade(from, until, "--failed"));
  if (strong.warming) shade(0, strong.warming, "--soft");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${chart.step}: throughput over ${number(last)} seconds of ${drawn.length} runs`
    + (rows.length ? `; under it ${rows.map((field) => data.fields[field].label).join(", ")}` : ""));
  Plotly.newPlot(plot, traces, layout, SLIM);
}

// What a line says at a moment: between two points what is drawn, at its ends no farther than a second.
function valueAt(line, at) {
  const after = line.t.findIndex((known) => known >= at);
  if (after > 0) {
    const part = (at - line.t[after - 1]) / (line.t[after] - line.t[after - 1]);
    return line.v[after - 1] + part * (line.v[after] - line.v[after - 1]);
  }
  const end = after < 0 ? line.t.length - 1 : 0;
  return Math.abs(line.t[end] - at) <= 1 ? line.v[end] : null;
}

// Bytes are written in what they are many of; the rest as it is.
function readable(unit, most) {
  const [counted, per] = unit.split("/");
  if (counted !== "bytes") return [1, unit === "1/s" ? "per second" : unit];
  const names = ["bytes", "KB", "MB", "GB", "TB"];
  const power = Math.min(names.length - 1, Math.max(0, Math.floor(Math.log(most) / Math.log(KILO))));
  return [KILO ** power, per ? `${names[power]}/${per}` : names[power]];
}

function hide(section) {
  const state = states.get(section.id);
  if (!state.within) return;
  const { opened } = state.within;
  state.within = null;
  section.querySelector(".within").hidden = true;
  section.querySelectorAll("tr.chosen").forEach((row) => row.classList.remove("chosen"));
  section.querySelector(`tbody button[data-position="${opened}"]`).focus();
}
