// How long operations took, revision against revision.
const DECADES = [0.001, 0.01, 0.1, 1, 10, 100, 1000, 10000, 100000]; // milliseconds
const SHARES = [0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001];

const milliseconds = (value) => (value < 1 ? `${number(value * 1000)} µs` : value < 1000 ? `${number(value)} ms` : `${number(value / 1000)} s`);
const percentage = (share) =>
  (share === 0 ? "0" : share < 0.00001 ? "< 0.001 %" : `${(100 * share).toLocaleString("en", { maximumSignificantDigits: share > 0.1 ? 4 : 2 })} %`);

function drawResponses(panel, of, within) {
  const positions = within.positions.filter((position) => position in of.responses);
  if (!positions.length) return;
  const labels = positions.map((position) => index.lines[of.line][position]);
  const found = positions.map((position) => of.responses[position]);
  const least = Math.min(...found.map(({ operations }) => 1 / operations));
  const ticks = SHARES.filter((share, place) => place === 0 || share >= least);
  const x = [...new Set(found.flatMap(({ t }) => t))].sort((a, b) => a - b);
  const decades = DECADES.filter((bound) => bound >= x[0] / 1.1 && bound <= x[x.length - 1] * 1.1);
  const whole = element("div", "responses");
  whole.append(element("h4", "", "Response times"), chart({
    caption: "of all operations took longer", height: 230, x, range: [least, 1],
    label: "part of the operations that took longer; the table beside it has the same in buckets",
    xScale: { distr: 3, range: (u, low, high) => [low / 1.1, high * 1.1] }, yScale: { distr: 3 },
    smooth: true, xAxis: { label: "longer than, ms", grid: { show: true }, splits: () => decades, filter: (u, bounds) => bounds, values: (u, bounds) => bounds.map(String) },
    yAxis: { splits: () => ticks, filter: (u, shares) => shares, values: (u, shares) => shares.map((share) => `${Number((100 * share).toPrecision(1))} %`) },
    lines: found.map(({ t, slower }, place) => ({
      values: x.map((at) => slower[t.indexOf(at)] || null), ...lookOf(positions[place]), width: positions[place] === within.position ? 2.4 : 1.4,
    })),
    // Of each what is known at the nearest bound below.
    describe: (at, line) => found.map(({ t, slower }, place) => {
      const bound = t.findLastIndex((one) => one <= x[at]);
      return `${place === line && found.length > 1 ? "› " : ""}${labels[place]}: ${bound < 0 ? "–" : `${percentage(slower[bound])} took longer than ${milliseconds(t[bound])}`}`;
    }).join("\n"),
  }), buckets(found, labels));
  panel.append(whole);
}

// The histogram in the published buckets, for reading.
function buckets(found, labels) {
  const rows = [...index.buckets, null].flatMap((bound, place) => (found.every((one) => one.buckets[place] === 0) ? [] : [
    row([bound === null ? "more" : milliseconds(bound), ...found.map((one) => {
      const cell = element("td", "", percentage(one.buckets[place]));
      cell.style.setProperty("--share", `${100 * one.buckets[place]}%`);
      return cell;
    })]),
  ]));
  const longest = row(["longest", ...found.map(({ max }) => milliseconds(max))]);
  longest.className = "longest";
  return table("Response times", ["up to", ...labels], [...rows, longest], "buckets titled");
}
