"use strict";
// Draws the charts of the report, each when it first comes into view, from the page's own data.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = new Map(data.charts.map((chart) => [chart.id, chart]));
  const states = new Map();
  const SLIM = { displayModeBar: false, responsive: true };
  const JITTER = 0.1; // of a revision's width, so that repetitions with one value stay apart
  const LEAST_SPAN = 0.1; // of the level: an axis that shows less makes noise look like news
  const MOST_LABELS = 30;
  const LABEL_HEIGHT = 15; // pixels
  const LETTERS_ACROSS = 48; // of all revisions' names together, before they are slanted

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Chart texts are a kind of HTML to the library; names and notes are only text.
  const plain = (text) =>
    String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const number = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    return value.toLocaleString("en", {
      maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 4,
    }).replaceAll(",", "\u202f");
  };
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

  function extent(values, zero) {
    const known = values.filter((value) => value !== null && value !== undefined);
    if (!known.length) return [0, 1];
    let low = Math.min(...known);
    let high = Math.max(...known);
    const middle = (low + high) / 2;
    const least = Math.abs(middle) * LEAST_SPAN || 1;
    if (high - low < least) [low, high] = [middle - least / 2, middle + least / 2];
    const room = (high - low) * 0.08;
    if (zero || low - room <= 0) return [Math.min(0, low), high + room];
    return [low - room, high + room];
  }

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
    const failedAt = range[0] + (range[1] - range[0]) * 0.03;

    const traces = [
      {
        x: medians.map((_, index) => index), y: medians, mode: "lines", connectgaps: true,
        line: { color: css("--ink"), width: 1.6 }, hoverinfo: "skip",
      },
      {
        x: chart.points.map(across), y: values, mode: "markers", customdata: chart.points.map((_, index) => index),
        marker: { color: css("--dot"), size: 7, opacity: 0.75, line: { color: css("--paper"), width: 1 } },
        text: chart.points.map((point, index) =>
          `<b>${plain(revisions[point[0]])}</b>, repetition ${point[1]}<br>${number(values[index])} ${plain(unit)}${versus(values[index])}`),
        hovertemplate: "%{text}<extra></extra>",
      },
      {
        x: chart.failed.map((point) => across(point)), y: chart.failed.map(() => failedAt), mode: "markers",
        marker: { symbol: "x", color: css("--failed"), size: 9 },
        text: chart.failed.map((point) =>
          `<b>${plain(revisions[point[0]])}</b>, repetition ${point[1]}<br>failed: ${plain(point[2] || "no reason was recorded")}`),
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

  // Throughput within the runs of one revision; `chosen` is the index of one run, or null for all.
  function show(section, position, chosen) {
    const chart = charts.get(section.id);
    const revision = data.lines[chart.line][position];
    const state = states.get(section.id);
    state.within = [position, chosen];
    const panel = section.querySelector(".within");
    const indices = chart.points.map((_, index) => index).filter((index) => chart.points[index][0] === position);
    const head = element("div", "head");
    head.append(element("b", "", `${chart.step}, ${revision}: throughput within the run`));
    const choose = (text, value) => {
      const button = element("button", "", text);
      button.type = "button";
      button.setAttribute("aria-pressed", String(value === chosen));
      button.addEventListener("click", () => { show(section, position, value); });
      head.append(button);
    };
    if (indices.length > 1) {
      choose("all", null);
      indices.forEach((index) => choose(`repetition ${chart.points[index][1]}`, index));
    }
    const close = element("button", "close", "close");
    close.type = "button";
    close.addEventListener("click", () => hide(section));
    head.append(close);
    const says = element("p", "says");
    const plot = element("div", "plot");
    panel.replaceChildren(head, says, plot);
    panel.hidden = false;
    section.querySelectorAll("tbody tr").forEach((row) => row.classList.toggle("chosen",
      row.querySelector("button").dataset.position === String(position)));

    const picked = chosen === null ? indices : [chosen];
    const kept = indices.filter((index) => chart.points[index][3] >= 0);
    const names = picked.map((index) => data.runs[chart.points[index][2]]).join(", ");
    const longest = Math.max(0, ...kept.map((index) => data.timelines[chart.points[index][3]].reports));
    const failed = chart.failed.filter((point) => point[0] === position);
    const sentences = [];
    if (!indices.length) sentences.push("No run of this revision gave a figure.");
    else if (!longest) sentences.push("No throughput within the run was recorded.");
    else if (longest === 1) sentences.push("The step is so short that there is one report a run: nothing can be seen within it.");
    else if (data.averaged > 1) sentences.push(`Each point is the mean of ${data.averaged} reports.`);
    failed.forEach((point) => sentences.push(`Repetition ${point[1]} failed: ${point[2] || "no reason was recorded"}.`));
    if (names) sentences.push(`Bundle: ${names}.`);
    says.textContent = sentences.join(" ");
    if (!kept.length) plot.remove();
    // Under a long table it would open out of sight.
    panel.scrollIntoView({ block: "nearest" });
    if (!kept.length) return;
    const dashes = ["solid", "dash", "dot", "dashdot"];
    const traces = kept.map((index, order) => {
      const line = data.timelines[chart.points[index][3]];
      const strong = picked.includes(index);
      return {
        x: line.t, y: line.v, mode: line.v.length > 60 ? "lines" : "lines+markers", opacity: strong ? 1 : 0.3,
        line: { color: css(strong ? "--better" : "--soft"), width: strong ? 2 : 1, dash: dashes[order % dashes.length] },
        marker: { size: 6 }, name: `repetition ${chart.points[index][1]}`,
        hovertemplate: `repetition ${chart.points[index][1]}<br>%{x} s: %{y:,.0f}/s<extra></extra>`,
      };
    });
    const last = Math.max(1, ...kept.flatMap((index) => data.timelines[chart.points[index][3]].t));
    const high = Math.max(1, ...kept.flatMap((index) => data.timelines[chart.points[index][3]].v));
    Plotly.newPlot(plot, traces, base({
      margin: { l: 58, r: 16, t: 8, b: 34 }, hovermode: "closest",
      xaxis: { title: { text: "seconds", standoff: 4, font: { size: 11, color: css("--soft") } }, range: [0, last * 1.04], fixedrange: true, showgrid: false, zeroline: false, linecolor: css("--rule") },
      yaxis: { title: { text: `${plain(chart.unit || "operations")}/s`, font: { size: 11, color: css("--soft") } }, range: [0, high * 1.1], fixedrange: true, gridcolor: css("--rule"), zeroline: false, nticks: 5, automargin: true, separatethousands: true },
    }), SLIM);
  }

  function hide(section) {
    const state = states.get(section.id);
    if (!state.within) return;
    const [position] = state.within;
    state.within = null;
    section.querySelector(".within").hidden = true;
    section.querySelectorAll("tr.chosen").forEach((row) => row.classList.remove("chosen"));
    section.querySelector(`tbody button[data-position="${position}"]`).focus();
  }

  const coming = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      const section = entry.target;
      coming.unobserve(section);
      states.get(section.id).drawn = true;
      draw(section);
    });
  }, { rootMargin: "400px 0px" });

  document.querySelectorAll("section.step").forEach((section) => {
    const chart = charts.get(section.id);
    const metric = chart.values.qps ? "qps" : Object.keys(chart.values)[0];
    states.set(section.id, { metric, zero: false, within: null });
    section.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const state = states.get(section.id);
      if (button.dataset.metric) { state.metric = button.dataset.metric; draw(section); }
      else if (button.dataset.position) show(section, Number(button.dataset.position), null);
      else if (button.classList.contains("zoom")) {
        state.zero = !state.zero;
        button.setAttribute("aria-pressed", String(state.zero));
        draw(section);
      }
    });
    section.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(section); });
    coming.observe(section);
  });

  // A link from a table of one metric shows that metric's chart.
  document.querySelectorAll("a[data-metric]").forEach((link) => link.addEventListener("click", () => {
    const section = document.getElementById(link.getAttribute("href").slice(1));
    const state = section && states.get(section.id);
    if (!state || !charts.get(section.id).values[link.dataset.metric]) return;
    state.metric = link.dataset.metric;
    if (state.drawn) draw(section);
  }));

  const narrow = matchMedia("(max-width: 1100px)");
  const folds = document.querySelectorAll("nav details");
  const fold = () => folds.forEach((one) => { one.open = !narrow.matches; });
  narrow.addEventListener("change", fold);
  fold();
  folds.forEach((one) => {
    one.addEventListener("toggle", () => {
      if (narrow.matches && one.open) folds.forEach((other) => { if (other !== one) other.open = false; });
    });
    one.addEventListener("click", (event) => { if (narrow.matches && event.target.closest("a")) one.open = false; });
  });
  document.querySelector("main").addEventListener("click", () => { if (narrow.matches) fold(); });

  const here = new Map([...document.querySelectorAll("nav a[href^='#']")].map((link) => [link.getAttribute("href").slice(1), link]));
  const reading = new IntersectionObserver((entries) => entries.forEach((entry) => {
    const link = here.get(entry.target.id);
    if (!link) return;
    if (entry.isIntersecting) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }), { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => reading.observe(section));

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => states.forEach((state, id) => {
    if (!state.drawn) return;
    const section = document.getElementById(id);
    draw(section);
    if (state.within) show(section, ...state.within);
  }));
})();
