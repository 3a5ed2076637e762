// What the page knows from the start, and the data that it loads when a view asks for them.
const trends = new Map(index.trends.map((trend) => [trend.name, trend]));

const asked = new Map();
// Called by each data file, which is a script: a page opened from disk can fetch nothing else.
window.nightshift = ({ name, data }) => asked.get(name)?.resolve(data);

function load(name) {
  const known = asked.get(name);
  if (known) return known.promise;
  const one = {};
  one.promise = new Promise((resolve, reject) => {
    one.resolve = resolve;
    const script = element("script");
    script.src = `${index.data}/${name}.js`;
    script.onload = () => script.remove();
    script.onerror = () => {
      script.remove();
      asked.delete(name);
      reject(new Error(`The data of this page is missing (${index.data}/${name}.js): the site was written again, or its folder was not copied completely. Reload the page.`));
    };
    document.head.append(script);
  });
  asked.set(name, one);
  return one.promise;
}

// A typed array of base64, little-endian as all machines with a browser are.
function unpack(text, Kind) {
  if (Uint8Array.fromBase64) return new Kind(Uint8Array.fromBase64(text).buffer);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
  return new Kind(bytes.buffer);
}

const kept = new Map();
function once(key, make) {
  if (!kept.has(key)) kept.set(key, make().catch((error) => { kept.delete(key); throw error; }));
  return kept.get(key);
}

// A trend with its revisions, runs, change points and failures.
const open = (trend) => once(trend.folder, async () => {
  const found = await load(`${trend.folder}/trend`);
  return {
    ...trend, labels: found.labels, made: found.made, changes: found.changes, failures: found.failures,
    dates: unpack(found.dates, Float64Array), measured: unpack(found.measured, Float64Array),
    places: unpack(found.places, Uint32Array), repetitions: unpack(found.repetitions, Uint32Array),
    place: new Map(found.labels.map((label, place) => [label, place])),
  };
});

// The medians of a metric: for each step an array over the revisions.
const medians = (trend, metric) => once(`${trend.folder} ${metric}`, async () => {
  const found = await load(`${trend.folder}/metric-${trend.metrics.indexOf(metric)}`);
  const all = unpack(found.medians, Float32Array);
  const across = trend.revisions;
  return trend.steps.map((_, step) => all.subarray(step * across, (step + 1) * across));
});

// The figures of every run of a step, by metric.
const runsOf = (trend, step) => once(`${trend.folder} step ${step}`, async () => {
  const found = await load(`${trend.folder}/step-${step}`);
  return new Map(Object.entries(found.values).map(([metric, text]) => [metric, unpack(text, Float32Array)]));
});

function relativeTo(values, base) {
  const level = values[base] || NaN;
  const result = new Float32Array(values.length);
  for (let place = 0; place < values.length; place += 1) result[place] = values[place] / level;
  return result;
}

// The median of what is known of so many values, by insertion: they are few, and asked for often.
const sorted = [];
function middle(count, value) {
  let known = 0;
  for (let number_ = 0; number_ < count; number_ += 1) {
    const next = value(number_);
    if (Number.isNaN(next)) continue;
    let place = known;
    for (; place > 0 && sorted[place - 1] > next; place -= 1) sorted[place] = sorted[place - 1];
    sorted[place] = next;
    known += 1;
  }
  return known ? (sorted[(known - 1) >> 1] + sorted[known >> 1]) / 2 : NaN;
}

// At each revision the median over some series.
function together(series) {
  let place = 0;
  const at = (number_) => series[number_][place];
  const result = new Float32Array(series[0].length);
  for (; place < result.length; place += 1) result[place] = middle(series.length, at);
  return result;
}

// Turned over where less is better: 1 / 0.95 of the CPU time is as bad as 0.95 of the throughput.
const toneOf = (metric, ratio) => {
  if (missing(ratio)) return "";
  const turned = metricOf(metric).more ? ratio : 1 / ratio;
  return turned <= index.limits.worse ? "worse" : turned >= index.limits.better ? "better" : "";
};
