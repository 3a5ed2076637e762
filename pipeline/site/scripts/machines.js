// Machines, and what the same binary was measured to differ by: drift of the machine, not of a DBMS.
VIEWS.machines = async () => {
  const { machines, controls: found, pairs, events } = await load("machines");
  const made = [heading("Machines and controls")];
  made.push(element("p", "of", "The same binary should give the same result each time. Differences here come from the machine; a single run cannot show a smaller change."));
  if (events.length) made.push(table("Changes of machines, as their controls show. They are no changes of a DBMS, and the trends leave them out", ["Since", "Machine", "What", "Why", "Moved"], events.map((one) => row([
    one.until ? `${one.since} to ${one.until}` : one.since, one.machine, one.kind, one.cause, one.moved.concat(one.more ? [`${one.more} more`] : []).join(", "),
  ]))));
  machines.forEach((machine) => {
    const section = element("section");
    section.append(element("h2", "", `${machine.machine_class}: ${machine.hostname}`));
    const facts = element("dl", "facts");
    [["processor", `${machine.cpu_model}, ${machine.cores} cores`], ["memory", `${(machine.memory_bytes / 2 ** 30).toFixed(0)} GiB`],
      ["system", machine.operating_system], ["kernels", machine.kernels.join(", ")], ["virtualised", machine.virtualised], ["storage", machine.storage],
      ["runs", number(machine.runs)]].forEach(([name, value]) => {
      const fact = element("div");
      fact.append(element("dt", "", name), element("dd", "", value || "–"));
      facts.append(fact);
    });
    section.append(facts);
    const { points } = machine;
    if (points.length) {
      const ratios = points.map(([, ratio]) => ratio);
      const sorted = [...ratios].sort((a, b) => a - b);
      const part = (share) => sorted[Math.round(share * (sorted.length - 1))];
      const places = points.map((_, place) => place);
      section.append(element("p", "", `Nine of ten runs were between ${part(0.05).toFixed(3)} and ${part(0.95).toFixed(3)} of the median of their binary.`), overRevisions({
        caption: "Each run relative to the median of its binary, median over the steps", height: 220,
        labels: points.map(([at]) => timeText(at)), dates: points.map(([at]) => at), range: [0, points.length - 1],
        lines: [{ name: "runs", values: [], colour: "--series-0" }],
        dots: { places, repetitions: places.map(() => 1), values: ratios }, reference: 1,
        describe: (place) => `${timeText(points[place][0])}\n${points[place][2]} of ${trends.get(points[place][3]).line}\n${points[place][1].toFixed(3)} of its binary's median`,
      }), folded("Table: runs, newest first", () => longTable("Runs relative to the median of their binary", ["Run began", "Ratio", "Revision", "Line"], points.length, (number_) => {
        const [at, ratio, label, name] = points[points.length - 1 - number_];
        return [timeText(at), ratio.toFixed(3), label, trends.get(name).line];
      })));
    } else section.append(element("p", "nothing", "No binary was run twice on this machine."));
    made.push(section);
  });
  made.push(element("h2", "", "Controls: revisions that are the same binary"));
  if (!found.length) made.push(element("p", "", 'There is no control. Enter a revision once more, as "17.11#2", to have one.'));
  else made.push(table(`Each step of the second relative to the first; all should be 1.00${pairs > found.length ? `. The ${found.length} of ${pairs} pairs that differ most` : ""}`, ["Line", "First", "Second", "Median", "Lowest", "Highest", "Steps"], found.map((one) => row([
    linked(trends.get(one.trend).line, link("compare", { line: one.trend, base: one.of, versions: JSON.stringify([one.control]), metric: one.metric })),
    one.of, one.control, ratioInto(element("td"), one.metric, one.median), `${one.low[0]} ${ratioText(one.low[1])}`, `${one.high[0]} ${ratioText(one.high[1])}`, String(one.steps),
  ]))));
  return made;
};
