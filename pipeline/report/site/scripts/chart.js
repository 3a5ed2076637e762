// Lines and dots over the revisions of a trend, on a canvas: thousands of points in a few milliseconds.
const MARGIN = { left: 54, right: 12, top: 18, bottom: 22 };
const MANY_DOTS = 2000; // from here on dots are squares, which are drawn faster
const DRAGGED = 8; // pixels from which on a press is a choice of a range
const LONGEST_LABEL = 14; // letters of a revision's name under an axis
const SHORT = 3 * 86400; // seconds of an axis that tells hours
const DENSE = 1.5; // points for each pixel from which on they are drawn by stretches
const STRETCH = 3; // pixels
const FEW = 60; // points that each have a dot
const FONT = "11px system-ui, sans-serif";

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
const cut = (label) => (label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label);

function ticks(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) || 10);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return found.map((at) => [at, Math.abs(at) >= 1000 ? number(at) : at.toFixed(digits)]);
}

/* One chart as a figure. `of` has
   caption, level (of its heading), link: what stands over it; height: pixels
   labels: names of the points; dates: seconds where the axis is time; range: first and last point
   lines: [{ name, values, colour }]; dots: { places, values } of single runs
   changes: change points; marks: [{ place, text }] of what failed; reference: a level to draw
   at: the point that is marked from the start
   tell(place, line): a sentence; pick(place): what Enter and a click do, pickText: what that is */
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
  const [first, last] = of.range;
  const lines = of.lines.filter((line) => line.values.length);
  canvas.setAttribute("aria-label",
    `${of.caption}, ${last - first + 1} revisions from ${of.labels[first]} to ${of.labels[last]}, ${of.changes.length} change points. Arrow keys go from one to the next${lines.length > 1 ? ", up and down to another line" : ""}, C to the next change point${of.pick ? `, Enter ${of.pickText}` : ""}.`);

  const order = [];
  for (let place = first; place <= last; place += 1) order.push(place);
  if (of.dates) order.sort((a, b) => of.dates[a] - of.dates[b] || a - b);
  const begin = of.dates ? of.dates[order[0]] : first;
  const span = (of.dates ? of.dates[order[order.length - 1]] : last) - begin;
  let width = 0;
  let at = of.at === undefined || of.at < first || of.at > last ? null : order.indexOf(of.at); // of the point that is told
  let line = 0;
  let pressed = null;
  let dragged = null;

  const x = (place) => {
    const room = width - MARGIN.left - MARGIN.right - 12;
    const share = span ? ((of.dates ? of.dates[place] : place) - begin) / span : 0.5;
    return MARGIN.left + 6 + share * room;
  };
  // A change lies between two revisions.
  const border = (place) => (of.dates ? x(place) : (x(Math.max(first, place - 1)) + x(place)) / 2);
  const nearest = (pixel) => {
    let best = 0;
    order.forEach((place, number_) => { if (Math.abs(x(place) - pixel) < Math.abs(x(order[best]) - pixel)) best = number_; });
    return best;
  };

  function bounds() {
    const shown = lines.flatMap(({ values }) => extremes(values, first, last));
    if (of.dots) of.dots.places.forEach((place, run) => { if (place >= first && place <= last) shown.push(of.dots.values[run]); });
    if (of.reference !== undefined) shown.push(of.reference);
    return extent(shown, false);
  }

  function drawLine(context, y, { values, colour, wide }) {
    context.strokeStyle = css(colour);
    const dense = order.length > DENSE * width;
    const points = dense ? stretches(values) : order.filter((place) => !Number.isNaN(values[place])).map((place) => [x(place), values[place]]);
    if (dense && !of.dots) {
      // Every peak and every dip is there, faint; the line is the level.
      context.globalAlpha = 0.3;
      context.lineWidth = STRETCH;
      context.beginPath();
      points.forEach(([pixel, , low, high]) => { context.moveTo(pixel, y(low) + 0.5); context.lineTo(pixel, y(high) - 0.5); });
      context.stroke();
      context.globalAlpha = 1;
    }
    context.lineWidth = wide || 1.5;
    context.beginPath();
    points.forEach(([pixel, value], number_) => (number_ ? context.lineTo(pixel, y(value)) : context.moveTo(pixel, y(value))));
    context.stroke();
    if (order.length > FEW || of.dots) return;
    context.fillStyle = css(colour);
    points.forEach(([pixel, value]) => {
      context.beginPath();
      context.arc(pixel, y(value), 2.5, 0, 7);
      context.fill();
    });
  }

  // Points that share a few pixels as [where, median, least, greatest].
  function stretches(values) {
    const found = [];
    let begin = 0;
    const close = (end) => {
      let low = Infinity;
      let high = -Infinity;
      for (let number_ = begin; number_ < end; number_ += 1) {
        const value = values[order[number_]];
        if (value < low) low = value;
        if (value > high) high = value;
      }
      const from = begin;
      if (low <= high) found.push([Math.round(x(order[begin]) / STRETCH) * STRETCH, middle(end - begin, (number_) => values[order[from + number_]]), low, high]);
      begin = end;
    };
    for (let number_ = 1; number_ <= order.length; number_ += 1) {
      if (number_ === order.length || Math.round(x(order[number_]) / STRETCH) !== Math.round(x(order[begin]) / STRETCH)) close(number_);
    }
    return found;
  }

  function drawDots(context, y) {
    const { places, values } = of.dots;
    context.fillStyle = css("--dot");
    const many = places.length > MANY_DOTS;
    context.globalAlpha = many ? 0.25 : 0.55;
    for (let run = 0; run < places.length; run += 1) {
      const place = places[run];
      if (place < first || place > last || Number.isNaN(values[run])) continue;
      if (many) context.fillRect(x(place) - 1, y(values[run]) - 1, 2, 2);
      else { context.beginPath(); context.arc(x(place), y(values[run]), 2.5, 0, 7); context.fill(); }
    }
    context.globalAlpha = 1;
  }

  function drawChanges(context, bottom) {
    let free = 0;
    [...of.changes].filter(({ at: place }) => place >= first && place <= last)
      .sort((a, b) => x(a.at) - x(b.at)).forEach((change) => {
        const where = border(change.at);
        const colour = css(change.worse ? "--worse" : "--better");
        context.fillStyle = colour;
        context.globalAlpha = 0.13;
        const left = border(Math.max(first, change.earliest));
        context.fillRect(left, MARGIN.top, border(Math.min(last, change.latest)) - left, bottom - MARGIN.top);
        context.globalAlpha = 1;
        context.strokeStyle = colour;
        context.lineWidth = 1.5;
        context.setLineDash(change.state === "confirmed" ? [] : [4, 3]);
        context.beginPath();
        context.moveTo(where, MARGIN.top);
        context.lineTo(where, bottom);
        context.stroke();
        context.setLineDash([]);
        const text = `${change.worse ? "▼" : "▲"} ${change.text}`;
        const wide = context.measureText(text).width;
        const start = Math.min(Math.max(MARGIN.left, where - wide / 2), width - wide - 2);
        if (start < free) return;
        context.fillText(text, start, 12);
        free = start + wide + 6;
      });
  }

  function drawNames(context, bottom) {
    context.fillStyle = css("--soft");
    const room = width - MARGIN.left - MARGIN.right;
    if (of.dates) {
      const most = Math.max(1, Math.floor(room / 90));
      for (let tick = 0; tick <= most; tick += 1) {
        const moment = begin + (span * tick) / most;
        const text = span < SHORT ? timeText(moment).slice(5) : dateText(moment);
        const wide = context.measureText(text).width;
        const middle_ = MARGIN.left + 6 + ((room - 12) * tick) / most;
        context.fillText(text, Math.min(Math.max(0, middle_ - wide / 2), width - wide), bottom + 15);
      }
      return;
    }
    let free = width;
    let wide = 0;
    // From the newest on, which is always told. Measuring text is slow: names are about as long as
    // the one before, and only those that may have room are measured.
    for (let tick = order.length - 1; tick >= 0; tick -= 1) {
      const middle_ = x(order[tick]);
      if (middle_ + wide / 2 > free) continue;
      const text = cut(of.labels[order[tick]]);
      wide = context.measureText(text).width;
      const start = Math.min(middle_ - wide / 2, width - wide - 1);
      if (start + wide > free || start < 0) continue;
      context.fillText(text, start, bottom + 15);
      free = start - 20;
    }
  }

  canvas.draw = () => {
    width = canvas.clientWidth;
    if (!width) return;
    canvas.seen = true;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(of.height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = FONT;
    context.lineJoin = "round";
    const bottom = of.height - MARGIN.bottom;
    const [low, high] = bounds();
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top);
    context.lineWidth = 1;
    ticks(low, high, Math.max(2, Math.floor((bottom - MARGIN.top) / 26))).forEach(([value, text]) => {
      context.strokeStyle = css("--rule");
      context.beginPath();
      context.moveTo(MARGIN.left, Math.round(y(value)) + 0.5);
      context.lineTo(width - MARGIN.right, Math.round(y(value)) + 0.5);
      context.stroke();
      context.fillStyle = css("--soft");
      context.fillText(text, MARGIN.left - 6 - context.measureText(text).width, y(value) + 4);
    });
    if (of.reference !== undefined) {
      context.strokeStyle = css("--soft");
      context.setLineDash([2, 3]);
      context.beginPath();
      context.moveTo(MARGIN.left, y(of.reference));
      context.lineTo(width - MARGIN.right, y(of.reference));
      context.stroke();
      context.setLineDash([]);
    }
    drawChanges(context, bottom);
    if (of.dots) drawDots(context, y);
    lines.forEach((each) => drawLine(context, y, each));
    (of.marks || []).filter(({ place }) => place >= first && place <= last).forEach(({ place }) => {
      context.strokeStyle = css("--failed");
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x(place) - 4, bottom - 10); context.lineTo(x(place) + 4, bottom - 2);
      context.moveTo(x(place) + 4, bottom - 10); context.lineTo(x(place) - 4, bottom - 2);
      context.stroke();
    });
    drawNames(context, bottom);
    if (at !== null) {
      context.strokeStyle = css("--ink");
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x(order[at]), MARGIN.top);
      context.lineTo(x(order[at]), bottom);
      context.stroke();
      lines.forEach(({ values, colour }, number_) => {
        const value = values[order[at]];
        if (Number.isNaN(value)) return;
        context.fillStyle = css(colour);
        context.beginPath();
        context.arc(x(order[at]), y(value), number_ === line ? 4.5 : 3, 0, 7);
        context.fill();
      });
    }
    if (dragged !== null) {
      context.fillStyle = css("--focus");
      context.globalAlpha = 0.2;
      context.fillRect(Math.min(pressed, dragged), MARGIN.top, Math.abs(dragged - pressed), bottom - MARGIN.top);
      context.globalAlpha = 1;
    }
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

// The least and the greatest of a part of an array, or nothing.
function extremes(values, first, last) {
  let low = Infinity;
  let high = -Infinity;
  for (let place = first; place <= last; place += 1) {
    const value = values[place];
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [];
}
