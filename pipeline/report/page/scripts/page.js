// Draws each chart when it first comes into view, and does what is clicked or pressed.
const coming = new IntersectionObserver((entries) => {
  entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    const section = entry.target;
    coming.unobserve(section);
    states.get(section.id).drawn = true;
    draw(section);
  });
}, { rootMargin: "400px 0px" });

const lastAt = (chart) => Math.max(...chart.points.map((point) => point[0]));

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
    else if (button.classList.contains("over-time")) show(section, lastAt(chart), null);
    else if (button.classList.contains("zoom")) {
      state.zero = !state.zero;
      button.setAttribute("aria-pressed", String(state.zero));
      draw(section);
    }
  });
  section.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(section); });
  coming.observe(section);
});

const scaling = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
  scaling.unobserve(entry.target);
  prepareScaleUp(entry.target);
  drawScaleUp(entry.target);
}), { rootMargin: "400px 0px" });
document.querySelectorAll("section.scale-up").forEach((section) => scaling.observe(section));

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

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  states.forEach((state, id) => {
    if (!state.drawn) return;
    const section = document.getElementById(id);
    draw(section);
    if (state.within) refresh(section);
  });
  document.querySelectorAll("section.scale-up").forEach((section) => {
    if (!section.querySelector(".main-svg")) return;
    section.querySelectorAll(".revision").forEach((button) => button.firstChild.replaceWith(swatch(button.dataset.revision)));
    drawScaleUp(section);
  });
});
