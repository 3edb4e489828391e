"use strict";
// The page's script is axes.js, drawings.js and page.js, one after the other. It draws from the summary, as SVG and small
// canvases. Text from the data reaches the page through textContent and attributes only, never as markup. Colours come
// from the style sheet, so that dark mode needs no redraw. This part: the summary, words and numbers, charts with axes.
const byId = (id) => document.getElementById(id);
const summary = JSON.parse(byId("summary").textContent);
const { columns, tree, grid, totals, rule } = summary;
const rows = [...summary.rows, ...summary.unusual_rows];
const KINDS = ["noise", "foreign", "shifted", "stuck"];
const coarse = window.matchMedia("(pointer: coarse)").matches;
const list = byId("list"), options = [...list.children];
const state = { chosen: -1, group: "", scale: "plain", range: null, printing: false };
const DONE = summary.repaired ? "replaced" : "found";

// ---- words and numbers
const clip = (text, length) => (text.length <= length ? text : text.slice(0, length - 1) + "…");
// Names often begin alike, and end with what tells them apart.
const clipMiddle = (text, length) => (text.length <= length ? text : text.slice(0, Math.ceil(length / 2) - 1) + "…" + text.slice(-Math.floor(length / 2)));
const rowName = (record) => clipMiddle(record.id, 80);
// In the list a long beginning that all names share is left out; what is left is enough.
function titleOf(record, index) {
  const short = options[index].querySelector(".name").textContent;
  return document.querySelector(".shared") ? short[0].toUpperCase() + short.slice(1) : `Row ${rowName(record)}`;
}
const integer = (count) => count.toLocaleString("en");
const counted = (count, word) => `${integer(count)} ${word}${count === 1 ? "" : "s"}`;
const number = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(2) : String(+value.toPrecision(5));
};
const percent = (share) => `${+(100 * share).toPrecision(3)}%`;
const unitOf = (index) => (columns.units && columns.units[index] ? ` ${columns.units[index]}` : "");
const span = (start, stop) => (stop - start === 1 ? columns.names[start] : `${columns.names[start]} to ${columns.names[stop - 1]}`);
const greatest = (values) => values.reduce((most, value) => (value !== null && value > most ? value : most), -Infinity);
const least = (values) => values.reduce((most, value) => (value !== null && value < most ? value : most), Infinity);

// ---- what all charts share
function set(node, given, children = []) {
  for (const [key, value] of Object.entries(given)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
const make = (tag, given = {}, ...children) => set(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
const html = (tag, given = {}, ...children) => set(document.createElement(tag), given, children);
// The smallest of 1, 2, 5, 10, 20 and so on, and of tenths of these, that is large enough.
function niceStep(enough) {
  const power = 10 ** Math.floor(Math.log10(enough));
  return [1, 2, 5].map((one) => one * power).find((one) => one >= enough) || 10 * power;
}
function niceTicks(low, high, wanted) {
  const step = niceStep((high - low || 1) / Math.max(1, wanted)), ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) ticks.push(+tick.toPrecision(12));
  return ticks;
}
// Places to label, [[place, text]], and how far names reach if they must be turned to fit, otherwise 0.
function placeTicks(low, high, width) {
  const first = Math.max(0, Math.ceil(low)), last = Math.min(totals.columns - 1, Math.floor(high));
  const plain = !columns.named && !columns.order;
  const most = width < 500 ? 9 : 14, label = (place) => (plain ? String(place) : clipMiddle(columns.names[place], most));
  const longest = plain ? String(last).length : Math.min(most, Math.max(...columns.names.slice(0, 500).map((name) => name.length)));
  const pixels = width / (high - low || 1);
  const level = Math.max(1, niceStep((7.4 * longest + 10) / pixels)), turned = !plain && level > 1;
  const step = turned ? Math.max(1, niceStep(16 / pixels)) : level, ticks = [];
  for (let place = Math.ceil(first / step) * step; place <= last; place += step) ticks.push([place, label(place)]);
  return [ticks, turned ? Math.round(longest * 5.4) : 0];
}
// An empty chart with axes; X and Y turn values into pixels, inside() draws what the axes cut off.
function frame(box, { height, x, y, yTicks, yLabel = number, yTitle = "", placed = true, top = 8 }) {
  const width = Math.max(240, state.printing ? 660 : box.clientWidth);
  const labels = yTicks.map((tick) => [tick, yLabel(tick)]);
  const right = width - 12, least = 26 + 7.3 * Math.max(1, ...labels.map(([, text]) => text.length));
  const [ticks, turned] = placed ? placeTicks(x[0], x[1], right - least) : [[], 0];
  const left = Math.max(least, turned + 6), total = height + turned, bottom = height - 40;
  const svg = make("svg", { viewBox: `0 0 ${width} ${total}`, width, height: total });
  const X = (value) => left + ((value - x[0]) / (x[1] - x[0])) * (right - left);
  const Y = (value) => bottom - ((value - y[0]) / (y[1] - y[0] || 1)) * (bottom - top);
  for (const [tick, text] of labels) {
    svg.append(make("line", { class: "gridline", x1: left, x2: right, y1: Y(tick), y2: Y(tick) }),
      make("text", { x: left - 6, y: Y(tick) + 4, "text-anchor": "end" }, text));
  }
  for (const [place, text] of ticks) {
    const half = 3.7 * text.length, at = X(place);
    svg.append(make("line", { class: "axis", x1: at, x2: at, y1: bottom, y2: bottom + 5 }));
    if (turned) svg.append(make("text", { class: "x-tick", transform: `translate(${at + 3} ${bottom + 14}) rotate(-45)`, "text-anchor": "end" }, text));
    else svg.append(make("text", { class: "x-tick", x: Math.min(Math.max(at, half), width - half), y: bottom + 18, "text-anchor": "middle" }, text));
  }
  const id = `clip-${box.id}`;
  const plot = make("g", { "clip-path": `url(#${id})` });
  svg.append(make("clipPath", { id }, make("rect", { x: left, y: top - 2, width: right - left, height: bottom - top + 4 })), plot,
    make("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }),
    make("text", { class: "title", transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yTitle));
  if (placed) svg.append(make("text", { class: "title", x: (left + right) / 2, y: total - 4, "text-anchor": "middle" }, columns.order ? "column, in layout order" : "column"));
  box.replaceChildren(svg);
  return { svg, X, Y, left, right, top, bottom, width, inside: (...nodes) => plot.append(...nodes) };
}
function point(chart, event) {
  const outline = chart.svg.getBoundingClientRect(), scale = chart.width / outline.width;
  return [(event.clientX - outline.left) * scale, (event.clientY - outline.top) * scale];
}
const tip = byId("tip");
function showTip(event, words) {
  tip.hidden = !words;
  tip.textContent = words || "";
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const above = event.clientY + 18 + tip.offsetHeight > window.innerHeight;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${above ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18}px`;
}
const hideTip = () => { tip.hidden = true; };
