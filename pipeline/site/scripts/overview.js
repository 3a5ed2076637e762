// What needs a look, worst first, and where every line stands.
const FIRST = 50; // rows that are shown at once
const WHY = "Culprit, note";
const reasonOf = ({ culprit, note }) => [culprit, note].filter(Boolean).join("; ");
const OPEN = ["confirmed", "suspected"];

function regressionRows(found) {
  return found.map((one) => {
    const effect = element("td", one.worse ? "worse" : "better");
    effect.append(sign(one.worse), one.effect);
    const where = one.trend
      ? linked(one.step, link("step", { line: one.trend, step: one.step, metric: one.metric }))
      : element("span", "", one.step);
    const since = named(one.first_bad);
    since.append(element("span", "of", ` after ${cut(one.last_good)}`));
    const others = one.series > 1 ? `${one.series} series, ${one.steps} ${one.steps === 1 ? "step" : "steps"}` : "1 series";
    const links = element("span", "links");
    if (one.trend) {
      links.append(linked("trend", link("trend", { line: one.trend, metric: one.metric, changed: "1" })));
      const trend = trends.get(one.trend);
      const step = trend.steps.find(({ name }) => name === one.step);
      if (step) links.append(linked("report", `${index.report}#${step.anchor}`));
    }
    if (one.explained) links.append(linked("why", link("regression", { found: one.fingerprint })));
    if (one.issue) links.append(linked("issue", one.issue));
    const why = element("td", "why", reasonOf(one));
    return row([effect, one.metric, where, since, element("span", "state", one.kind ? `${one.state} (${one.kind})` : one.state),
      element("span", "of", one.interval), one.line, others, links, ...(why.textContent ? [why] : [])]);
  });
}

function regressionTable(caption, found) {
  const heads = ["Largest change", "Metric", "Step", "Since", "State", "95 % interval", "Line", "Extent", "Look at"];
  if (found.some(reasonOf)) heads.push(WHY);
  const whole = table(caption, heads, regressionRows(found.slice(0, FIRST)), "regressions titled");
  const rest = found.slice(FIRST);
  if (!rest.length) return [whole];
  const more = pushed("", `Show ${rest.length} more`, () => {
    whole.querySelector("tbody").append(...regressionRows(rest));
    more.remove();
    whole.focus();
  });
  return [whole, more];
}

VIEWS.overview = async () => {
  const all = index.regressions;
  const look = all.filter(({ worse, state }) => worse && OPEN.includes(state));
  const better = all.filter(({ worse, state }) => !worse && OPEN.includes(state));
  const settled = all.filter((one) => !OPEN.includes(one.state));
  const described = look.length
    ? `${look.length} ${look.length === 1 ? "regression needs" : "regressions need"} a look`
    : all.length ? "No regression needs a look" : "No change was found";
  const made = [heading(described)];
  if (look.length) made.push(element("h2", "", "Regressions, worst first"), ...regressionTable("Regressions, worst first", look));
  if (better.length) made.push(element("h2", "", "Improvements, largest first"), ...regressionTable("Improvements, largest first", better));
  if (settled.length) made.push(folded(`${settled.length} settled: acknowledged, rejected, resolved or won’t fix`, () => regressionTable("Settled", settled)[0]));
  made.push(element("h2", "", "Present level of each line"));
  if (!index.trends.length) made.push(element("p", "", "Nothing was measured yet. Run nightshift nightly, then nightshift site."));
  index.trends.forEach((trend) => made.push(standing(trend)));
  return made;
};

function standing(trend) {
  const section = element("section", "line");
  const head = element("h3");
  head.append(linked(trend.line, link("trend", { line: trend.name })), " ", element("span", "of", trend.title));
  const rows = trend.groups.map((group) => {
    const cell = ratioInto(element("td"), trend.headline, group.newest);
    const worst = element("td");
    worst.append(linked(group.worst.step, link("step", { line: trend.name, step: group.worst.step })), " ");
    ratioInto(worst.appendChild(element("span")), trend.headline, group.worst.ratio);
    return row([linked(group.group, link("trend", { line: trend.name, group: group.group })), String(group.steps), cell, spark(group.spark, trend.revisions - 1), worst]);
  });
  section.append(head);
  if (!rows.length) section.append(element("p", "", "None of its steps has results."));
  else section.append(table(`${trend.headline} of ${trend.newest} relative to ${trend.base}, the first of ${trend.revisions} ${trend.revisions === 1 ? "revision" : "revisions"}: median over the steps of a group`,
    ["Group", "Steps", cut(trend.newest), "All revisions", "Worst step now"], rows, "standing"));
  return section;
}
