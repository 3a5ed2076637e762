// The page SQL: a query on the site's database. The query is in the address and can be linked.
const MOST_ROWS = 1000;
const FIRST_PARTS = 4; // the revisions and some of the runs, which almost every query reads
const READS = /^(?:\s|\(|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*(?:select|with|values|explain)\b/i;

const editor = document.getElementById("query");
const result = document.getElementById("result");
const stop = document.getElementById("stop");
const { size, part } = index.database;
const whole = Math.ceil(size / part);

let session = null; // the worker, and the parts that it has
let cancel = () => {};
let running = null;

// Load the parts that are missing, each with some that follow it.
function parts({ loaded }, missing, ahead) {
  const wanted = new Set();
  missing.forEach((first) => {
    for (let at = first; at < Math.min(first + ahead, whole); at += 1) if (!loaded.has(at)) wanted.add(at);
  });
  return Promise.all([...wanted].map(async (at) => {
    const { bytes } = await load(`sql-${at}`);
    asked.delete(`sql-${at}`); // The worker keeps it.
    loaded.add(at);
    return [at, unpack(bytes, Uint8Array)];
  }));
}

function send({ worker }, message) {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(message, message.parts.map(([, bytes]) => bytes.buffer));
  });
}

// Few parts at first, as a query of a series needs few; more with every attempt, as a scan needs all.
async function answered(query) {
  session ??= { worker: null, loaded: new Set() };
  const mine = session;
  const current = () => { if (session !== mine) throw new Error("stopped"); };
  let first = {};
  if (!mine.worker) {
    const engine = await load("sql-engine");
    current();
    const program = new Blob([engine.program, "\n", engine.worker], { type: "text/javascript" });
    mine.worker = new Worker(URL.createObjectURL(program));
    first = { wasm: unpack(engine.wasm, Uint8Array), size, part };
  }
  let message = { ...first, parts: await parts(mine, [0], FIRST_PARTS), query, limit: MOST_ROWS };
  for (let attempt = 0; ; attempt += 1) {
    current();
    const answer = await send(mine, message);
    if (!answer.missing) return answer;
    message = { parts: await parts(mine, answer.missing, 2 ** (attempt >> 1)), query, limit: MOST_ROWS };
  }
}

function shownValue(name, value) {
  if (value === null) return "";
  if (name === "bundle" && index.results) return linked(value, `${index.results}/${encodeURI(value)}`);
  const exact = typeof value !== "number" || Number.isInteger(value);
  return String(exact ? value : Number(value.toPrecision(6)));
}

function halt() {
  session?.worker?.terminate();
  session = null;
  cancel();
}

async function ask(query) {
  // A change of the address may be reported twice.
  if (running === query) return;
  editor.value = query;
  if (!READS.test(query)) {
    result.replaceChildren(element("p", "nothing", "A query begins with SELECT, WITH or VALUES: queries can only read."));
    return;
  }
  if (running !== null) halt();
  running = query;
  stop.hidden = false;
  result.setAttribute("aria-busy", "true");
  const began = performance.now();
  const stopped = new Promise((_, reject) => { cancel = () => reject(new Error("stopped")); });
  try {
    const answer = await Promise.race([answered(query), stopped]);
    if (answer.error) throw new Error(answer.error);
    const took = performance.now() - began;
    const count = `${answer.rows.length}${answer.more ? " first" : ""} ${answer.rows.length === 1 ? "row" : "rows"}`;
    const caption = `${count} in ${number(took)} ms`;
    const rows = answer.rows.map((values) => row(values.map((value, at) => shownValue(answer.columns[at], value))));
    result.replaceChildren(table(caption, answer.columns, rows));
    result.dataset.milliseconds = took;
    say(caption);
  } catch (error) {
    if (running !== query) return; // Another query has taken its place.
    result.replaceChildren(element("p", "nothing", `The query failed: ${error.message}`));
    say(`The query failed: ${error.message}`);
  } finally {
    if (running === query) {
      running = null;
      stop.hidden = true;
      result.setAttribute("aria-busy", "false");
    }
  }
}

function asks(query) {
  const address = `#q=${encodeURIComponent(query)}`;
  if (address === location.hash) ask(query);
  else location.hash = address;
}

function fromAddress() {
  const query = new URLSearchParams(location.hash.slice(1)).get("q");
  if (query) ask(query);
}

document.getElementById("run").addEventListener("click", () => asks(editor.value));
editor.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) asks(editor.value);
});
stop.addEventListener("click", halt);
window.addEventListener("hashchange", fromAddress);
fromAddress();
