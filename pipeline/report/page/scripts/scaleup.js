// Throughput over the number of clients, relative to that with the fewest.
const scaleups = new Map(data.scaleups.map((one) => [one.id, one]));

function drawScaleUp(section) {
  const one = scaleups.get(section.id);
  const revisions = data.lines[one.line];
  const step = section.querySelector("select").value;
  const chosen = [...section.querySelectorAll(".revision[aria-pressed=true]")].map((button) => Number(button.dataset.revision));
  const shown = chosen.filter((position) => position in one.values[step]);
  const fewest = one.clients[0];
  const most = one.clients[one.clients.length - 1];
  const high = Math.max(1, ...shown.flatMap((position) => one.values[step][position])) * 1.12;
  const perfect = Math.min(most, high * fewest);
  const title = (text) => ({ text, standoff: 6, font: { size: 11, color: css("--soft") } });
  const place = section.querySelector(".chart");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", `${step}: throughput with ${one.clients.join(", ")} clients relative to ${fewest}`);
  Plotly.react(place, [
    { x: [fewest, perfect], y: [1, perfect / fewest], mode: "lines", line: { color: css("--soft"), width: 1, dash: "dot" }, hoverinfo: "skip" },
    ...shown.map((position) => ({
      x: one.clients, y: one.values[step][position], mode: "lines+markers", line: { ...lookOf(position), width: 1.8 }, marker: { size: 7 },
      text: one.clients.map((clients, at) => `${number(one.values[step][position][at])} times that with ${fewest}; perfect is ${number(clients / fewest)}`),
      hovertemplate: `<b>${plain(revisions[position])}</b>, %{x} clients<br>%{text}<extra></extra>`,
    })),
  ], base({
    margin: { l: 58, r: 14, t: 8, b: 38 }, hovermode: "closest",
    xaxis: { title: title("clients"), tickvals: one.clients, range: [0, most * 1.04], fixedrange: true, showgrid: false, zeroline: false, linecolor: css("--rule") },
    yaxis: { title: title(`QPS / QPS with ${fewest}`), range: [0, high], fixedrange: true, gridcolor: css("--rule"), zeroline: false, nticks: 6 },
  }), SLIM);
}

// What can be chosen: the revisions that were measured, the first and the last of them at first.
function prepareScaleUp(section) {
  const one = scaleups.get(section.id);
  const measured = [...new Set(Object.values(one.values).flatMap((positions) => Object.keys(positions).map(Number)))].sort((a, b) => a - b);
  const row = section.querySelector(".row");
  measured.forEach((position, at) => {
    const made = element("button", "revision", data.lines[one.line][position]);
    made.type = "button";
    made.dataset.revision = position;
    made.setAttribute("aria-pressed", String(at === 0 || at === measured.length - 1));
    made.prepend(swatch(position));
    made.addEventListener("click", () => {
      made.setAttribute("aria-pressed", String(made.getAttribute("aria-pressed") !== "true"));
      drawScaleUp(section);
    });
    row.append(made);
  });
  section.querySelector("select").addEventListener("change", () => drawScaleUp(section));
}
