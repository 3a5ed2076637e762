// A metric of a step over the revisions of a line, with its change points.
const JITTER = 0.1; // of a revision's width, so that repetitions with one value stay apart
const MOST_LABELS = 30;
const LABEL_HEIGHT = 15; // pixels
const LETTERS_ACROSS = 48; // of all revisions' names together, before they are slanted

function draw(section) {
  const chart = charts.get(section.id);
  const state = states.get(section.id);
  const metric = state.metric;
  const place = section.querySelector(".chart");
  if (!chart.values[metric]) return;
  const values = chart.values[metric];
  const medians = chart.medians[metric];
  const revisions = data.lines[chart.line];
  const reference = medians[chart.base];
  const range = extent(values, state.zero);
  const repetitions = Math.max(1, ...chart.points.map((point) => point[1]));
  const across = (point) => point[0] + (point[1] - (repetitions + 1) / 2) * Math.min(JITTER, 0.5 / repetitions);
  const versus = (value) =>
    reference && value !== null
      ? `<br>${(value / reference).toFixed(3)} of ${plain(revisions[chart.base])}` : "";
  const unit = unitOf(metric);
  const shifts = chart.shifts.filter((shift) => shift.metric === metric);
  const every = Math.ceil(revisions.length / MOST_LABELS);
  const shown = revisions.map((_, index) => index).filter((index) => index % every === 0);
  // What failed its SLA has no figure but those of the SLA.
  const missed = Object.keys(chart.sla).map(Number).filter((index) => values[index] === null);
  const failedAt = range[0] + (range[1] - range[0]) * 0.03;

  const traces = [
    {
      x: medians.map((_, index) => index), y: medians, mode: "lines", connectgaps: true,
      line: { color: css("--ink"), width: 1.6 }, hoverinfo: "skip",
    },
    {
      x: chart.points.map(across), y: values, mode: "markers", customdata: chart.points.map((_, index) => index),
      marker: {
        color: css("--dot"), size: 7, opacity: 0.75, line: { color: css("--paper"), width: 1 },
        // A run that is marked has a hollow dot.
        symbol: chart.points.map((_, index) => (index in chart.marks ? "circle-open" : "circle")),
      },
      text: chart.points.map((point, index) =>
        `<b>${plain(revisions[point[0]])}</b>, repetition ${point[1]}<br>${number(values[index])} ${plain(unit)}${versus(values[index])}${(chart.marks[index] || []).map((mark) => `<br>${plain(mark)}`).join("")}`),
      hovertemplate: "%{text}<extra></extra>",
    },
    {
      x: chart.failed.map((point) => across(point)), y: chart.failed.map(() => failedAt), mode: "markers",
      marker: { symbol: "x", color: css("--failed"), size: 9 },
      text: chart.failed.map((point) =>
        `<b>${plain(revisions[point[0]])}</b>, repetition ${point[1]}<br>failed: ${plain(point[2] || "no reason was recorded")}`),
      hovertemplate: "%{text}<extra></extra>",
    },
    {
      x: missed.map((index) => across(chart.points[index])), y: missed.map(() => failedAt), mode: "markers",
      marker: { symbol: "triangle-down-open", color: css("--failed"), size: 10, line: { width: 2 } }, customdata: missed,
      text: missed.map((index) =>
        `<b>${plain(revisions[chart.points[index][0]])}</b>, repetition ${chart.points[index][1]}<br>failed its SLA: ${plain(chart.sla[index])}`),
      hovertemplate: "%{text}<extra></extra>",
    },
  ];
  if (reference) {
    // The library draws an axis only for a trace of its own.
    traces.push({ x: [0], y: [1], yaxis: "y2", mode: "markers", marker: { opacity: 0 }, hoverinfo: "skip" });
  }
  const shapes = [];
  if (reference) {
    shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: reference, y1: reference, line: { color: css("--soft"), width: 1, dash: "dot" }, layer: "below" });
  }
  const annotations = [];
  shifts.forEach((shift, index) => {
    const colour = css(shift.worse ? "--worse" : "--better");
    // The change lies after revision `after` and at the latest at `latest`.
    shapes.push({ type: "rect", yref: "paper", y0: 0, y1: 1, x0: shift.after + 0.2, x1: shift.latest - 0.2, fillcolor: colour, opacity: 0.14, line: { width: 0 }, layer: "below" });
    shapes.push({ type: "line", yref: "paper", y0: 0, y1: 1, x0: shift.position - 0.5, x1: shift.position - 0.5, line: { color: colour, width: 1.5, dash: "dash" } });
    annotations.push({
      x: shift.position - 0.5, y: 1, yref: "paper", yanchor: "bottom", xanchor: "center", showarrow: false,
      // Neighbours stand in two rows, so that one does not cover the other.
      yshift: (index % 2) * LABEL_HEIGHT,
      text: `<b>${shift.worse ? "▼" : "▲"} ${plain(shift.text)}</b>`, font: { color: colour, size: 12 },
      hovertext: `change point at ${plain(revisions[shift.position])}<br>95 % interval ${plain(shift.interval)}`,
    });
  });
  const layout = base({
    margin: { l: 58, r: 46, t: 6 + Math.min(2, shifts.length) * LABEL_HEIGHT, b: 30 },
    hovermode: "closest", shapes, annotations,
    xaxis: {
      range: [-0.6, revisions.length - 0.4], tickvals: shown, ticktext: shown.map((index) => plain(revisions[index])),
      tickangle: shown.reduce((sum, index) => sum + revisions[index].length + 1, 0) > LETTERS_ACROSS ? -45 : 0,
      fixedrange: true, showgrid: false, zeroline: false, automargin: true, linecolor: css("--rule"),
    },
    yaxis: {
      range, fixedrange: true, gridcolor: css("--rule"), zeroline: false, nticks: 6,
      title: { text: plain(metric === "qps" ? `${chart.unit || "operations"}/s` : unit ? `${metric}, ${unit}` : metric), standoff: 6, font: { size: 11, color: css("--soft") } },
      automargin: true, separatethousands: true,
    },
  });
  if (reference) {
    layout.yaxis2 = {
      overlaying: "y", side: "right", range: range.map((bound) => bound / reference), fixedrange: true, showgrid: false,
      zeroline: false, nticks: 6, tickmode: "auto", tickformat: ".2f", tickfont: { color: css("--soft"), size: 11 }, automargin: true,
    };
  }
  section.querySelector(".axis").textContent =
    `y axis from ${range[0] <= 0 ? "zero" : `${number(range[0])}, not zero`}` +
    (reference ? `; right: relative to ${revisions[chart.base]}` : "");
  section.querySelectorAll("thead button").forEach((button) =>
    button.setAttribute("aria-pressed", String(button.dataset.metric === metric)));
  Plotly.react(place, traces, layout, SLIM).then(() => {
    if (state.listening) return;
    state.listening = true;
    place.on("plotly_click", (event) => {
      const index = event.points[0].customdata;
      if (index !== undefined) show(section, chart.points[index][0], index);
    });
  });
  place.setAttribute("role", "img");
  place.setAttribute("aria-label",
    `${chart.step}, ${metric} over ${revisions.length} revisions, ${shifts.length} change points; the table beside it has the medians`);
}
