// Throughput over the number of clients, relative to that with the fewest.
function drawScaleUp(section) {
  const { line, clients, values } = scaleups.get(section.id);
  const labels = index.lines[line];
  const step = section.querySelector("select").value;
  const shown = [...section.querySelectorAll(".revision[aria-pressed=true]")]
    .map((button) => Number(button.dataset.revision)).filter((position) => position in values[step]);
  const fewest = clients[0];
  const perfect = clients.map((count) => count / fewest);
  const high = Math.max(1, ...shown.flatMap((position) => values[step][position])) * 1.12;
  const place = section.querySelector(".place");
  forget(place);
  place.replaceChildren(chart({
    caption: `QPS / QPS with ${fewest}`, height: 300, x: clients, range: [0, high],
    label: `${step}: throughput with ${clients.join(", ")} clients relative to ${fewest}`,
    xScale: { range: [0, clients[clients.length - 1] * 1.04] },
    xAxis: { label: "clients", splits: () => clients, values: (u, counts) => counts.map(String) },
    lines: [{ values: perfect, colour: "--soft", dash: [2, 3], width: 1 }, ...shown.map((position) => ({ values: values[step][position], ...lookOf(position), width: 1.8 }))],
    describe: (at, chosen) => [`${clients[at]} clients; perfect is ${number(perfect[at])} times that with ${fewest}`,
      ...shown.map((position, number_) => `${number_ + 1 === chosen ? "› " : ""}${labels[position]} ${number(values[step][position][at])} times that with ${fewest}`)].join("\n"),
  }));
}

// What can be chosen: the revisions that were measured, the first and the last of them at first.
function prepareScaleUp(section) {
  const { line, values } = scaleups.get(section.id);
  const measured = [...new Set(Object.values(values).flatMap((positions) => Object.keys(positions).map(Number)))].sort((a, b) => a - b);
  section.querySelector(".row").append(...measured.map((position, at) => {
    const made = pushed("", index.lines[line][position], () => {
      made.setAttribute("aria-pressed", String(made.getAttribute("aria-pressed") !== "true"));
      drawScaleUp(section);
    });
    made.className = "revision";
    made.dataset.revision = position;
    made.setAttribute("aria-pressed", String(at === 0 || at === measured.length - 1));
    made.prepend(swatch(lookOf(position)));
    return made;
  }));
  section.querySelector("select").addEventListener("change", () => drawScaleUp(section));
}
