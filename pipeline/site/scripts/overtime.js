// Runs over time: throughput and, under it on the same time axis, what the DBMS did meanwhile.
const THROUGHPUT_HEIGHT = 190; // pixels
const ROW_HEIGHT = 68;
const FIRST_ROWS = 6; // shown at once
const FOOT = 41; // with the time axis
const KILO = 1024;

const timelineOf = (of, run) => index.timelines[of.points[run][3]];
const runsAt = (of, position) =>
  of.points.map((_, run) => run).filter((run) => of.points[run][0] === position);

// What a revision is laid beside: the one before its last change, without any the base.
function comparedWith(of, position) {
  const before = of.changes.filter(({ at }) => at <= position).map(({ after }) => after);
  return before.length ? Math.max(...before) : of.base;
}

// Opens the panel of a step for a revision; `focus` is the run to look at, or null.
function show(section, position, focus) {
  const of = charts.get(section.id);
  const positions = [...new Set([comparedWith(of, position), position])];
  states.get(section.id).within = { opened: position, positions, position, focus, allRows: false };
  look(section, position, focus);
  // Under a long table it would open out of sight.
  section.querySelector(".within").scrollIntoView({ block: "nearest" });
}

// Makes a run the one that is drawn strong, described in words and laid over the activity.
function look(section, position, focus) {
  const of = charts.get(section.id);
  const within = states.get(section.id).within;
  const runs = runsAt(of, position);
  const recorded = runs.filter((run) => of.points[run][3] >= 0);
  within.position = position;
  within.focus = focus ?? recorded[0] ?? runs[0] ?? null;
  refresh(section);
}

function refresh(section) {
  const of = charts.get(section.id);
  const within = states.get(section.id).within;
  const panel = section.querySelector(".within");
  const pressed = document.activeElement && panel.contains(document.activeElement)
    ? document.activeElement.dataset.name : undefined;
  const says = element("p", "says");
  says.textContent = sentences(of, within).join(" ");
  forget(panel);
  panel.replaceChildren(chooser(section, of, within), says);
  panel.hidden = false;
  section.querySelectorAll("tbody tr").forEach((row) => {
    const button = row.querySelector("button[data-position]");
    if (button) row.classList.toggle("chosen", within.positions.includes(Number(button.dataset.position)));
  });
  drawOverTime(section, panel, of, within);
  drawResponses(panel, of, within);
  // What was pressed was made anew.
  if (pressed) panel.querySelector(`[data-name="${CSS.escape(pressed)}"]`)?.focus();
}

function chooser(section, of, within) {
  const revisions = index.lines[of.line];
  const head = element("div", "head");
  const title = element("div", "row");
  title.append(element("b", "", `${of.step}, ${revisions[within.position]}: over time`));
  const button = (into, className, text, on, pressed) => {
    const made = pushed("", text, on);
    made.className = className;
    made.dataset.name = `${className} ${text}`;
    if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
    into.append(made);
    return made;
  };
  button(title, "close", "close", () => hide(section));
  head.append(title);

  const shown = element("div", "row");
  shown.setAttribute("role", "group");
  shown.setAttribute("aria-label", "revisions shown");
  const present = revisions.map((_, at) => at).filter((at) =>
    runsAt(of, at).length || of.failed.some((point) => point[0] === at));
  present.forEach((at) => {
    const made = button(shown, "revision", revisions[at], () => choose(section, at), within.positions.includes(at));
    made.prepend(swatch(lookOf(at)));
  });
  if (present.length > 2) {
    const all = present.every((at) => within.positions.includes(at));
    button(shown, "every", "all", () => {
      within.positions = all ? [within.position] : present;
      refresh(section);
    }, all);
  }
  head.append(shown);

  const runs = runsAt(of, within.position);
  if (runs.length > 1) {
    const repetitions = element("div", "row");
    repetitions.setAttribute("role", "group");
    repetitions.setAttribute("aria-label", `repetitions of ${revisions[within.position]}`);
    runs.forEach((run) => button(repetitions, "repetition", `repetition ${of.points[run][1]}`,
      () => look(section, within.position, run), run === within.focus));
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

function sentences(of, within) {
  const found = [];
  const runs = runsAt(of, within.position);
  const recorded = runs.filter((run) => of.points[run][3] >= 0);
  const longest = Math.max(0, ...recorded.map((run) => timelineOf(of, run).reports));
  if (!runs.length) found.push("No run of this revision has results.");
  else if (!longest) found.push("No throughput within the run was recorded.");
  else if (longest === 1) found.push("The step is so short that each run has only one report, so nothing is shown over time.");
  of.failed.filter((point) => point[0] === within.position).forEach((point) =>
    found.push(`Repetition ${point[1]} failed: ${point[2] || "no reason was recorded"}.`));
  runs.forEach((run) => {
    const repetition = `Repetition ${of.points[run][1]}`;
    if (run in of.sla) found.push(`${repetition} failed its SLA: ${of.sla[run]}.`);
    (of.marks[run] || []).forEach((mark) => found.push(`${repetition}: ${mark}${/[.!?]$/.test(mark) ? "" : "."}`));
  });
  const focus = within.focus;
  if (focus !== null && recorded.includes(focus)) {
    const line = timelineOf(of, focus);
    const shaded = [];
    if (line.stalls?.length) shaded.push("stalls, below a tenth of the median throughput");
    if (line.warming) shaded.push(`the first ${number(line.warming)} s, until the throughput was steady`);
    if (shaded.length) found.push(`Shaded: ${shaded.join("; ")}.`);
    if (line.thinned) found.push(`${number(line.t.length)} of ${number(line.reports)} reports are drawn, with every peak and dip.`);
  }
  if (focus !== null) found.push(`Bundle: ${index.runs[of.points[focus][2]]}.`);
  return found;
}

// A chart of throughput, and under it one for each field, which share the pointer and the time axis.
function drawOverTime(section, panel, of, within) {
  const shown = within.positions.flatMap((position) => runsAt(of, position))
    .filter((run) => of.points[run][3] >= 0)
    // The strong line lies on top.
    .sort((a, b) => (a === within.focus) - (b === within.focus));
  if (!shown.length) return;
  // Of every revision one run: that many lines can be distinguished.
  const described = shown.filter((run) => run === within.focus
    || (of.points[run][0] !== within.position && run === runsAt(of, of.points[run][0]).find((one) => of.points[one][3] >= 0)));
  const moves = (field) => described.some((run) => timelineOf(of, run).activity[field]?.v.some((value, _, all) => value !== all[0]));
  const fields = of.fields.filter(moves);
  const rows = within.allRows ? fields : fields.slice(0, FIRST_ROWS);
  const strong = shown.includes(within.focus) ? timelineOf(of, within.focus) : null;
  const last = Math.max(1, ...shown.flatMap((run) => timelineOf(of, run).t));
  const unit = `${of.unit || "operations"}/s`;
  const scaled = rows.map((field) => {
    const { label, unit: counted } = index.fields[field];
    const own = described.filter((run) => timelineOf(of, run).activity[field]);
    const [scale, text] = readable(counted, Math.max(...own.flatMap((run) => timelineOf(of, run).activity[field].v.map(Math.abs))));
    return { field, own, scale, text, label };
  });
  const describe = (at) => [`${at.toFixed(1)} s`, ...(strong ? [
    `${number(valueAt(strong, at))} ${unit}`,
    ...scaled.filter(({ field }) => strong.activity[field]).map(({ field, scale, text, label }) => {
      const value = valueAt(strong.activity[field], at);
      return `${label}: ${number(value === null ? null : value / scale)} ${text}`.trim();
    })] : [])].join("\n");
  const chartOf = (runs, lineOf, scale, more) => {
    const found = runs.map(lineOf);
    const x = [...new Set(found.flatMap(({ t }) => t))].sort((a, b) => a - b);
    const place = new Map(x.map((at, number_) => [at, number_]));
    return chart({
      x, together: `over-time-${section.id}`, describe: (number_) => describe(x[number_]),
      lines: found.map(({ t, v }, number_) => {
        const values = new Array(x.length).fill(null);
        t.forEach((at, point) => { values[place.get(at)] = v[point] / scale; });
        const focused = runs[number_] === within.focus;
        return { values, ...lookOf(of.points[runs[number_]][0]), width: focused ? 2 : 1, faint: !focused };
      }),
      shades: [...(strong?.stalls || []).map(([from, until]) => ({ from, until, colour: "--failed" })), ...(strong?.warming ? [{ from: 0, until: strong.warming, colour: "--soft" }] : [])],
      // All of it, but for what was zoomed into.
      xScale: { range: (u, low, high) => (low <= x[0] && high >= x[x.length - 1] ? [0, last * 1.02] : [low, high]) },
      ...more,
    });
  };
  const high = Math.max(1, ...shown.flatMap((run) => timelineOf(of, run).v));
  const bottom = { label: "seconds" };
  const plots = element("div", "plots");
  plots.append(chartOf(shown, (run) => timelineOf(of, run), 1, {
    caption: unit, height: rows.length ? THROUGHPUT_HEIGHT : THROUGHPUT_HEIGHT + FOOT, range: [0, high * 1.1],
    label: `${of.step}: throughput over ${number(last)} seconds of ${shown.length} runs${rows.length ? `; under it ${scaled.map(({ label }) => label).join(", ")}` : ""}`,
    xAxis: rows.length ? { show: false } : bottom,
  }), ...scaled.map(({ field, own, scale, text, label }, number_) => {
    const values = own.flatMap((run) => timelineOf(of, run).activity[field].v.map((value) => value / scale));
    return chartOf(own, (run) => timelineOf(of, run).activity[field], scale, {
      caption: text ? `${label}, ${text}` : label, label: `${label} over ${number(last)} seconds`,
      height: number_ < rows.length - 1 ? ROW_HEIGHT : ROW_HEIGHT + FOOT,
      range: extent(values, Math.min(...values) < Math.max(...values) / 2), xAxis: number_ < rows.length - 1 ? { show: false } : bottom,
    });
  }));
  panel.append(plots);
  if (fields.length <= FIRST_ROWS) return;
  const more = pushed("", within.allRows ? "fewer" : `${fields.length - FIRST_ROWS} more that moved`, () => { within.allRows = !within.allRows; refresh(section); });
  more.className = "more";
  more.dataset.name = "more";
  panel.append(more);
}

// The value of a line at a moment: between two points what is drawn, at its ends no farther than a second.
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
