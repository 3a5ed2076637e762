// Every chart is one of uPlot in a figure: drawn when it comes near, pointed at, walked by keyboard.
const FONT = "11px system-ui, sans-serif";
const LEFT = 60; // pixels of the axis at the left, so that charts above one another are in line
const TEXT = 15; // pixels of a line of text
const DRAGGED = 8; // pixels from which on a press is a choice of a range
const DENSE = 1.5; // points for each pixel from which on a line is its level over a faint band
const STRETCH = 3; // pixels that share a point of the level
const FEW = 60; // points that each have a dot
const MANY_DOTS = 2000; // from here on dots are squares, which are drawn faster

const awaited = new Set();
const coming = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && entry.target.draw()), { rootMargin: "400px 0px" });
const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => target.fit()));

// Draws something once, when it comes near or has to be printed.
function whenNear(target, draw) {
  target.draw = () => {
    // What is folded away has no width.
    if (target.seen || !target.clientWidth) return;
    target.seen = true;
    coming.unobserve(target);
    draw();
  };
  awaited.add(target);
  coming.observe(target);
}
const drawAll = () => awaited.forEach((target) => target.draw());
const recolour = () => awaited.forEach(({ uplot }) => uplot?.redraw(false));

// To be called of charts that leave the page.
function forget(within) {
  within.querySelectorAll(".chart > .plot").forEach((plot) => {
    coming.unobserve(plot);
    sizes.unobserve(plot);
    awaited.delete(plot);
    plot.uplot?.destroy();
  });
}

const decimals = (step) => {
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return digits + (Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 ? 1 : 0);
};
const levels = (u, values, axis, space, step) =>
  values.map((value) => (value === null ? null : Math.abs(value) >= 1000 ? number(value) : value.toFixed(decimals(step))));

// The median of each few neighbours, where the middle one of them is.
function levelOf(values, every) {
  const found = new Array(values.length).fill(null);
  for (let from = 0; from < values.length; from += every) {
    const known = values.slice(from, from + every).filter((value) => value !== null).sort((a, b) => a - b);
    if (known.length) found[from + (known.length >> 1)] = (known[(known.length - 1) >> 1] + known[known.length >> 1]) / 2;
  }
  return found;
}

/* A chart. `of` has
   caption, link, tags: what stands over it; height: pixels; label: what it is, in words
   x: ascending numbers; range: the ends of the y axis; smooth: without dots; xScale, xAxis, yScale, yAxis: options of uPlot
   lines: [{ values, colour, dash, width, faint }], values for each x, null where there is none
   base: the value that an axis at the right is relative to; reference: a level to draw
   shades: [{ from, until, colour }]; rules: [{ x, colour, dash, text }], lines from top to bottom
   dots: [{ x, y, hollow }]; marks: [{ x, sign }], ✕ or ▽ at the bottom
   at: the place that is marked from the start; stops: places that `c` goes to
   describe(place, line): lines of text; pick(place, x, y): what Enter and a click do, pickText: what that is
   zoom(first, last): what dragging does; together: the key of charts that share pointer and zoom */
function chart(of) {
  const figure = element("figure", "chart");
  const plot = element("div", "plot");
  const tip = element("div", "tip");
  const stops = [...new Set(of.stops || [])].sort((a, b) => a - b);
  const end = of.x.length - 1;
  let at = null;
  let line = 0;
  if (of.caption) {
    const caption = element("figcaption");
    caption.append(of.link ? linked(of.caption, of.link) : of.caption, ...(of.tags || []));
    figure.append(caption);
  }
  figure.append(plot, tip);
  tip.hidden = true;
  plot.shows = of;
  plot.tabIndex = 0;
  plot.style.height = `${of.height}px`;
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "chart");
  plot.setAttribute("aria-label", `${of.label}. Arrow keys go from one to the next${of.lines.length > 1 ? ", up and down to another line" : ""}${of.stops ? ", C to the next change point" : ""}${of.pick ? `, Enter ${of.pickText}` : ""}.`);

  function describe(place, spoken) {
    at = place;
    tip.hidden = at === null || !(document.activeElement === plot || figure.matches(":hover"));
    if (at === null) return;
    const described = of.describe(at, line);
    tip.replaceChildren(...described.split("\n").map((text) => element("div", "", text)));
    const where = plot.uplot.over.offsetLeft + plot.uplot.valToPos(of.x[at], "x");
    const left = where + 10 + tip.offsetWidth > figure.clientWidth ? where - tip.offsetWidth - 10 : where + 10;
    tip.style.left = `${Math.max(0, Math.min(left, figure.clientWidth - tip.offsetWidth))}px`;
    if (spoken) say(described.replaceAll("\n", ", "));
  }
  const go = (place) => {
    plot.draw();
    // It is drawn in a task of its own.
    queueMicrotask(() => {
      plot.uplot.setCursor({ left: plot.uplot.valToPos(of.x[place], "x"), top: 0 }, false, true);
      describe(place, true);
    });
  };
  const leave = () => { plot.uplot?.setCursor({ left: -10, top: -10 }, false, true); describe(null); };
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || end < 0) return;
    const from = at ?? end;
    if (event.key === "Escape") { leave(); return; }
    if (event.key === "Enter" && of.pick) { event.preventDefault(); of.pick(from); return; }
    const to = {
      ArrowLeft: Math.max(0, from - 1), ArrowRight: at === null ? end : Math.min(end, from + 1), ArrowUp: from, ArrowDown: from,
      Home: 0, End: end, PageUp: Math.max(0, from - 10), PageDown: Math.min(end, from + 10),
      c: stops.find((stop) => stop > (at ?? -1)) ?? from, C: stops.findLast((stop) => stop < (at ?? end + 1)) ?? from,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const way = { ArrowUp: -1, ArrowDown: 1 }[event.key] || 0;
    line = (line + way + of.lines.length) % of.lines.length;
    go(to);
  });
  plot.addEventListener("blur", leave);

  whenNear(plot, () => {
    const plotted = drawn(of, plot, (place) => describe(place));
    plot.uplot = plotted;
    sizes.observe(plot);
    plotted.over.addEventListener("click", (event) => {
      if (of.pick && plotted.cursor.idx !== null) of.pick(plotted.cursor.idx, event.offsetX, event.offsetY);
    });
    plotted.over.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse") plotted.setCursor({ left: event.offsetX, top: event.offsetY });
    });
    plotted.over.addEventListener("pointerleave", () => { if (document.activeElement !== plot) leave(); });
    if (of.at !== undefined) queueMicrotask(() => { plotted.setCursor({ left: plotted.valToPos(of.x[of.at], "x"), top: 0 }, false); at = of.at; });
  });
  plot.fit = () => {
    if (plot.clientWidth && plot.clientWidth !== plot.uplot.width) plot.uplot.setSize({ width: plot.clientWidth, height: of.height });
  };
  return figure;
}

function drawn(of, plot, pointed) {
  const dense = of.x.length > DENSE * plot.clientWidth;
  const every = Math.ceil((of.x.length * STRETCH) / plot.clientWidth);
  const soft = () => css("--soft");
  const grid = { stroke: () => css("--rule"), width: 1 };
  const axis = { stroke: soft, font: FONT, labelFont: FONT, labelSize: TEXT, labelGap: 0, ticks: { show: false }, grid };
  const lined = ({ colour, dash, width, faint }, level) => ({
    stroke: () => css(colour), dash, width: (level ? 1 : width) || 1.5, alpha: level ? 0.3 : faint ? 0.45 : 1, spanGaps: true,
    points: { show: !level && !of.smooth && of.x.length <= FEW && !of.dots?.length, size: 5, fill: () => css(colour) },
  });
  const space = of.height > 200 ? 40 : 26;
  const bands = dense ? of.lines : [];
  const texts = of.rules?.length ? Math.min(2, of.rules.length) : 0;
  return new uPlot({
    width: plot.clientWidth, height: of.height, padding: [8 + texts * TEXT, of.base ? 4 : 24, of.xAxis?.show === false ? 6 : 0, 0],
    legend: { show: false },
    cursor: {
      y: false, points: { size: 7 }, drag: { x: Boolean(of.zoom || of.together), y: false, setScale: Boolean(of.together), dist: DRAGGED },
      ...(of.together ? { sync: { key: of.together } } : {}),
    },
    scales: { x: { time: false, ...of.xScale }, y: { range: () => of.range, ...of.yScale }, ...(of.base ? { relative: { from: "y", range: (u, low, high) => [low / of.base, high / of.base] } } : {}) },
    axes: [
      { ...axis, size: 26, values: (u, values) => values.map(number), ...of.xAxis, grid: { ...grid, show: false, ...of.xAxis?.grid } },
      { ...axis, size: LEFT, gap: 4, space, values: levels, ...of.yAxis },
      ...(of.base ? [{ ...axis, scale: "relative", side: 1, size: 44, gap: 4, space, grid: { show: false }, values: (u, values) => values.map((value) => value.toFixed(2)) }] : []),
    ],
    series: [{}, ...bands.map((each) => lined(each, true)), ...of.lines.map((each) => lined(each, false))],
    hooks: {
      drawClear: [(u) => painted(u, (pen) => drawShades(of, pen))],
      drawAxes: [(u) => painted(u, (pen) => drawReference(of, pen))],
      draw: [(u) => painted(u, (pen) => over(of, pen))],
      setCursor: [(u) => pointed(u.cursor.idx ?? null)],
      setSelect: [(u) => {
        if (!of.zoom || !u.select.width) return;
        of.zoom(...[u.select.left, u.select.left + u.select.width].map((left) => u.posToIdx(left)));
      }],
    },
  }, [of.x, ...bands.map(({ values }) => values), ...of.lines.map(({ values }) => (dense ? levelOf(values, every) : values))], plot);
}

// Hands a pen to what uPlot has no series for. It counts in pixels of the page.
function painted(u, paint) {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  const [left, top, width, height] = [bbox.left, bbox.top, bbox.width, bbox.height].map((value) => value / ratio);
  ctx.save();
  ctx.scale(ratio, ratio);
  ctx.font = FONT;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  paint({
    ctx, left, top, right: left + width, bottom: top + height, wide: left + width + 20,
    x: (value) => left + u.valToPos(value, "x"), y: (value) => top + u.valToPos(value, "y"),
    line(colour, wide, dash, ...points) {
      ctx.strokeStyle = css(colour);
      ctx.lineWidth = wide;
      ctx.setLineDash(dash);
      ctx.beginPath();
      points.forEach(([x, y], place) => (place ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
      ctx.stroke();
      ctx.setLineDash([]);
    },
  });
  ctx.restore();
}

function drawShades(of, { ctx, left, right, top, bottom, x }) {
  (of.shades || []).forEach(({ from, until, colour }) => {
    const [begin, end] = [from, until].map((value) => Math.max(left, Math.min(right, x(value))));
    ctx.fillStyle = css(colour);
    ctx.globalAlpha = 0.14;
    ctx.fillRect(begin, top, end - begin, bottom - top);
    ctx.globalAlpha = 1;
  });
}

// Over the grid, which may have a line at the same value, and in one row of pixels, as the grid is.
function drawReference(of, { left, right, y, line }) {
  if (missing(of.reference)) return;
  const level = Math.round(y(of.reference) - 0.5) + 0.5;
  line("--soft", 1, [2, 3], [left, level], [right, level]);
}

function over(of, { ctx, left, right, wide, top, bottom, x, y, line }) {
  ctx.fillStyle = css("--dot");
  ctx.strokeStyle = css("--dot");
  const many = (of.dots || []).length > MANY_DOTS;
  ctx.globalAlpha = many ? 0.25 : 0.65;
  (of.dots || []).forEach((dot) => {
    if (many) { ctx.fillRect(x(dot.x) - 1, y(dot.y) - 1, 2, 2); return; }
    ctx.beginPath();
    ctx.arc(x(dot.x), y(dot.y), 3, 0, 7);
    if (dot.hollow) ctx.stroke();
    else ctx.fill();
  });
  ctx.globalAlpha = 1;
  // Neighbours stand in two rows, so that one does not cover the other.
  const free = [left, left];
  (of.rules || []).forEach((rule) => {
    const where = x(rule.x);
    if (where < left || where > right) return;
    line(rule.colour, 1.5, rule.dash, [where, top], [where, bottom]);
    const width = ctx.measureText(rule.text).width;
    const start = Math.max(0, Math.min(where - width / 2, wide - width));
    const above = free.findIndex((from) => from <= start);
    if (above < 0) return;
    ctx.fillStyle = css(rule.colour);
    ctx.fillText(rule.text, start, top - 4 - above * TEXT);
    free[above] = start + width + 6;
  });
  (of.marks || []).forEach((mark) => {
    const [where, low] = [x(mark.x), bottom - 6];
    if (mark.sign === "▽") { line("--failed", 1.5, [], [where - 4, low - 4], [where + 4, low - 4], [where, low + 4], [where - 4, low - 4]); return; }
    line("--failed", 2, [], [where - 4, low - 4], [where + 4, low + 4]);
    line("--failed", 2, [], [where + 4, low - 4], [where - 4, low + 4]);
  });
}
