// An explained regression: its series, why each step is slower, and which calls execute more.
const countedText = ({ before, after }) => `${exact(before)} → ${exact(after)} instructions per operation, ${signed((100 * (after - before)) / before, 2)} %`;

function functionTable(step, { before, functions }) {
  const rows = functions.map((each) => {
    const head = element("th", "name", each.function);
    head.scope = "row";
    head.title = each.binary;
    return row([head, exact(each.before), exact(each.after), changed(each.before, each.after, before), `${signed(100 * each.share, 0)} %`]);
  });
  return table(`${step}: own instructions per operation of the functions that changed`, ["Function", "before", "after", "change of the whole", "part of the change"], rows, "calls");
}

function explainedStep({ step, setup, findings, counted }) {
  const section = element("section");
  section.append(element("h2", "", `Why ${step} changed`), element("p", "of", setup));
  const list = element("ul", "findings");
  findings.forEach(({ kind, evidence }) => list.append(element("li", "", [kind, ...evidence].join(": "))));
  section.append(list);
  if (!counted) return section;
  section.append(element("h3", "", countedText(counted)));
  const beside = element("div", "beside");
  if (counted.functions.length) beside.append(functionTable(step, counted));
  if (counted.frames.length) {
    const { figure, calls } = flameGraph(`${step}: what calls what, and how much it grew`, counted.frames);
    beside.prepend(figure);
    section.append(beside, folded("Table: every frame", calls));
  } else section.append(beside);
  return section;
}

VIEWS.regression = async (state) => {
  const one = index.regressions.find(({ fingerprint, explained }) => explained && fingerprint === state.found);
  if (!one) return [heading("This regression has no explanation"), element("p", "", "Run nightshift explain, then nightshift site.")];
  const found = await load(one.explained);
  const about = element("p", "of", `${one.line}: ${one.first_bad} after ${one.last_good}, ${one.state}. ${one.culprit ? `Culprit: ${one.culprit}. ` : ""}${one.note ? `${one.note} ` : ""}`);
  const links = element("span", "links");
  if (one.trend) links.append(linked("trend", link("trend", { line: one.trend, metric: one.metric, changed: "1" })));
  if (one.issue) links.append(linked("issue", one.issue));
  about.append(links);
  const rows = found.rows.map((each) => {
    const effect = element("td", each.worse ? "worse" : "better");
    effect.append(sign(each.worse), each.effect);
    const step = each.trend ? linked(each.step, link("step", { line: each.trend, step: each.step, metric: each.metric })) : each.step;
    return row([step, each.metric, each.mode, each.before, each.after, effect, each.interval]);
  });
  return [
    heading(`${one.step}: ${one.effect} ${one.metric}, ${found.why}`), about,
    ...found.steps.map(explainedStep),
    element("h2", "", "Series that changed"),
    table("Series that changed", ["Step", "Metric", "Mode", "Before", "After", "Change", "95 % interval"], rows, "titled"),
    element("p", "of", `Settings: ${found.settings}.`),
  ];
};
