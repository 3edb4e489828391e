// The drawings: the map of the table; images, values, evidence and tree of one row.

// ---- the map
// Share of a cell to opacity, by its root: rare marks stay visible beside frequent ones.
const opacity = (share, top) => (share > 0 ? 0.08 + 0.92 * Math.sqrt(Math.min(1, share / top)) : 0);
function drawMap() {
  const box = byId("map"), { rows_per_cell: tall, columns_per_cell: wide, corrupted, missing } = summary.map;
  if (!totals.corrupted_cells && !totals.missing_cells) {
    box.removeAttribute("role");
    box.textContent = "Nothing was found, so there is nothing to mark.";
    byId("map-hint").hidden = true;
    return;
  }
  if (grid) return drawHits(box);
  const sizeOf = (line, cell) => Math.min(tall, totals.rows - line * tall) * Math.min(wide, totals.columns - cell * wide);
  const shares = (counts) => counts.map((line, i) => line.map((count, j) => count / sizeOf(i, j)));
  const found = shares(corrupted), gaps = missing && shares(missing);
  const top = greatest([...found, ...(gaps || [])].map(greatest));
  const canvas = document.createElement("canvas");
  canvas.width = found[0].length; canvas.height = found.length;
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  found.forEach((line, i) => line.forEach((share, j) => {
    const a = opacity(share, top), b = gaps ? opacity(gaps[i][j], top) * (1 - a) : 0;
    const mixed = [213, 94, 0].map((tone, k) => (a + b ? (tone * a + [86, 180, 233][k] * b) / (a + b) : 0));
    image.data.set([...mixed, 255 * (a + b)], 4 * (i * canvas.width + j));
  }));
  context.putImageData(image, 0, 0);
  const height = Math.max(250, Math.min(state.printing ? 320 : 480, 150 + found.length * 5)), hits = 52;
  const x = [-0.5, totals.columns - 0.5], y = [totals.rows - 0.5, -0.5];
  const chart = frame(box, { height, x, y, yTicks: niceTicks(0, totals.rows - 1, 6).filter(Number.isInteger), yLabel: integer, yTitle: "row", top: hits + 10 });
  const { X, Y } = chart;
  chart.inside(make("image", { class: "heat", href: canvas.toDataURL(), preserveAspectRatio: "none", x: X(-0.5), y: Y(-0.5),
    width: X(canvas.width * wide - 0.5) - X(-0.5), height: Y(canvas.height * tall - 0.5) - Y(-0.5) }));
  const most = greatest(columns.corrupted) || 1, rise = (count) => hits - (hits - 12) * (count / most);
  const steps = columns.corrupted.map((count, index) => `V${rise(count)}H${X(index + 0.5)}`);
  chart.svg.append(make("path", { class: "hits", d: `M${X(-0.5)} ${hits}${steps.join("")}V${hits}Z` }),
    make("text", { x: chart.left - 6, y: 16, "text-anchor": "end" }, integer(most)));
  const cellAt = (event) => {
    const [px, py] = point(chart, event);
    if (px < chart.left || px > chart.right || py > chart.bottom) return null;
    const cell = Math.min(found[0].length - 1, Math.floor(((px - chart.left) / (chart.right - chart.left)) * totals.columns / wide));
    const line = Math.floor(((py - chart.top) / (chart.bottom - chart.top)) * totals.rows / tall);
    return [Math.min(line, found.length - 1), cell];
  };
  chart.svg.addEventListener("pointermove", (event) => {
    const at = cellAt(event);
    if (!at) return hideTip();
    const [line, cell] = at, start = cell * wide, stop = Math.min(start + wide, totals.columns);
    if (line < 0) return showTip(event, `${span(start, stop)}\n${DONE} in ${counted(columns.corrupted[start], "row")}`);
    const first = line * tall, last = Math.min(first + tall, totals.rows) - 1;
    const parts = [first === last ? `row ${integer(first)}` : `rows ${integer(first)} to ${integer(last)}`, span(start, stop), `${DONE}: ${percent(found[line][cell])}`];
    if (gaps && gaps[line][cell]) parts.push(`missing: ${percent(gaps[line][cell])}`);
    showTip(event, parts.join("\n"));
  });
  chart.svg.addEventListener("pointerleave", hideTip);
  chart.svg.addEventListener("click", (event) => {
    const at = cellAt(event);
    if (!at || at[0] < 0) return;
    const first = at[0] * tall, start = at[1] * wide;
    const near = rows.map((record, index) => [record, index]).filter(([record]) => record.row >= first && record.row < first + tall);
    const hit = near.find(([record]) => covers(record, start, start + wide)) || near[0];
    if (!hit) byId("map-hint").textContent = `No row of ${integer(first)} to ${integer(Math.min(first + tall, totals.rows) - 1)} is among those listed with all values.`;
    else { showGroup("all"); choose(hit[1]); byId("chosen").scrollIntoView(); }
  });
  const single = tall * wide === 1;
  mapKey([single ? DONE : `${DONE}: 0 to ${percent(top)} of the values`, single ? "swatch corrupted" : "ramp"], ...(gaps ? [[single ? "missing" : "missing, on the same scale", single ? "swatch missing" : "ramp missing"]] : []));
  box.setAttribute("aria-label", `Map of ${counted(totals.rows, "row")} and ${counted(totals.columns, "column")}: ${counted(totals.corrupted_cells, "value")} ${DONE} in ${counted(totals.corrupted_rows, "row")}`);
}
function mapKey(...items) {
  byId("map-key").replaceChildren(...items.map(([words, kind]) => html("span", { class: "item" }, html("i", { class: kind }), words)));
}
const covers = (record, start, stop) => [...record.corrupted, ...record.missing].some((run) => run[0] < stop && run[1] > start);

// ---- images, for grids
const columnOf = (index) => (columns.order ? columns.order[index] : index);
function byColumn(values, empty) {
  const cells = new Array(totals.columns).fill(empty);
  values.forEach((value, index) => { cells[columnOf(index)] = value; });
  return cells;
}
const [darkest, lightest] = !grid ? [0, 1] : columns.reference_low ? [least(columns.reference_low), greatest(columns.reference_high)]
  : [least(rows.map((record) => least(record.before))), greatest(rows.map((record) => greatest(record.before)))];
const light = (value) => (value === null ? 0 : 255 * Math.min(1, Math.max(0, (value - darkest) / (lightest - darkest || 1))));
// Paints a canvas; colour() takes the columns of a pixel and returns red, green, blue and opacity.
function paint(canvas, colour) {
  const [height, width, channels = 1] = grid;
  canvas.width = width; canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++)
    image.data.set(colour(Array.from({ length: channels }, (_, channel) => pixel * channels + channel)), 4 * pixel);
  context.putImageData(image, 0, 0);
  return canvas;
}
// High values are light, as in photographs; three channels are red, green and blue.
const photo = (cells) => (own) => {
  const tones = own.map((column) => light(cells[column]));
  const mean = tones.reduce((sum, tone) => sum + tone, 0) / tones.length;
  return [...(tones.length === 3 ? tones : [mean, mean, mean]), 255];
};
const marked = (cells, marks) => (own) => {
  const tones = photo(cells)(own), mark = own.map((column) => marks[column]).find((one) => one);
  const tint = mark === "missing" ? [86, 180, 233] : [213, 94, 0];
  return mark ? [...tint.map((tone, i) => 0.8 * tone + 0.2 * tones[i]), 255] : tones;
};
const heat = (cells, top, tone) => (own) => [...tone, 255 * opacity(Math.max(...own.map((column) => cells[column] || 0)), top)];
function marksOf(record) {
  const marks = new Array(totals.columns).fill("");
  for (const kind of ["missing", "corrupted"])
    for (const [start, stop] of record[kind]) for (let place = start; place < stop; place++) marks[columnOf(place)] = kind;
  return marks;
}
const filledIn = (record, values, rest) => {
  const all = [...rest];
  if (values) record.filled_at.forEach((index, i) => { all[index] = values[i]; });
  return all;
};
const afterOf = (record) => filledIn(record, record.after, record.before);
const spreadOf = (record) => filledIn(record, record.spread, record.before.map(() => null));
const indexOf = new Map(grid ? columns.names.map((_, index) => [columnOf(index), index]) : []);
// Tells what is known of the pixel pointed at; both functions take the indices of its channels.
function watchPixels(canvas, wordsOf, chosen) {
  const ownOf = (event) => {
    const outline = canvas.getBoundingClientRect(), channels = grid[2] || 1;
    const line = Math.floor(((event.clientY - outline.top) / outline.height) * grid[0]), at = Math.floor(((event.clientX - outline.left) / outline.width) * grid[1]);
    if (line < 0 || at < 0 || line >= grid[0] || at >= grid[1]) return [];
    return Array.from({ length: channels }, (_, channel) => indexOf.get((line * grid[1] + at) * channels + channel));
  };
  canvas.addEventListener("pointermove", (event) => showTip(event, wordsOf(ownOf(event))));
  canvas.addEventListener("pointerleave", hideTip);
  if (chosen) canvas.addEventListener("click", (event) => { const own = ownOf(event); if (own.length) chosen(own); });
}
function drawPictures(record) {
  const box = byId("pictures");
  box.hidden = !grid;
  if (!grid) return;
  const before = byColumn(record.before, null), marks = marksOf(record);
  const pictures = [["before", photo(before)], [`values ${DONE}`, marked(before, marks)],
    [summary.repaired ? "after" : "expected instead", photo(byColumn(afterOf(record), null))]];
  if (record.spread && record.filled_at.length) pictures.push([`spread, up to ${number(greatest(record.spread))}`, heat(byColumn(spreadOf(record), 0), greatest(record.spread) || 1, [0, 114, 178])]);
  if (record.evidence) pictures.push([`evidence, log odds up to ${number(greatest(record.evidence))}`, heat(byColumn(record.evidence, 0), Math.max(1, greatest(record.evidence)), [213, 94, 0])]);
  box.replaceChildren(...pictures.map(([words, colour]) => {
    const canvas = paint(html("canvas", { role: "img", "aria-label": `Row ${rowName(record)}: ${words}` }), colour);
    watchPixels(canvas, (own) => own.map((index) => cellWords(record, index)).join("\n"));
    return html("figure", {}, canvas, html("figcaption", {}, words));
  }));
}
// Images have no map of rows and columns, in which neighbouring pixels are apart, but an image of how often each was hit.
function drawHits(box) {
  const hits = columns.corrupted.map((count, index) => count + columns.missing[index]), most = greatest(hits);
  const canvas = paint(html("canvas"), heat(byColumn(hits, 0), most, [213, 94, 0]));
  box.classList.add("hits-image");
  box.replaceChildren(canvas);
  watchPixels(canvas, (own) => own.map((index) => `${columns.names[index]}: ${counted(hits[index], "row")}`).join("\n"), (own) => only("", columns.names[own[0]]));
  mapKey([`hit in 0 to ${counted(most, "row")}`, "ramp"]);
  box.setAttribute("aria-label", `Image of how often each pixel was hit, at most in ${counted(most, "row")}`);
}

// ---- the values of one row
const MOST_POINTS = 5000;
const low = columns.reference_low, high = columns.reference_high, ranged = Boolean(low && high);
const widthOf = (index) => high[index] - low[index] || 1;
const scaled = (value, index) => (value === null || state.scale === "plain" ? value : (value - low[index]) / widthOf(index));
const scaledWidth = (value, index) => (value === null || state.scale === "plain" ? value : value / widthOf(index));
const kindAt = (record, place) => {
  const run = record.corrupted.find(([start, stop]) => place >= start && place < stop);
  return run ? KINDS[run[2]] || "corrupted" : record.missing.some(([start, stop]) => place >= start && place < stop) ? "missing" : "";
};
function cellWords(record, index) {
  const at = record.filled_at.indexOf(index), kind = kindAt(record, index), unit = unitOf(index);
  const words = [columns.names[index] + (kind ? ` (${kind})` : ""), `as it came: ${record.before[index] === null ? "missing" : number(record.before[index]) + unit}`];
  if (at >= 0) words.push(`${summary.repaired ? "put in its place" : "expected"}: ${number(record.after[at])}${record.spread && record.spread[at] !== null ? ` ± ${number(record.spread[at])}` : ""}${unit}`);
  if (ranged) words.push(`reference: ${number(low[index])} to ${number(high[index])}${unit}`);
  if (record.evidence) words.push(`evidence: ${number(record.evidence[index])}`);
  return words.join("\n");
}
const view = () => state.range || [-0.5, totals.columns - 0.5];
// The columns in view; of more than a screen has pixels every second, third and so on.
function seen() {
  const [from, to] = view(), all = columns.names.map((_, index) => index).filter((index) => index >= from && index <= to);
  const stride = Math.ceil(all.length / MOST_POINTS);
  return all.filter((_, i) => i % stride === 0);
}
// A path through points; null breaks it.
const path = (points) => points.map((one, i) => (one ? `${i && points[i - 1] ? "L" : "M"}${one[0].toFixed(1)} ${one[1].toFixed(1)}` : "")).join("");
const band = (upper, lower) => (upper.length ? `${path(upper)}L${path([...lower].reverse()).slice(1)}Z` : "");
const runsOf = (record) => [...record.corrupted, ...record.missing];
function insideRun([start, stop], margin) {
  const first = Math.max(0, start - margin), end = Math.min(totals.columns, stop + margin);
  return Array.from({ length: end - first }, (_, i) => first + i);
}
function drawRow(record) {
  byId("row-part").hidden = Boolean(grid);
  if (grid) return;
  const box = byId("row-chart"), shown = seen(), few = shown.length <= 120;
  const after = afterOf(record), spread = spreadOf(record), filled = new Set(record.filled_at);
  const extent = shown.flatMap((index) => {
    const wide = scaledWidth(spread[index], index) || 0, values = [scaled(record.before[index], index)];
    if (filled.has(index)) values.push(scaled(after[index], index) - wide, scaled(after[index], index) + wide);
    if (ranged) values.push(scaled(low[index], index), scaled(high[index], index));
    return values.filter((value) => value !== null);
  });
  let [bottom, top] = extent.length ? [least(extent), greatest(extent)] : [0, 1];
  if (top === bottom) { top += 1; bottom -= 1; }
  const pad = 0.06 * (top - bottom), units = new Set(columns.units || []);
  const y = [bottom - pad, top + pad], title = state.scale === "range" ? "share of the range" : units.size === 1 ? `value, ${[...units][0]}` : "value";
  const chart = frame(box, { height: 310, x: view(), y, yTicks: niceTicks(y[0], y[1], 5), yTitle: title, top: 20 });
  const at = (values, index) => { const value = scaled(values[index], index); return value === null ? null : [chart.X(index), chart.Y(value)]; };
  if (ranged) chart.inside(make("path", { class: "range", d: band(shown.map((index) => at(high, index)), shown.map((index) => at(low, index))) }));
  for (const [start, stop, kind] of runsOf(record)) {
    const from = chart.X(start - 0.5), width = chart.X(stop - 0.5) - from, words = kind === undefined ? "missing" : KINDS[kind] || "";
    chart.inside(make("rect", { class: kind === undefined ? "gap" : "shade", x: from, width, y: chart.top, height: chart.bottom - chart.top }));
    const middle = Math.min(Math.max(from + width / 2, chart.left + 24), chart.right - 24);
    if (width > 7 * words.length && from < chart.right && from + width > chart.left)
      chart.svg.append(make("text", { class: "on-run", x: middle, y: chart.top - 6, "text-anchor": "middle" }, words));
  }
  chart.inside(make("path", { class: "kept", d: path(shown.map((index) => (filled.has(index) ? null : at(record.before, index)))) }));
  if (few) chart.inside(...shown.filter((index) => !filled.has(index) && record.before[index] !== null).map((index) => {
    const [cx, cy] = at(record.before, index);
    return make("circle", { class: "kept-dot", cx, cy, r: 2.2 });
  }));
  for (const run of runsOf(record)) {
    const own = insideRun(run, 0).filter((index) => spread[index] !== null && after[index] !== null);
    const edge = (index, sign) => [chart.X(index), chart.Y(scaled(after[index], index) + sign * scaledWidth(spread[index], index))];
    const level = own.length === 1 ? [[own[0], -0.4], [own[0], 0.4]] : own.map((index) => [index, 0]);
    const side = (sign) => level.map(([index, shift]) => [chart.X(index + shift), edge(index, sign)[1]]);
    chart.inside(make("path", { class: "spread", d: band(side(1), side(-1)) }),
      make("path", { class: "put", d: path(insideRun(run, 1).map((index) => at(after, index))) }));
    if (run.length === 3) chart.inside(make("path", { class: "came", d: path(insideRun(run, 1).map((index) => at(record.before, index))) }));
  }
  if (few) for (const index of shown.filter((one) => filled.has(one))) {
    const put = at(after, index), came = at(record.before, index);
    if (put) chart.inside(make("circle", { class: "put-dot", cx: put[0], cy: put[1], r: 3.2 }));
    if (came) chart.inside(make("path", { class: "came-dot", d: `M${came[0] - 3.5} ${came[1] - 3.5}l7 7M${came[0] + 3.5} ${came[1] - 3.5}l-7 7` }));
  }
  interact(chart, record);
  drawKey([...(ranged ? ["range of the reference"] : []), "kept", ...(record.corrupted.length ? ["as it came"] : []),
    ...(record.filled_at.length ? [summary.repaired ? "put in its place" : "expected instead"] : []), ...(record.spread && record.filled_at.length ? ["spread"] : [])]);
  box.setAttribute("aria-label", `Values of row ${rowName(record)}: ${record.corrupted.map(([start, stop]) => span(start, stop)).join(", ") || "nothing"} ${DONE}`);
}
const MARKS = {
  "range of the reference": [["rect", { width: 26, height: 12, class: "range" }]],
  kept: [["path", { d: "M0 6H26", class: "kept" }]],
  "as it came": [["path", { d: "M0 6H26", class: "came" }], ["path", { d: "M10 3l6 6M16 3l-6 6", class: "came-dot" }]],
  put: [["path", { d: "M0 6H26", class: "put" }], ["circle", { cx: 13, cy: 6, r: 3.5, class: "put-dot" }]],
  spread: [["rect", { width: 26, height: 12, class: "spread" }]],
};
function drawKey(words) {
  byId("row-key").replaceChildren(...words.map((word) => {
    const marks = (MARKS[word] || MARKS.put).map(([tag, given]) => make(tag, given));
    return html("span", { class: "item" }, make("svg", { class: "mark", viewBox: "0 0 26 12", "aria-hidden": "true" }, ...marks), word);
  }));
}
// Pointing at a chart tells the cell; dragging zooms all charts of the row, a double click shows all columns again.
function interact(chart, record, wordsAt = (index) => cellWords(record, index)) {
  const cursor = make("line", { class: "cursor", y1: chart.top, y2: chart.bottom, visibility: "hidden" });
  const area = make("rect", { class: "select", y: chart.top, height: chart.bottom - chart.top, visibility: "hidden" });
  chart.inside(area, cursor);
  const placeAt = (px) => view()[0] + ((px - chart.left) / (chart.right - chart.left)) * (view()[1] - view()[0]);
  let from = null;
  chart.svg.addEventListener("pointermove", (event) => {
    const [px, py] = point(chart, event);
    if (from !== null) set(area, { x: Math.min(from, px), width: Math.abs(px - from), visibility: "visible" });
    if (px < chart.left || px > chart.right) return hideTip();
    const index = Math.min(totals.columns - 1, Math.max(0, Math.round(placeAt(px))));
    set(cursor, { x1: chart.X(index), x2: chart.X(index), visibility: "visible" });
    showTip(event, wordsAt(index, py));
  });
  chart.svg.addEventListener("pointerleave", () => { hideTip(); from = null; area.setAttribute("visibility", "hidden"); cursor.setAttribute("visibility", "hidden"); });
  if (coarse) return;
  chart.svg.addEventListener("pointerdown", (event) => { [from] = point(chart, event); event.preventDefault(); });
  chart.svg.addEventListener("pointerup", (event) => {
    const [to] = point(chart, event), ends = from === null ? [] : [placeAt(Math.min(from, to)), placeAt(Math.max(from, to))];
    const moved = from !== null && Math.abs(to - from) > 6;
    from = null;
    if (moved) zoom([Math.max(-0.5, Math.round(ends[0]) - 0.5), Math.min(totals.columns - 0.5, Math.round(ends[1]) + 0.5)]);
  });
  chart.svg.addEventListener("dblclick", () => zoom(null));
}
function zoom(range) {
  state.range = range;
  byId("unzoom").hidden = !range;
  drawCharts();
}
function drawEvidence(record) {
  byId("evidence-part").hidden = Boolean(grid) || !record.evidence;
  if (grid || !record.evidence) return;
  const shown = seen(), values = shown.map((index) => record.evidence[index]);
  const top = Math.max(2, greatest(values)), bottom = Math.max(Math.min(0, least(values)), -Math.max(2, 0.35 * top));
  const chart = frame(byId("evidence-chart"), { height: 150, x: view(), y: [bottom, top * 1.05], yTicks: niceTicks(bottom, top, 3), yTitle: "log odds" });
  const width = Math.max(1, 0.8 * (chart.X(1) - chart.X(0)) * (shown.length > 1 ? shown[1] - shown[0] : 1));
  chart.inside(...shown.filter((index) => record.evidence[index] !== null).map((index) => {
    const value = Math.max(bottom, record.evidence[index]), up = chart.Y(Math.max(0, value)), down = chart.Y(Math.min(0, value));
    return make("rect", { class: value > 0 ? "against" : "for", x: chart.X(index) - width / 2, width, y: up, height: Math.max(0.5, down - up) });
  }));
  interact(chart, record);
  byId("evidence-chart").setAttribute("aria-label", `Evidence by cell of row ${rowName(record)}: largest log odds ${number(greatest(record.evidence))}`);
}

// ---- the tree of one row
const RAMP = [[238, 242, 245], [185, 201, 216], [111, 143, 174], [47, 86, 125], [15, 39, 65]];
const smallest = rule && rule.reference_rows ? 1 / (rule.reference_rows + 1) : 1e-4;
// 0 for a part as usual as can be, 1 for one that no reference row matches; in between by powers of ten.
const rarity = (score) => Math.log(Math.max(score, smallest)) / Math.log(smallest);
function shadeOf(score) {
  const at = rarity(score) * (RAMP.length - 1), from = Math.min(Math.floor(at), RAMP.length - 2);
  return `rgb(${RAMP[from].map((value, i) => Math.round(value + (at - from) * (RAMP[from + 1][i] - value))).join(",")})`;
}
function drawTree(record) {
  byId("tree-part").hidden = !tree || !record.nodes;
  if (!tree || !record.nodes) return;
  const depth = Math.max(...tree.depth), tau = (rule && rule.tau) ?? null;
  const levels = Array.from({ length: depth + 1 }, (_, level) => level);
  const chart = frame(byId("tree-chart"), { height: 60 + 34 * (depth + 1), x: view(), y: [depth + 1, 0], yTicks: levels.map((level) => level + 0.5),
    yLabel: (tick) => (tick < 1 ? "row" : tick < 2 ? "halves" : `1/${2 ** (tick - 0.5)}`) });
  const known = tree.start.map((_, node) => node).filter((node) => record.nodes[node] !== null);
  const anomalous = (node) => tau !== null && record.nodes[node] <= tau;
  for (const node of [...known].sort((a, b) => anomalous(a) - anomalous(b))) {
    const score = record.nodes[node], x = chart.X(tree.start[node] - 0.5), width = chart.X(tree.stop[node] - 0.5) - x, y = chart.Y(tree.depth[node]) + 2;
    const words = number(+score.toPrecision(2));
    chart.inside(make("rect", { class: `node${anomalous(node) ? " anomalous" : ""}`, x: x + 1, y, width: Math.max(0.5, width - 2), height: 29, fill: shadeOf(score) }));
    if (width > 7.5 * words.length + 6) chart.inside(make("text", { class: `node-text ${rarity(score) > 0.55 ? "light" : "dark"}`, x: x + width / 2, y: y + 19 }, words));
  }
  interact(chart, record, (index, py) => {
    const level = Math.floor(((py - chart.top) / (chart.bottom - chart.top)) * (depth + 1));
    const node = known.find((one) => tree.depth[one] === level && tree.start[one] <= index && tree.stop[one] > index);
    return node === undefined ? "" : `${span(tree.start[node], tree.stop[node])}\nscore ${number(record.nodes[node])}`;
  });
  byId("tree-hint").textContent = "Each bar is a part of the row with its score: the share of reference rows that are at least as far from the others there." +
    (tau === null ? "" : ` Framed parts are anomalous: their score is at most ${number(tau)}.`);
  byId("tree-chart").setAttribute("aria-label", `Tree of scores of row ${rowName(record)}: ${counted(known.filter(anomalous).length, "part")} of ${known.length} anomalous`);
}
