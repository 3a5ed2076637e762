// How long operations took, revision against revision.
const SHARES = [0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001];

const milliseconds = (value) => (value < 1 ? `${number(value * 1000)} µs` : value < 1000 ? `${number(value)} ms` : `${number(value / 1000)} s`);
const percentage = (share) =>
  (share === 0 ? "0" : share < 0.00001 ? "< 0.001 %" : `${(100 * share).toLocaleString("en", { maximumSignificantDigits: share > 0.1 ? 4 : 2 })} %`);

function drawResponses(panel, chart, within) {
  const positions = within.positions.filter((position) => position in chart.responses);
  if (!positions.length) return;
  const whole = element("div", "responses");
  whole.append(element("h4", "", "Response times"));
  const plot = element("div", "plot");
  const around = element("div", "wide");
  around.append(buckets(chart, positions));
  whole.append(plot, around);
  panel.append(whole);
  const found = positions.map((position) => chart.responses[position]);
  const least = Math.min(...found.map((one) => 1 / one.operations));
  const title = (text) => ({ text, standoff: 4, font: { size: 11, color: css("--soft") } });
  const ticks = SHARES.filter((share, place) => place === 0 || share >= least);
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", "part of the operations that took longer; the table beside it has the same in buckets");
  Plotly.newPlot(plot, positions.map((position, order) => ({
    x: found[order].t, y: found[order].slower.map((share) => share || null), mode: "lines",
    line: { ...lookOf(position), width: position === within.position ? 2.4 : 1.4 }, name: plain(data.lines[chart.line][position]),
    text: found[order].t.map((bound, place) => `${percentage(found[order].slower[place])} took longer than ${milliseconds(bound)}`),
    hovertemplate: `<b>${plain(data.lines[chart.line][position])}</b><br>%{text}<extra></extra>`,
  })), base({
    margin: { l: 74, r: 14, t: 8, b: 38 }, hovermode: "closest",
    xaxis: { type: "log", title: title("longer than, ms"), fixedrange: true, gridcolor: css("--rule"), zeroline: false, dtick: 1, tickformat: ",~g" },
    yaxis: {
      type: "log", title: title("of all operations"), fixedrange: true, gridcolor: css("--rule"), zeroline: false, tickvals: ticks,
      ticktext: ticks.map((share) => `${Number((100 * share).toPrecision(1))} %`), range: [Math.log10(least), 0],
    },
  }), SLIM);
}

// The histogram in the published buckets, for reading.
function buckets(chart, positions) {
  const found = positions.map((position) => chart.responses[position]);
  const table = element("table", "buckets");
  const head = element("tr");
  head.append(element("th", "name", "up to"), ...positions.map((position) => element("th", "", data.lines[chart.line][position])));
  const thead = element("thead");
  thead.append(head);
  const body = element("tbody");
  [...data.buckets, null].forEach((bound, place) => {
    if (found.every((one) => one.buckets[place] === 0)) return;
    const row = element("tr");
    row.append(element("th", "name", bound === null ? "more" : milliseconds(bound)));
    found.forEach((one) => {
      const cell = element("td", "", percentage(one.buckets[place]));
      cell.style.setProperty("--share", `${100 * one.buckets[place]}%`);
      row.append(cell);
    });
    body.append(row);
  });
  const longest = element("tr", "longest");
  longest.append(element("th", "name", "longest"), ...found.map((one) => element("td", "", milliseconds(one.max))));
  body.append(longest);
  table.append(thead, body);
  return table;
}
