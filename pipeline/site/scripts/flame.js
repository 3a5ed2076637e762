// A differential flame graph of counted instructions. Callers stand above the functions they call.
const FRAME = 19; // pixels of a row
const DEEPEST_COLOUR = 45; // percent of a colour, so that text on it can be read in light and in dark
const LIGHTEST_COLOUR = 10;
const EQUAL = 0.0005; // of the whole: below this a frame is unchanged
const LEAST_TEXT = 2.5; // percent of the width that a text needs

const signed = (value, digits = 1) => {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) ? `${value > 0 ? "+" : "−"}${text}` : "±0";
};

/* frames: [function, parent, before, after, own before, own after] each behind its caller; the first is the whole */
function flameFrames(frames) {
  const made = frames.map(([name, parent, before, after]) => ({ name: name || "the whole operation", parent, before, after, width: Math.max(before, after), depth: 0, left: 0, calls: [] }));
  made.forEach((frame) => { if (frame.parent >= 0) { made[frame.parent].calls.push(frame); frame.depth = made[frame.parent].depth + 1; } });
  // Both a function that is gone and one that took its place have room.
  made.toReversed().forEach((frame) => {
    frame.calls.sort((one, other) => (one.name < other.name ? -1 : 1));
    frame.width = Math.max(frame.width, frame.calls.reduce((sum, { width }) => sum + width, 0));
  });
  made.forEach((frame) => {
    let { left } = frame;
    frame.calls.forEach((call) => { call.left = left; left += call.width; });
  });
  return made;
}

const inOrder = (frame) => [frame, ...frame.calls.flatMap(inOrder)];

function flameGraph(caption, given) {
  const frames = flameFrames(given);
  const [root] = frames;
  const most = Math.max(...frames.map(({ before, after }) => Math.abs(after - before)));
  const part = ({ before, after }) => (100 * (after - before)) / root.before;
  const plot = element("div", "flame");
  plot.style.height = `${FRAME * (1 + Math.max(...frames.map(({ depth }) => depth)))}px`;
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${caption}; the tables have its values`);
  frames.forEach((frame) => {
    const change = frame.after - frame.before;
    const wide = (100 * frame.width) / root.width;
    const box = element("div", "frame");
    Object.assign(box.style, { left: `${(100 * frame.left) / root.width}%`, width: `${wide}%`, top: `${frame.depth * FRAME}px` });
    if (Math.abs(change) >= EQUAL * root.before) {
      box.style.setProperty("--way", `var(--${change > 0 ? "worse" : "better"})`);
      box.style.setProperty("--part", `${Math.round(LIGHTEST_COLOUR + ((DEEPEST_COLOUR - LIGHTEST_COLOUR) * Math.abs(change)) / most)}%`);
    }
    const said = Math.abs(change) >= EQUAL * root.before ? `${frame.name} ${signed(part(frame))} %` : frame.name;
    if (wide >= LEAST_TEXT) box.textContent = said;
    box.title = `${frame.name}: ${exact(frame.before)} before, ${exact(frame.after)} after, ${signed(part(frame), 2)} % of the operation`;
    plot.append(box);
  });
  const figure = element("figure", "chart");
  figure.append(element("figcaption", "", caption), plot,
    element("p", "of", "Width: instructions per operation, on the side that has more. Orange with + is more than before, blue with − is less, stronger for larger changes; the number is the change in percent of the whole operation. Functions called from several places are divided among them."));
  return { figure, calls: () => callTable(caption, root) };
}

// Every frame as a row, under the one that calls it.
function callTable(caption, root) {
  const rows = inOrder(root).map(({ name, depth, before, after }) => {
    const head = element("th", "name", name);
    head.scope = "row";
    head.style.paddingLeft = `${0.5 + 0.6 * depth}rem`;
    return row([head, exact(before), exact(after), changed(before, after, root.before)]);
  });
  return table(`${caption}: instructions with those of called functions`, ["Function", "before", "after", "change of the whole"], rows, "calls");
}

// A change in percent of a whole, in the colour and with the sign of its direction.
function changed(before, after, whole) {
  const way = after - before;
  const cell = element("td");
  if (Math.abs(way) >= EQUAL * whole) {
    cell.classList.add(way > 0 ? "worse" : "better");
    cell.append(sign(way > 0), element("span", "hidden", way > 0 ? "worse" : "better"));
  }
  cell.append(`${signed((100 * way) / whole, 2)} %`);
  return cell;
}
