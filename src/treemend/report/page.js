// What the page does: the table of a row, choosing, filtering and sorting rows, CSV, comparison, events.

// ---- the table of one row
const tableRow = (words) => html("tr", {}, ...words.map((word) => html("td", {}, word)));
const MOST_LINES = 200, PRINTED_ROWS = 30, PRINTED_VALUES = 24;
function drawValues(record) {
  byId("values").hidden = !record.filled_at.length;
  for (const known of ["spread", "evidence"]) byId("values").classList.toggle(`no-${known}`, !record[known]);
  byId("value-lines").replaceChildren(...record.filled_at.slice(0, MOST_LINES).map((index, i) => {
    const unit = unitOf(index);
    const spread = record.spread && record.spread[i] !== null ? `± ${number(record.spread[i])}` : "";
    return tableRow([clip(columns.names[index], 80), kindAt(record, index), record.before[index] === null ? "missing" : number(record.before[index]) + unit,
      number(record.after[i]) + unit, spread, record.evidence && record.before[index] !== null ? number(record.evidence[index]) : ""]);
  }));
  byId("value-more").textContent = record.filled_at.length > MOST_LINES ? `and ${counted(record.filled_at.length - MOST_LINES, "value")} more` : "";
  byId("printed-values").textContent = record.filled_at.length > PRINTED_VALUES ? `The first ${PRINTED_VALUES} of ${counted(record.filled_at.length, "value")} are printed.` : "";
}

// ---- choosing a row
function drawCharts() { const record = rows[state.chosen]; if (record) { drawRow(record); drawEvidence(record); drawTree(record); } }
function choose(index, focus) {
  const record = rows[index], option = options[index];
  options.forEach((one, i) => { one.setAttribute("aria-selected", String(i === index)); one.tabIndex = i === index ? 0 : -1; });
  if (focus) option.focus({ preventScroll: true });
  if (option.offsetTop < list.scrollTop + list.offsetTop) list.scrollTop = option.offsetTop - list.offsetTop;
  else if (option.offsetTop + option.offsetHeight > list.scrollTop + list.offsetTop + list.clientHeight)
    list.scrollTop = option.offsetTop - list.offsetTop + option.offsetHeight - list.clientHeight;
  state.chosen = index;
  byId("chosen").hidden = false;
  const did = record.unusual ? ["unusual, left alone"] : [];
  if (record.n_corrupted) did.push(`${integer(record.n_corrupted)} of ${counted(totals.columns, "value")} ${DONE}`);
  if (record.n_missing) did.push(`${counted(record.n_missing, "missing value")}${summary.repaired ? " filled" : ""}`);
  byId("chosen-title").textContent = `${titleOf(record, index)}: ${did.join(", ") || "unchanged"}`;
  byId("chosen-why").textContent = record.why;
  drawPictures(record); drawCharts(); drawValues(record); steps();
}
const shown = () => [...list.children].filter((option) => !option.hidden);
function steps() {
  const all = shown(), at = all.indexOf(options[state.chosen]);
  byId("previous").disabled = at <= 0;
  byId("next").disabled = at < 0 || at >= all.length - 1;
}
function step(by) {
  const all = shown(), at = all.indexOf(options[state.chosen]);
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (next) choose(Number(next.dataset.index), document.activeElement && document.activeElement.parentNode === list);
}

// ---- groups, filters, order
const GROUPS = { corrupted: summary.repaired ? "Repaired" : "Corrupted", unusual: "Unusual", missing: "Gaps only", unchanged: "Unchanged", all: "All" };
const groupOf = (record) => (record.n_corrupted ? "corrupted" : record.unusual ? "unusual" : record.n_missing ? "missing" : "unchanged");
function press(id, chosen) {
  for (const button of byId(id).children) button.setAttribute("aria-pressed", String(button.dataset[chosen] === state[chosen]));
}
function showGroup(group) {
  state.group = group;
  press("groups", "group");
  filter();
}
function hitsColumn(record, wanted) {
  const exact = columns.names.findIndex((name) => name.toLowerCase() === wanted);
  if (exact >= 0) return covers(record, exact, exact + 1);
  return record.filled_at.some((index) => columns.names[index].toLowerCase().includes(wanted));
}
function filter() {
  const text = byId("search").value.trim().toLowerCase(), kind = KINDS.indexOf(byId("kind").value), column = byId("column").value.trim().toLowerCase();
  options.forEach((option, index) => {
    const record = rows[index];
    option.hidden = !((state.group === "all" || groupOf(record) === state.group) && (!text || `${record.id}\nrow ${record.row}`.toLowerCase().includes(text)) &&
      (kind < 0 || record.corrupted.some((run) => run[2] === kind)) && (!column || hitsColumn(record, column)));
  });
  const all = shown();
  const held = rows.length < totals.rows ? `the ${integer(rows.length)} rows listed, of ${integer(totals.rows)}` : counted(rows.length, "row");
  byId("status").textContent = `${integer(all.length)} of ${held}`;
  options.forEach((option) => { option.tabIndex = -1; });
  const entry = all.includes(options[state.chosen]) ? options[state.chosen] : all[0];
  if (entry) entry.tabIndex = 0;
  all.forEach((option, i) => option.classList.toggle("unprinted", i >= PRINTED_ROWS));
  byId("printed-rows").textContent = all.length > PRINTED_ROWS ? `The first ${PRINTED_ROWS} of ${counted(all.length, "row")} are printed.` : "";
  byId("download").disabled = !all.length;
  steps();
}
function sortRows() {
  const by = byId("sort").value, sign = by === "n_corrupted" ? -1 : 1;
  const key = (index) => (by === "worst" ? index : rows[index][by] === null ? Infinity : sign * rows[index][by]);
  list.append(...options.map((_, index) => index).sort((a, b) => key(a) - key(b) || a - b).map((index) => options[index]));
  steps();
}
function only(kind, column) {
  byId("search").value = ""; byId("kind").value = kind; byId("column").value = column;
  showGroup("all");
  if (shown()[0]) choose(Number(shown()[0].dataset.index));
  byId("rows").scrollIntoView();
}

// ---- findings as CSV: a line for each run of cells of the rows in the list
function findingsCsv() {
  const quote = (value) => { const text = value === null || value === undefined ? "" : String(value); return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text; };
  const lines = [["row", "id", "first_column", "last_column", "n_cells", "kind", "p_value", "before_mean", "after_mean", "spread_mean", "evidence_max"]];
  for (const option of shown()) {
    const record = rows[Number(option.dataset.index)];
    for (const [first, last, cells, kind, ...means] of record.findings) lines.push([record.row, record.id, first, last, cells, kind, record.p_value, ...means]);
  }
  return lines.map((line) => line.map(quote).join(",")).join("\r\n") + "\r\n";
}
function download() {
  const address = URL.createObjectURL(new Blob([findingsCsv()], { type: "text/csv" }));
  const link = html("a", { href: address, download: "findings.csv" });
  document.body.append(link); link.click(); link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// ---- another report beside this one
function compare(other) {
  const share = (count, of) => (of ? count / of : 0), points = (a, b) => `${b > a ? "+" : b < a ? "−" : "±"}${+(100 * Math.abs(b - a)).toPrecision(3)} points`;
  const was = other.totals, is = totals;
  const lines = [["rows", integer(was.rows), integer(is.rows), ""]];
  const add = (words, a, ofA, b, ofB) => lines.push([words, `${integer(a)} (${percent(share(a, ofA))})`, `${integer(b)} (${percent(share(b, ofB))})`, points(share(a, ofA), share(b, ofB))]);
  add("corrupted rows", was.corrupted_rows, was.rows, is.corrupted_rows, is.rows);
  add("unusual rows", was.unusual_rows, was.rows, is.unusual_rows, is.rows);
  add("corrupted values", was.corrupted_cells, was.cells, is.corrupted_cells, is.cells);
  add("missing values", was.missing_cells, was.cells, is.missing_cells, is.cells);
  if (other.kinds && summary.kinds) for (const kind of KINDS) add(`rows with ${kind} values`, other.kinds[kind].rows, was.rows, summary.kinds[kind].rows, is.rows);
  byId("compared-counts").replaceChildren(...lines.map(tableRow));
  const earlier = new Map(other.columns.names.map((name, i) => [name, share(other.columns.corrupted[i], was.rows)]));
  const changed = columns.names.map((name, i) => [name, earlier.get(name), share(columns.corrupted[i], is.rows)]).filter((one) => one[1] !== undefined && one[1] !== one[2])
    .sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1])).slice(0, 12);
  byId("compared-columns").replaceChildren(...changed.map(([name, a, b]) => tableRow([clip(name, 40), percent(a), percent(b), points(a, b)])));
  const hit = (records) => new Set(records.filter((record) => record.n_corrupted).map((record) => record.id));
  const before = hit(other.rows), now = hit(rows), both = [...now].filter((id) => before.has(id)).length;
  byId("compared-rows").textContent = `Among the rows listed by name: ${integer(before.size - both)} corrupted only earlier, ${integer(both)} in both, ${integer(now.size - both)} only in this report.` +
    (other.rest || summary.rest ? " The reports do not list all rows." : "");
  byId("comparison").hidden = false;
  byId("compare-status").textContent = `Earlier: ${other.headline} This report: ${summary.headline}`;
}
async function openOther(file) {
  const text = await file.text();
  try {
    const embedded = text.match(/<script id="summary" type="application\/json">([^<]*)<\/script>/);
    const parsed = JSON.parse(embedded ? embedded[1] : text), other = parsed.summary || parsed;
    if (other.format !== summary.format) throw new Error("format");
    compare(other);
  } catch {
    byId("comparison").hidden = true;
    byId("compare-status").textContent = `${clip(file.name, 80)} is not a report or summary of this version of treemend.`;
  }
}

// ---- events
const on = (id, type, action) => byId(id).addEventListener(type, action);
on("list", "click", (event) => { const option = event.target.closest("[role=option]"); if (option) choose(Number(option.dataset.index), true); });
on("list", "keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
  if (event.key === "Enter" || event.key === " ") choose(Number(event.target.closest("[role=option]").dataset.index), true);
  else if (by) step(by);
  else return;
  event.preventDefault();
});
on("search", "input", () => showGroup(byId("search").value ? "all" : state.group));
on("search", "keydown", (event) => {
  const first = shown()[0];
  if ((event.key === "Enter" || event.key === "ArrowDown") && first) { choose(Number(first.dataset.index), true); event.preventDefault(); }
});
for (const id of ["kind", "column"]) on(id, "input", filter);
on("sort", "input", sortRows);
on("groups", "click", (event) => { const button = event.target.closest("button"); if (button) { showGroup(button.dataset.group); if (shown()[0]) choose(Number(shown()[0].dataset.index)); } });
on("previous", "click", () => step(-1));
on("next", "click", () => step(1));
on("unzoom", "click", () => zoom(null));
on("download", "click", download);
on("other", "change", (event) => { if (event.target.files[0]) openOther(event.target.files[0]); });
on("scale", "click", (event) => { const button = event.target.closest("button"); if (button) { setScale(button.dataset.scale); drawCharts(); } });
function setScale(scale) {
  state.scale = scale;
  press("scale", "scale");
}
for (const button of document.querySelectorAll(".top button")) button.addEventListener("click", () => only(button.dataset.kind || "", button.dataset.column || ""));
on("theme", "click", () => {
  const dark = byId("theme").textContent === "Dark mode";
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light mode" : "Dark mode";
});
function redraw() { drawMap(); drawCharts(); }
let width = document.body.clientWidth;
new ResizeObserver(() => { if (document.body.clientWidth !== width && !state.printing) { width = document.body.clientWidth; redraw(); } }).observe(document.body);
window.addEventListener("beforeprint", () => { state.printing = true; redraw(); });
window.addEventListener("afterprint", () => { state.printing = false; redraw(); });

// ---- start
if (columns.order) byId("order-words").textContent = "Charts show the columns in layout order, which puts related ones side by side; lists and CSV use their own order. Rows are counted from 0.";
byId("map-hint").textContent = `${coarse ? "Tap" : "Click"} ${grid ? "a pixel to list the rows in which it was hit." : "the map to open the worst row at that place."}`;
if (window.matchMedia("(prefers-color-scheme: dark)").matches) byId("theme").textContent = "Light mode";
for (const id of ["theme", "filters", "compare"]) byId(id).hidden = false;
byId("scale").hidden = !ranged || Boolean(grid);
if (ranged && !grid) {
  const widths = high.map((one, index) => one - low[index]).filter((one) => one > 0);
  if (greatest(widths) > 20 * least(widths)) setScale("range");
}
const present = Object.keys(GROUPS).filter((group) => group === "all" || rows.some((record) => groupOf(record) === group));
for (const group of present) byId("groups").append(html("button", { type: "button", "data-group": group }, `${GROUPS[group]} ${integer(rows.filter((record) => group === "all" || groupOf(record) === group).length)}`));
byId("kind").append(html("option", { value: "" }, "any"), ...KINDS.map((kind) => html("option", { value: kind }, kind)));
byId("kind").parentNode.hidden = !summary.kinds;
byId("column-names").append(...columns.names.slice(0, 2000).map((name) => html("option", { value: name })));
if (grid) {
  options.forEach((option, index) => option.querySelector(".thumb").append(paint(html("canvas"), marked(byColumn(rows[index].before, null), marksOf(rows[index])))));
  byId("map-title-words").textContent = "How often each pixel was hit";
}
drawMap();
showGroup(present[0]);
if (shown()[0]) choose(Number(shown()[0].dataset.index));
const earlier = JSON.parse(byId("earlier").textContent);
if (earlier) compare(earlier);
