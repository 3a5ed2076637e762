// What the scripts of every page of ours share: elements, colours of the style, numbers, axes.
const LEAST_SPAN = 0.1; // of the level: an axis that shows less makes noise look like news

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
// Made once: a format is looked up anew by every toLocaleString.
const formats = [0, 1, 2, 4].map((digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }));
const number = (value) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const format = formats[size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3];
  return format.format(value).replaceAll(",", "\u202f");
};

function extent(values, zero) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || Number.isNaN(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const middle = (low + high) / 2;
  const least = Math.abs(middle) * LEAST_SPAN || 1;
  if (high - low < least) [low, high] = [middle - least / 2, middle + least / 2];
  const room = (high - low) * 0.08;
  if (zero || low - room <= 0) return [Math.min(0, low), high + room];
  return [low - room, high + room];
}
