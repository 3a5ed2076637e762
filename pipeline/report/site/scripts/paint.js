// The drawing of a chart: its points on a canvas, thousands of them in a few milliseconds.
const MARGIN = { left: 54, right: 12, top: 18, bottom: 22 };
const MANY_DOTS = 2000; // from here on dots are squares, which are drawn faster
const LONGEST_LABEL = 14; // letters of a revision's name under an axis
const SHORT = 3 * 86400; // seconds of an axis that tells hours
const DENSE = 1.5; // points for each pixel from which on they are drawn by stretches
const STRETCH = 3; // pixels
const FEW = 60; // points that each have a dot
const FONT = "11px system-ui, sans-serif";

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

// What draws a chart. `order` are its points from left to right, x() and nearest() go from a point to
// a pixel and back, draw(told, dragged) draws it all, with a point that is told and a part that is chosen.
function painter(of, canvas) {
  const [first, last] = of.range;
  const lines = of.lines.filter((line) => line.values.length);
  const order = [];
  for (let place = first; place <= last; place += 1) order.push(place);
  if (of.dates) order.sort((a, b) => of.dates[a] - of.dates[b] || a - b);
  const begin = of.dates ? of.dates[order[0]] : first;
  const span = (of.dates ? of.dates[order[order.length - 1]] : last) - begin;
  let width = 0;

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

  function drawLevels(context, y, low, high) {
    context.lineWidth = 1;
    ticks(low, high, Math.max(2, Math.floor((of.height - MARGIN.bottom - MARGIN.top) / 26))).forEach(([value, text]) => {
      context.strokeStyle = css("--rule");
      context.beginPath();
      context.moveTo(MARGIN.left, Math.round(y(value)) + 0.5);
      context.lineTo(width - MARGIN.right, Math.round(y(value)) + 0.5);
      context.stroke();
      context.fillStyle = css("--soft");
      context.fillText(text, MARGIN.left - 6 - context.measureText(text).width, y(value) + 4);
    });
    if (of.reference === undefined) return;
    context.strokeStyle = css("--soft");
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(MARGIN.left, y(of.reference));
    context.lineTo(width - MARGIN.right, y(of.reference));
    context.stroke();
    context.setLineDash([]);
  }

  function drawMarks(context, bottom) {
    (of.marks || []).filter((place) => place >= first && place <= last).forEach((place) => {
      context.strokeStyle = css("--failed");
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x(place) - 4, bottom - 10); context.lineTo(x(place) + 4, bottom - 2);
      context.moveTo(x(place) + 4, bottom - 10); context.lineTo(x(place) - 4, bottom - 2);
      context.stroke();
    });
  }

  // The point that is told: where it is, and on which line.
  function drawPoint(context, y, bottom, [at, line]) {
    const place = order[at];
    context.strokeStyle = css("--ink");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x(place), MARGIN.top);
    context.lineTo(x(place), bottom);
    context.stroke();
    lines.forEach(({ values, colour }, number_) => {
      if (Number.isNaN(values[place])) return;
      context.fillStyle = css(colour);
      context.beginPath();
      context.arc(x(place), y(values[place]), number_ === line ? 4.5 : 3, 0, 7);
      context.fill();
    });
  }

  function drawDragged(context, bottom, [from, to]) {
    context.fillStyle = css("--focus");
    context.globalAlpha = 0.2;
    context.fillRect(Math.min(from, to), MARGIN.top, Math.abs(to - from), bottom - MARGIN.top);
    context.globalAlpha = 1;
  }

  function draw(told, dragged) {
    width = canvas.clientWidth;
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
    drawLevels(context, y, low, high);
    drawChanges(context, bottom);
    if (of.dots) drawDots(context, y);
    lines.forEach((each) => drawLine(context, y, each));
    drawMarks(context, bottom);
    drawNames(context, bottom);
    if (told) drawPoint(context, y, bottom, told);
    if (dragged) drawDragged(context, bottom, dragged);
  }

  return { order, lines, x, nearest, draw };
}
