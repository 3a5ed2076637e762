// What all charts of the page share: its data, and how they look.
const data = JSON.parse(document.getElementById("data").textContent);
const charts = new Map(data.charts.map((chart) => [chart.id, chart]));
const states = new Map();
const SLIM = { displayModeBar: false, responsive: true };
const SERIES = 6; // colours of lines, as the style names them
const DASHES = ["solid", "dash", "dot", "dashdot"];

// Chart texts are a kind of HTML to the library; names and notes are only text.
const plain = (text) =>
  String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const unitOf = (metric) => {
  const unit = (data.metrics[metric] || { unit: "" }).unit;
  return unit === "count" || unit === "ratio" ? "" : unit;
};

function base(extra) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: css("--ink") },
    showlegend: false,
    hoverlabel: { bgcolor: css("--paper"), bordercolor: css("--soft"), font: { color: css("--ink") }, align: "left" },
    ...extra,
  };
}

// The look of a revision, the same in all charts over time.
const lookOf = (position) => ({
  color: css(`--series-${position % SERIES}`),
  dash: DASHES[Math.floor(position / SERIES) % DASHES.length],
});

// A short piece of a revision's line, for the button that shows it.
function swatch(position) {
  const { color, dash } = lookOf(position);
  const lengths = { solid: "none", dash: "6 3", dot: "2 2", dashdot: "6 2 2 2" };
  const drawn = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    return made;
  };
  const made = drawn("svg", { width: 18, height: 8, "aria-hidden": true });
  made.append(drawn("line", { x1: 0, x2: 18, y1: 4, y2: 4, stroke: color, "stroke-width": 3, "stroke-dasharray": lengths[dash] }));
  return made;
}
