// What the scripts of every page share: its data, elements, numbers, tables.
const index = JSON.parse(document.getElementById("index").textContent);
const LEAST_SPAN = 0.1; // of the level: an axis that shows less makes noise look like news
const LONGEST_LABEL = 14; // letters of a revision's name where there is little room
const SERIES = 6; // colours of lines, as the style names them
const DASHES = [[], [6, 3], [2, 2], [6, 2, 2, 2]];

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const drawing = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
};
const say = (text) => { document.getElementById("said").textContent = text; };

// Made once: a format is looked up anew by every toLocaleString.
const formats = [0, 1, 2, 4].map((digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }));
const missing = (value) => value === null || value === undefined || Number.isNaN(value);
const number = (value) => {
  if (missing(value)) return "–";
  const size = Math.abs(value);
  const format = formats[size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3];
  return format.format(value).replaceAll(",", "\u202f");
};
const ratioText = (ratio) => (missing(ratio) ? "–" : ratio.toFixed(ratio >= 10 ? 1 : 2));
const cut = (label) => (label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label);

const metricOf = (name) => index.metrics[name] || { unit: "", more: true, help: name };
const unitOf = (metric) => {
  const { unit } = metricOf(metric);
  return unit === "count" || unit === "ratio" ? "" : unit;
};
const withUnit = (metric) => (unitOf(metric) ? `${metric}, ${unitOf(metric)}` : metric);

// The ends of an axis that shows some values.
function extent(values, zero) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (missing(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const centre = (low + high) / 2;
  const least = Math.abs(centre) * LEAST_SPAN || 1;
  if (high - low < least) [low, high] = [centre - least / 2, centre + least / 2];
  const room = (high - low) * 0.08;
  if (zero || low - room <= 0) return [Math.min(0, low), high + room];
  return [low - room, high + room];
}

// The look of the line at a place, the same in all charts of a page.
const lookOf = (place) => ({ colour: `--series-${place % SERIES}`, dash: DASHES[Math.floor(place / SERIES) % DASHES.length] });

// A short piece of a line, for what names it.
function swatch({ colour, dash }) {
  const line = drawing("line", { x1: 0, x2: 18, y1: 4, y2: 4, "stroke-width": 3, "stroke-dasharray": dash.join(" ") });
  line.style.stroke = `var(${colour})`;
  return drawing("svg", { width: 18, height: 8, "aria-hidden": true }, line);
}

function linked(text, address) {
  const made = element("a", "", text);
  made.href = address;
  return made;
}

function pushed(id, text, act) {
  const button = element("button", "", text);
  button.type = "button";
  if (id) button.id = id;
  button.addEventListener("click", act);
  return button;
}

const sign = (worse) => {
  const made = element("span", `sign ${worse ? "worse" : "better"}`, worse ? "▼" : "▲");
  made.setAttribute("aria-hidden", "true");
  return made;
};

function table(caption, heads, rows, className = "") {
  const made = element("table", className);
  made.append(element("caption", "", caption));
  const head = element("tr");
  heads.forEach((text, place) => {
    const cell = element("th", place ? "" : "name", text);
    cell.scope = "col";
    head.append(cell);
  });
  made.createTHead().append(head);
  made.createTBody().append(...rows);
  const around = element("div", "wide");
  around.tabIndex = 0;
  around.setAttribute("role", "region");
  around.setAttribute("aria-label", caption);
  around.append(made);
  return around;
}

// A row of cells, each a text or an element; the first is its head.
function row(cells) {
  const made = element("tr");
  cells.forEach((content, place) => {
    if (content instanceof HTMLTableCellElement) { made.append(content); return; }
    const cell = element(place ? "td" : "th", place ? "" : "name");
    if (!place) cell.scope = "row";
    cell.append(content);
    made.append(cell);
  });
  return made;
}
