// A table of any length: only the rows that can be seen are there, and on paper the first ones.
const ROW = 24; // pixels, as the style has it
const AROUND = 12; // rows beyond the edge
const ON_PAPER = 300;
const longTables = new Set();

/* heads: texts; count: rows; make(number) -> cells as for row() */
function longTable(caption, heads, count, make) {
  const around = table(caption, heads, [], "long-table");
  const body = around.querySelector("tbody");
  const made = around.querySelector("table");
  made.setAttribute("aria-rowcount", count + 1);
  made.style.width = `${9 + 8 * (heads.length - 1)}rem`;
  around.classList.add("long");
  const space = (rows) => {
    const gap = element("tr", "gap");
    gap.setAttribute("aria-hidden", "true");
    gap.style.height = `${rows * ROW}px`;
    return gap;
  };
  let shown = "";
  const fill = (first, end) => {
    if (shown === `${first} ${end}`) return;
    shown = `${first} ${end}`;
    const rows = [];
    for (let number_ = first; number_ < end; number_ += 1) {
      const each = row(make(number_));
      each.setAttribute("aria-rowindex", number_ + 2);
      rows.push(each);
    }
    body.replaceChildren(...(first ? [space(first)] : []), ...rows, ...(end < count ? [space(count - end)] : []));
  };
  const scrolled = () => {
    const first = Math.max(0, Math.floor(around.scrollTop / ROW) - AROUND);
    fill(first, Math.min(count, first + Math.ceil((around.clientHeight || 480) / ROW) + 2 * AROUND));
  };
  around.addEventListener("scroll", scrolled, { passive: true });
  around.paper = (on) => (on ? fill(0, Math.min(count, ON_PAPER)) : scrolled());
  longTables.add(around);
  scrolled();
  return around;
}
