// A chart as people meet it: drawn when it comes into view, pointed at, and walked by keyboard.
const DRAGGED = 8; // pixels from which on a press is a choice of a range

const drawn = new Set();
const coming = new IntersectionObserver((entries) => entries.forEach((entry) => {
  if (!entry.isIntersecting) return;
  coming.unobserve(entry.target);
  entry.target.draw();
}), { rootMargin: "200px 0px" });
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => entry.target.seen && entry.target.draw()));

function forgetChart(canvas) {
  coming.unobserve(canvas);
  sizes.unobserve(canvas);
  drawn.delete(canvas);
}
const drawAll = (unseen) => drawn.forEach((canvas) => { if (unseen || canvas.seen) canvas.draw(); });

const say = (text) => { document.getElementById("said").textContent = text; };

/* One chart as a figure. `of` has
   caption, link, tags: what stands over it; height: pixels
   labels: names of the points; dates: seconds where the axis is time; range: first and last point
   lines: [{ name, values, colour }]; dots: { places, values } of single runs
   changes: change points; marks: places where something failed; reference: a level to draw
   at: the point that is marked from the start
   tell(place, line): lines of text; pick(place): what Enter and a click do, pickText: what that is
   zoom(first, last): what dragging over a part does */
function chart(of) {
  const figure = element("figure", "chart");
  const caption = element("figcaption");
  if (of.link) {
    const anchor = element("a", "", of.caption);
    anchor.href = of.link;
    caption.append(anchor);
  } else caption.append(of.caption);
  (of.tags || []).forEach((tag) => caption.append(tag));
  const canvas = element("canvas");
  const tip = element("div", "tip");
  tip.hidden = true;
  canvas.tabIndex = 0;
  canvas.style.height = `${of.height}px`;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "chart");
  const { order, lines, x, nearest, draw } = painter(of, canvas);
  const [first, last] = of.range;
  canvas.setAttribute("aria-label",
    `${of.caption}, ${last - first + 1} revisions from ${of.labels[first]} to ${of.labels[last]}, ${of.changes.length} change points. Arrow keys go from one to the next${lines.length > 1 ? ", up and down to another line" : ""}, C to the next change point${of.pick ? `, Enter ${of.pickText}` : ""}.`);

  // The point that is told, by its place from left to right.
  let at = of.at >= first && of.at <= last ? order.indexOf(of.at) : null;
  let line = 0;
  let pressed = null;
  let dragged = null;

  canvas.draw = () => {
    // One that is folded away has no width.
    if (!canvas.clientWidth) return;
    canvas.seen = true;
    draw(at === null ? null : [at, line], dragged === null ? null : [pressed, dragged]);
  };

  function point(to, spoken) {
    at = to;
    canvas.draw();
    tip.hidden = at === null;
    if (at === null) return;
    const told = of.tell(order[at], line);
    tip.replaceChildren(...told.split("\n").map((text) => element("div", "", text)));
    const room = figure.clientWidth - tip.offsetWidth;
    const beside = x(order[at]) + 10;
    tip.style.left = `${Math.max(0, Math.min(beside + tip.offsetWidth > figure.clientWidth ? x(order[at]) - tip.offsetWidth - 10 : beside, room))}px`;
    if (spoken) say(told.replaceAll("\n", ", "));
  }

  const nextChange = (from, way) => {
    const places = [...new Set(of.changes.map((change) => order.indexOf(change.at)))].filter((place) => place >= 0).sort((a, b) => (a - b) * way);
    return places.find((place) => (place - from) * way > 0) ?? from;
  };
  canvas.addEventListener("keydown", (event) => {
    const end = order.length - 1;
    const from = at ?? end;
    const to = {
      ArrowLeft: Math.max(0, from - 1), ArrowRight: Math.min(end, at === null ? end : from + 1), Home: 0, End: end,
      PageUp: Math.max(0, from - 10), PageDown: Math.min(end, from + 10), ArrowUp: from, ArrowDown: from,
      c: nextChange(at ?? -1, 1), C: nextChange(at ?? end + 1, -1),
    }[event.key];
    if (event.key === "Enter" && of.pick) { event.preventDefault(); of.pick(order[from]); return; }
    if (event.key === "Escape") { point(null); return; }
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (event.key === "ArrowUp") line = (line + lines.length - 1) % lines.length;
    if (event.key === "ArrowDown") line = (line + 1) % lines.length;
    point(to, true);
  });
  canvas.addEventListener("blur", () => point(null));
  canvas.addEventListener("pointerdown", (event) => {
    pressed = event.offsetX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (pressed !== null && of.zoom && event.pointerType === "mouse" && Math.abs(event.offsetX - pressed) > DRAGGED) dragged = event.offsetX;
    point(nearest(event.offsetX), false);
  });
  canvas.addEventListener("pointerup", (event) => {
    const from = pressed;
    const zoomed = dragged !== null;
    pressed = null;
    dragged = null;
    if (zoomed) {
      const chosen = [order[nearest(from)], order[nearest(event.offsetX)]].sort((a, b) => a - b);
      of.zoom(chosen[0], chosen[1]);
    } else if (from !== null && of.pick) of.pick(order[nearest(event.offsetX)]);
  });
  canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) point(null); });

  drawn.add(canvas);
  coming.observe(canvas);
  sizes.observe(canvas);
  figure.append(caption, canvas, tip);
  return figure;
}

