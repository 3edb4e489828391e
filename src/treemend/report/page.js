"use strict";
// Draws the charts of the page from the summary. Text from the data reaches the page through textContent only, and
// Plotly, which reads some HTML in labels, through plain().
(() => {
  const byId = (id) => document.getElementById(id);
  const summary = JSON.parse(byId("summary").textContent);
  const { attributes, tree, grid, totals, rows } = summary;
  const INK = "#1d2733", KEPT = "#55606e", FOUND = "#d55e00", AFTER = "#0072b2", MISSING = "#56b4e9";
  const places = attributes.places || attributes.names.map((_, place) => place);
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const narrow = () => window.innerWidth < 560;
  const list = byId("list"), options = [...list.children];
  const state = { chosen: -1, units: "plain" };

  const clip = (text, length) => (text.length <= length ? text : text.slice(0, length - 1) + "…");
  // A row's name ends with its number, which must stay.
  const rowName = (record) => (record.id.length <= 80 ? record.id : `${record.id.slice(0, 38)}…${record.id.slice(-41)}`);
  // In the list a long beginning that all names share is left out; what is left speaks for itself.
  function titleOf(record, index) {
    const short = options[index].querySelector(".name").textContent;
    return document.querySelector(".shared") ? short[0].toUpperCase() + short.slice(1) : `Row ${rowName(record)}`;
  }
  const plain = (text, length = 60) =>
    clip(String(text), length).replace(/\s+/g, " ").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const number = (value) => {
    if (value === null || value === undefined) return "none";
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-4 || size >= 1e7) ? value.toExponential(2) : String(+value.toPrecision(5));
  };
  const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const nameAt = (place) => {
    const index = attributes.places ? nearest(attributes.places, place) : place;
    return attributes.names[index];
  };
  function nearest(sorted, value) {
    let low = 0, high = sorted.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }
  const span = (start, stop) =>
    stop - start === 1 ? nameAt(start) : `${nameAt(start)} to ${nameAt(stop - 1)}`;

  // ---- what all charts share
  const CONFIG = { displayModeBar: false, responsive: true, showTips: false };
  const axis = (more) => ({
    zeroline: false, showline: true, linecolor: "#aab3bd", gridcolor: "#edf0f3", ticks: "outside", tickcolor: "#aab3bd",
    fixedrange: coarse, ...more,
  });
  function layout(height, more) {
    return {
      height, showlegend: false, autosize: true, dragmode: coarse ? false : "zoom", hovermode: "closest",
      margin: { l: narrow() ? 44 : 68, r: 8, t: 6, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: INK },
      hoverlabel: { bgcolor: "#fff", bordercolor: "#aab3bd", font: { color: INK, size: 12 }, align: "left" }, ...more,
    };
  }
  // Names as ticks at whole steps; plain numbers are left to Plotly.
  function placeTicks(low, high, width) {
    if (!attributes.named && !attributes.columns) return { tickmode: "auto", nticks: Math.max(3, Math.floor(width / 70)) };
    const wanted = Math.max(2, Math.floor(width / 100));
    let step = 1;
    for (const next of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 1000000]) {
      step = next;
      if ((high - low) / step <= wanted) break;
    }
    const values = [];
    for (let place = Math.max(0, Math.ceil(low / step) * step); place <= Math.min(high, totals.attributes - 1); place += step)
      values.push(place);
    return { tickmode: "array", tickvals: values, ticktext: values.map((place) => plain(nameAt(place), 13)), tickangle: 0 };
  }
  const edges = [-0.5, totals.attributes - 0.5];
  const placeAxis = (box, more) =>
    axis({ range: edges, showgrid: false, ...placeTicks(edges[0], edges[1], box.clientWidth), ...more });

  // ---- the map
  function drawMap() {
    const box = byId("map"), map = summary.map;
    if (!totals.found_cells && !totals.missing_cells) {
      box.removeAttribute("role");
      box.textContent = "Nothing was found, so there is nothing to mark.";
      byId("map-key").hidden = byId("map-hint").hidden = true;
      return;
    }
    if (map.missing_percent) byId("map-key").querySelectorAll("[hidden]").forEach((one) => { one.hidden = false; });
    const tall = map.found_percent.length, wide = map.found_percent[0].length;
    const rowOf = (line) => Math.min((line + 0.5) * map.rows_per_cell - 0.5, totals.rows - 0.5);
    const placeOf = (column) => (column + 0.5) * map.attributes_per_cell - 0.5;
    const label = (line, column, share, verb) => {
      const first = line * map.rows_per_cell, last = Math.min(first + map.rows_per_cell, totals.rows) - 1;
      const start = column * map.attributes_per_cell, stop = Math.min(start + map.attributes_per_cell, totals.attributes);
      const where = first === last ? `row ${first}` : `rows ${first} to ${last}`;
      return `${where}<br>${plain(span(start, stop))}<br>${verb}${share < 100 ? `: ${share} %` : ""}`;
    };
    const layer = (shares, colours, verb) => ({
      type: "heatmap", x0: placeOf(0), dx: map.attributes_per_cell, y0: (map.rows_per_cell - 1) / 2, dy: map.rows_per_cell,
      z: shares.map((line) => line.map((share) => share || null)), zmin: 0, zmax: 100, colorscale: colours, showscale: false,
      text: shares.map((line, i) => line.map((share, j) => (share ? label(i, j, share, verb) : ""))),
      hoverinfo: "text", hoverongaps: false,
    });
    const traces = [layer(map.found_percent, [[0, "#f7cba9"], [0.3, "#e88a45"], [1, FOUND]], "found")];
    if (map.missing_percent) traces.unshift(layer(map.missing_percent, [[0, "#d5ebf8"], [1, MISSING]], "missing"));
    traces.push({
      type: "scatter", mode: "lines", x: places, y: attributes.found, yaxis: "y2", line: { color: FOUND, width: 1.2, shape: "hvh" },
      fill: "tozeroy", fillcolor: "rgba(213,94,0,.22)", hoverinfo: "text",
      text: attributes.names.map((name, i) => `${plain(name)}<br>found in ${many(attributes.found[i], "row")}`),
    });
    Plotly.newPlot(box, traces, layout(Math.max(250, Math.min(470, 150 + tall * 5)), {
      xaxis: placeAxis(box, { title: { text: attributes.columns ? "attribute, in the order of the tree" : "attribute", standoff: 8 }, anchor: "y" }),
      yaxis: axis({ range: [totals.rows - 0.5, -0.5], domain: [0, 0.8], title: { text: "row", standoff: 6 }, showgrid: false, tickformat: ",d" }),
      yaxis2: axis({ domain: [0.84, 1], rangemode: "tozero", nticks: 3, fixedrange: true, tickformat: ",d" }),
    }), CONFIG);
    box.on("plotly_click", (event) => {
      const point = event.points[0];
      if (point.data.type !== "heatmap") return;
      const first = Math.floor((point.y + 0.5) / map.rows_per_cell) * map.rows_per_cell;
      const index = rows.findIndex((record) => record.row >= first && record.row < first + map.rows_per_cell);
      if (index < 0) byId("map-hint").textContent = "That row is not among those shown in detail; the worst are.";
      else { choose(index); byId("chosen").scrollIntoView(); }
    });
    box.setAttribute("aria-label",
      `Map of ${many(totals.rows, "row")} and ${many(totals.attributes, "attribute")}: ` +
      `${many(totals.found_cells, "value")} found in ${many(totals.touched_rows, "row")}`);
  }

  // ---- pictures, for grids
  const columnOf = (place) => (attributes.columns ? attributes.columns[place] : place);
  function byPixel(values, empty) {
    const pixels = new Array(totals.attributes).fill(empty);
    values.forEach((value, place) => { pixels[columnOf(place)] = value; });
    return pixels;
  }
  const greatest = (values) => values.reduce((most, value) => (value !== null && value > most ? value : most), -Infinity);
  const least = (values) => values.reduce((most, value) => (value !== null && value < most ? value : most), Infinity);
  const [darkest, lightest] = attributes.reference_low
    ? [greatest(attributes.reference_high), least(attributes.reference_low)]
    : [greatest(rows.flatMap((record) => [...record.before, ...record.after])),
       least(rows.flatMap((record) => [...record.before, ...record.after]))];

  // Paints one value a pixel, dark is high; three channels as colours. Marked pixels are orange, gaps blue.
  function paint(canvas, pixels, marks, pale, range) {
    const [height, width, channels = 1] = grid;
    const [low, high] = range || [lightest, darkest];
    canvas.width = width; canvas.height = height;
    const context = canvas.getContext("2d"), image = context.createImageData(width, height);
    const share = (value) => (value === null ? 0 : Math.min(1, Math.max(0, (value - low) / (high - low || 1))));
    for (let pixel = 0; pixel < width * height; pixel++) {
      const own = Array.from({ length: channels }, (_, channel) => pixel * channels + channel);
      let colour;
      if (channels === 3) colour = own.map((column) => 255 * share(pixels[column]));
      else colour = Array(3).fill(255 - 238 * own.reduce((sum, column) => sum + share(pixels[column]), 0) / channels);
      if (pale) colour = colour.map((value) => 255 - (255 - value) * 0.45);
      const mark = marks && own.map((column) => marks[column]).find((one) => one);
      if (mark) {
        const tint = mark === "missing" ? [86, 180, 233] : [213, 94, 0];
        colour = colour.map((value, i) => tint[i] * 0.82 + value * 0.18);
      }
      image.data.set([...colour, 255], 4 * pixel);
    }
    context.putImageData(image, 0, 0);
  }
  function marksOf(record) {
    const marks = new Array(totals.attributes).fill("");
    for (const kind of ["missing", "found"])
      for (const [start, stop] of record[kind])
        for (let place = start; place < stop; place++) marks[columnOf(place)] = kind;
    return marks;
  }
  function afterOf(record) {
    const after = [...record.before];
    record.filled_at.forEach((index, i) => { after[index] = record.after[i]; });
    return after;
  }
  function spreadOf(record) {
    const spread = record.before.map(() => null);
    if (record.spread) record.filled_at.forEach((index, i) => { spread[index] = record.spread[i]; });
    return spread;
  }
  function drawPictures(record) {
    const box = byId("pictures");
    box.hidden = !grid;
    if (!grid) return;
    const before = byPixel(record.before, null), after = byPixel(afterOf(record), null);
    const kinds = [["before", before, null, false], ["found", before, marksOf(record), true], ["after", after, null, false]];
    if (record.spread && record.spread.length)
      kinds.push(["donors' spread", byPixel(spreadOf(record), null), null, false, [0, greatest(record.spread) || 1]]);
    box.replaceChildren(...kinds.map(([words, pixels, marks, pale, range]) => {
      const figure = document.createElement("figure"), canvas = document.createElement("canvas");
      const caption = document.createElement("figcaption");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Row ${rowName(record)}: ${words}`);
      caption.textContent = words;
      paint(canvas, pixels, marks, pale, range);
      figure.append(canvas, caption);
      return figure;
    }));
  }
  function drawThumbs() {
    options.forEach((option, index) => {
      const canvas = document.createElement("canvas");
      paint(canvas, byPixel(rows[index].before, null), marksOf(rows[index]), false);
      option.querySelector(".thumb").append(canvas);
    });
  }
  function drawHits() {
    if (!totals.found_cells) return;
    byId("hit-picture").hidden = false;
    paint(byId("hit-picture").querySelector("canvas"), byPixel(attributes.found, 0), null, false, [0, greatest(attributes.found)]);
  }

  // ---- the values of one row
  const low = attributes.reference_low, high = attributes.reference_high;
  const ranged = Boolean(low && high);
  const scaled = (value, index) =>
    value === null || state.units === "plain" ? value : (value - low[index]) / (high[index] - low[index] || 1);
  const scaledWidth = (value, index) =>
    value === null || state.units === "plain" ? value : value / (high[index] - low[index] || 1);
  // Segments of a curve over the marked stretches, each joined to its neighbours.
  function segments(record, values, kinds) {
    const x = [], y = [], text = [];
    for (const kind of kinds)
      for (const [start, stop] of record[kind])
        for (let index = Math.max(0, indexFrom(start) - 1); index < places.length && places[index] <= stop; index++) {
          x.push(places[index]); y.push(scaled(values[index], index)); text.push(hover(record, values, index));
          if (places[index] >= stop || index === places.length - 1) { x.push(null); y.push(null); text.push(""); }
        }
    return { x, y, text };
  }
  const indexFrom = (place) => (attributes.places ? nearest(places, place) : place);
  const hover = (record, values, index) => `${plain(attributes.names[index])}<br>${number(values[index])}`;
  function spreadOutline(record, after, spread) {
    const x = [], y = [];
    for (const [start, stop] of [...record.found, ...record.missing]) {
      const inside = [];
      for (let index = indexFrom(start); index < places.length && places[index] < stop; index++)
        if (spread[index] !== null && after[index] !== null) inside.push(index);
      if (!inside.length) continue;
      const upper = inside.map((index) => scaled(after[index], index) + scaledWidth(spread[index], index));
      const lower = inside.map((index) => scaled(after[index], index) - scaledWidth(spread[index], index));
      const across = [places[inside[0]] - 0.5, ...inside.map((index) => places[index]), places[inside.at(-1)] + 0.5];
      x.push(...across, ...[...across].reverse(), null);
      y.push(upper[0], ...upper, upper.at(-1), lower.at(-1), ...[...lower].reverse(), lower[0], null);
    }
    return { x, y };
  }
  const shade = (colour) => ([start, stop]) => ({
    type: "rect", xref: "x", yref: "paper", x0: start - 0.5, x1: stop - 0.5, y0: 0, y1: 1, fillcolor: colour, line: { width: 0 }, layer: "below",
  });
  function rowTraces(record) {
    const after = afterOf(record), spread = spreadOf(record), marked = marksAt(record);
    const few = places.length <= 80 ? "lines+markers" : "lines";
    const traces = [];
    if (ranged)
      traces.push({
        name: "range of the reference", x: [...places, ...[...places].reverse()], hoverinfo: "skip", mode: "lines", line: { width: 0 },
        y: [...high.map(scaled), ...low.map(scaled).reverse()], fill: "toself", fillcolor: "rgba(85,96,110,.09)",
      });
    traces.push({
      name: "kept", x: places, y: record.before.map((value, index) => (marked[index] ? null : scaled(value, index))), mode: few,
      line: { color: KEPT, width: 1.6 }, marker: { size: 4 }, hoverinfo: "text", text: places.map((_, index) => hover(record, record.before, index)),
    });
    if (record.spread) {
      const outline = spreadOutline(record, after, spread);
      if (outline.x.length)
        traces.push({ name: "donors' spread", ...outline, mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: "rgba(0,114,178,.25)", hoverinfo: "skip" });
    }
    if (record.found.length)
      traces.push({
        name: "as it came", ...segments(record, record.before, ["found"]), mode: few, line: { color: FOUND, width: 1.4, dash: "dot" },
        marker: { size: 6, symbol: "x-thin", line: { color: FOUND, width: 1.5 } }, hoverinfo: "text",
      });
    if (record.filled_at.length)
      traces.push({
        name: "put back", ...segments(record, after, ["found", "missing"]), mode: few, line: { color: AFTER, width: 2.2 },
        marker: { size: 5, color: AFTER }, hoverinfo: "text",
      });
    return traces;
  }
  function marksAt(record) {
    const marked = new Array(places.length).fill(false);
    record.filled_at.forEach((index) => { marked[index] = true; });
    return marked;
  }
  const MARKS = {
    "range of the reference": [["rect", { width: 26, height: 12, fill: "rgba(85,96,110,.16)" }]],
    kept: [["line", { x1: 0, x2: 26, y1: 6, y2: 6, stroke: KEPT, "stroke-width": 2 }]],
    "donors' spread": [["rect", { width: 26, height: 12, fill: "rgba(0,114,178,.25)" }]],
    "as it came": [["line", { x1: 0, x2: 26, y1: 6, y2: 6, stroke: FOUND, "stroke-width": 1.5, "stroke-dasharray": "2 2" }],
      ["path", { d: "M10 3l6 6M16 3l-6 6", stroke: FOUND, "stroke-width": 1.5 }]],
    "put back": [["line", { x1: 0, x2: 26, y1: 6, y2: 6, stroke: AFTER, "stroke-width": 2.4 }], ["circle", { cx: 13, cy: 6, r: 3.5, fill: AFTER }]],
    "found stretch": [["rect", { width: 26, height: 12, fill: "rgba(213,94,0,.17)" }]],
    "missing stretch": [["rect", { width: 26, height: 12, fill: "rgba(86,180,233,.3)" }]],
  };
  function drawKey(words) {
    const nodes = [];
    for (const word of words) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("class", "mark"); svg.setAttribute("viewBox", "0 0 26 12"); svg.setAttribute("aria-hidden", "true");
      for (const [tag, given] of MARKS[word]) {
        const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [key, value] of Object.entries(given)) shape.setAttribute(key, value);
        svg.append(shape);
      }
      const item = document.createElement("span");
      item.className = "item";
      item.append(svg, word === "put back" && !summary.repaired ? "would be put back" : word);
      nodes.push(item);
    }
    byId("row-key").replaceChildren(...nodes);
  }
  function drawRow(record) {
    const box = byId("row-chart"), traces = rowTraces(record);
    drawKey([...traces.map((trace) => trace.name), ...(record.found.length ? ["found stretch"] : []), ...(record.missing.length ? ["missing stretch"] : [])]);
    Plotly.react(box, traces, layout(narrow() ? 270 : 310, {
      shapes: [...record.found.map(shade("rgba(213,94,0,.14)")), ...record.missing.map(shade("rgba(86,180,233,.25)"))],
      xaxis: placeAxis(box, { title: { text: attributes.columns ? "attribute, in the order of the tree" : "attribute", standoff: 8 } }),
      yaxis: axis({ title: { text: state.units === "plain" ? "value" : "share of the range", standoff: 6 }, nticks: 6 }),
    }), CONFIG);
    box.setAttribute("aria-label",
      `Values of row ${rowName(record)}: ${record.found.map(([start, stop]) => span(start, stop)).join(", ") || "nothing"} ${summary.repaired ? "replaced" : "found"}`);
  }

  // ---- the tree of one row
  const RAMP = [[238, 242, 245], [185, 201, 216], [111, 143, 174], [47, 86, 125], [15, 39, 65]];
  const smallest = summary.promise.reference_rows ? 1 / (summary.promise.reference_rows + 1) : 1e-4;
  const height = Math.max(...tree.depth);
  const middle = tree.start.map((start, node) => (start + tree.stop[node] - 1) / 2);
  const width = tree.start.map((start, node) => tree.stop[node] - start);
  // 0 for a part as usual as can be, 1 for one that no reference row matches; in between by powers of ten.
  const unusual = (score) => Math.log(Math.max(score, smallest)) / Math.log(smallest);
  function shadeOf(score) {
    const at = unusual(score) * (RAMP.length - 1), from = Math.min(Math.floor(at), RAMP.length - 2);
    return `rgb(${RAMP[from].map((value, i) => Math.round(value + (at - from) * (RAMP[from + 1][i] - value))).join(",")})`;
  }
  function nodeHover(record, node) {
    const score = record.nodes[node], count = summary.promise.reference_rows;
    const usual = count ? `<br>${Math.round(score * count).toLocaleString("en")} of ${many(count, "reference row")} at least as unusual` : "";
    return `${plain(span(tree.start[node], tree.stop[node]))}<br>score ${number(score)}${usual}`;
  }
  function drawTree(record) {
    byId("tree-part").hidden = !record.nodes;
    if (!record.nodes) return;
    const box = byId("tree-chart"), tau = summary.promise.tau;
    const known = tree.start.map((_, node) => node).filter((node) => record.nodes[node] !== null);
    const framed = tau === null ? [] : known.filter((node) => record.nodes[node] <= tau);
    const pick = (values, nodes) => nodes.map((node) => values[node]);
    const strip = (kind, colour) => ({
      type: "bar", x: record[kind].map(([start, stop]) => (start + stop - 1) / 2), width: record[kind].map(([start, stop]) => stop - start),
      base: height + 1.1, y: record[kind].map(() => 0.6), marker: { color: colour }, hoverinfo: "text",
      text: record[kind].map(([start, stop]) => `${kind}: ${plain(span(start, stop))}`), textposition: "none",
    });
    // Bars narrower than their text get none.
    const pixels = (box.clientWidth - 70) / totals.attributes;
    const textOf = (node) => {
      const text = number(+record.nodes[node].toPrecision(2));
      return width[node] * pixels > 7 * text.length + 6 ? text : "";
    };
    const bars = (nodes, colour) => ({
      type: "bar", x: pick(middle, nodes), width: pick(width, nodes), base: pick(tree.depth, nodes), y: nodes.map(() => 0.88), hoverinfo: "text",
      hovertext: nodes.map((node) => nodeHover(record, node)), text: nodes.map(textOf), textposition: "inside", insidetextanchor: "middle",
      textangle: 0, constraintext: "none", insidetextfont: { color: colour },
      marker: { color: nodes.map((node) => shadeOf(record.nodes[node])), line: { color: "#fff", width: 1 } },
    });
    const dark = (node) => unusual(record.nodes[node]) > 0.55;
    const traces = [
      bars(known.filter((node) => !dark(node)), INK), bars(known.filter(dark), "#fff"),
      {
        type: "bar", x: pick(middle, framed), width: framed.map((node) => width[node] * 0.996), base: framed.map((node) => tree.depth[node] + 0.03),
        y: framed.map(() => 0.82), hoverinfo: "skip", marker: { color: "rgba(0,0,0,0)", line: { color: FOUND, width: framed.map((node) => (width[node] * pixels > 14 ? 2.5 : 1)) } },
      },
      strip("found", FOUND), strip("missing", MISSING),
    ];
    const levels = Array.from({ length: height + 1 }, (_, depth) => depth);
    Plotly.react(box, traces, layout(70 + 36 * (height + 2), {
      barmode: "overlay", bargap: 0,
      xaxis: placeAxis(box, { title: { text: attributes.columns ? "attribute, in the order of the tree" : "attribute", standoff: 8 } }),
      yaxis: axis({
        range: [height + 1.75, -0.05], fixedrange: true, showgrid: false, showline: false, ticks: "",
        tickvals: [...levels.map((depth) => depth + 0.44), height + 1.4],
        ticktext: [...levels.map((depth) => (depth === 0 ? (narrow() ? "row" : "whole row") : depth === 1 ? "halves" : `1/${2 ** depth}`)), "found"],
      }),
    }), CONFIG);
    const share = tau !== null && tau >= 0 && summary.promise.reference_rows ? Math.floor(tau * summary.promise.reference_rows + 1e-9) : null;
    const overruled = record.explanation && record.explanation !== "search" ? "In this row another explanation, told above, was stronger than the search. " : "";
    byId("tree-hint").textContent = overruled + "Each bar is a part of the row with its score. " + (share === null ? "" :
      `Framed parts are anomalous: ${share === 0 ? "no reference row" : `at most ${many(share, "reference row")}`} of ` +
      `${summary.promise.reference_rows.toLocaleString("en")} ${share <= 1 ? "is" : "are"} as unusual there.`);
    box.setAttribute("aria-label", `Tree of scores for row ${rowName(record)}: ${many(framed.length, "part")} of ${known.length} anomalous. ${record.why}`);
  }
  // Row and tree stand above each other: a zoom in one is a zoom in the other.
  function shareZoom() {
    const boxes = [byId("row-chart"), byId("tree-chart")];
    let busy = false;
    boxes.forEach((box, i) => box.on && box.on("plotly_relayout", (event) => {
      if (busy || !Object.keys(event).some((key) => key.startsWith("xaxis."))) return;
      busy = true;
      const range = event["xaxis.autorange"] ? edges : [event["xaxis.range[0]"] ?? edges[0], event["xaxis.range[1]"] ?? edges[1]];
      const ticks = Object.fromEntries(Object.entries(placeTicks(range[0], range[1], box.clientWidth)).map(([key, value]) => [`xaxis.${key}`, value]));
      const both = boxes.filter((one) => one.layout).map((one) => Plotly.relayout(one, { "xaxis.range": range, ...ticks }));
      Promise.all(both).finally(() => { busy = false; });
    }));
  }

  // ---- the table of one row
  const MOST_LINES = 200, PRINTED_ROWS = 30, PRINTED_VALUES = 24, TALLEST_PRINTED = 350;
  function drawValues(record) {
    byId("values").hidden = !record.filled_at.length;
    const spread = record.spread || [];
    byId("value-lines").replaceChildren(...record.filled_at.slice(0, MOST_LINES).map((index, i) => {
      const line = document.createElement("tr");
      const before = record.before[index] === null ? "missing" : number(record.before[index]);
      const words = [clip(attributes.names[index], 80), before, number(record.after[i]), spread[i] === null || spread[i] === undefined ? "" : `± ${number(spread[i])}`];
      line.append(...words.map((word) => { const cell = document.createElement("td"); cell.textContent = word; return cell; }));
      return line;
    }));
    byId("value-more").textContent = record.filled_at.length > MOST_LINES ? `and ${many(record.filled_at.length - MOST_LINES, "value")} more` : "";
    byId("printed-values").textContent = record.filled_at.length > PRINTED_VALUES ? `The first ${PRINTED_VALUES} of ${many(record.filled_at.length, "value")} are printed.` : "";
  }

  // ---- choosing a row
  const shown = () => options.filter((option) => !option.hidden);
  function choose(index, focus) {
    const record = rows[index];
    options.forEach((option, i) => { option.setAttribute("aria-selected", String(i === index)); option.tabIndex = i === index ? 0 : -1; });
    if (focus) options[index].focus({ preventScroll: true });
    const option = options[index];
    if (option.offsetTop < list.scrollTop + list.offsetTop) list.scrollTop = option.offsetTop - list.offsetTop;
    else if (option.offsetTop + option.offsetHeight > list.scrollTop + list.offsetTop + list.clientHeight)
      list.scrollTop = option.offsetTop - list.offsetTop + option.offsetHeight - list.clientHeight;
    const first = state.chosen < 0;
    state.chosen = index;
    byId("chosen").hidden = false;
    const did = [];
    if (record.n_found) did.push(`${record.n_found.toLocaleString("en")} of ${many(totals.attributes, "value")} ${summary.repaired ? "replaced" : "found to be overwritten"}`);
    if (record.n_missing) did.push(`${many(record.n_missing, "missing value")}${summary.repaired ? " filled" : ""}`);
    byId("chosen-title").textContent = `${titleOf(record, index)}: ${did.join(", ") || "left as it was"}`;
    byId("chosen-why").textContent = record.why;
    drawPictures(record); drawRow(record); drawTree(record); drawValues(record);
    if (first) shareZoom();
    steps();
  }
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
  function search() {
    const wanted = byId("search").value.trim().toLowerCase();
    options.forEach((option, index) => { option.hidden = wanted !== "" && !haystack(index).includes(wanted); });
    const all = shown();
    const held = rows.length < totals.rows ? `the ${rows.length.toLocaleString("en")} worst of ${many(totals.rows, "row")}` : many(rows.length, "row");
    byId("status").textContent = wanted ? `${many(all.length, "match").replace(/hs$/, "hes")} among ${held}` : `${held[0].toUpperCase()}${held.slice(1)}${held.startsWith("the") ? "" : ", the worst first"}`;
    options.forEach((option) => { option.tabIndex = -1; });
    const entry = all.includes(options[state.chosen]) ? options[state.chosen] : all[0];
    if (entry) entry.tabIndex = 0;
    steps();
  }
  const haystacks = [];
  function haystack(index) {
    if (haystacks[index] === undefined) {
      const record = rows[index], words = [record.id, `row ${record.row}`];
      for (const at of record.filled_at) words.push(attributes.names[at]);
      haystacks[index] = words.join("\n").toLowerCase();
    }
    return haystacks[index];
  }
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) choose(Number(option.dataset.index), true);
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    const option = event.target.closest("[role=option]");
    if (event.key === "Enter" || event.key === " ") choose(Number(option.dataset.index), true);
    else if (by) step(by);
    else return;
    event.preventDefault();
  });
  byId("search").addEventListener("input", search);
  byId("search").addEventListener("keydown", (event) => {
    const first = shown()[0];
    if ((event.key === "Enter" || event.key === "ArrowDown") && first) { choose(Number(first.dataset.index), true); event.preventDefault(); }
  });
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("units").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) { setUnits(button.dataset.units); drawRow(rows[state.chosen]); }
  });
  function setUnits(units) {
    state.units = units;
    for (const button of byId("units").children) button.setAttribute("aria-pressed", String(button.dataset.units === units));
  }

  // ---- paper: charts take its width, and theirs back afterwards
  const charts = () => [...document.querySelectorAll(".chart.js-plotly-plot")];
  // On paper the map is lower, so that it finds room on the first page.
  const heights = new Map();
  window.addEventListener("beforeprint", () => charts().forEach((box) => {
    heights.set(box, box.layout.height);
    Plotly.relayout(box, { autosize: false, width: 660, height: Math.min(box.layout.height, TALLEST_PRINTED) });
  }));
  window.addEventListener("afterprint", () => charts().forEach((box) => {
    Plotly.relayout(box, { autosize: true, width: null, height: heights.get(box) });
  }));

  // ---- start
  if (attributes.columns)
    byId("order-words").textContent = "Attributes stand in the order of the tree, which puts neighbours side by side; rows are counted from 0.";
  if (coarse) byId("map-hint").textContent = "Tap a mark to see its row.";
  byId("units").hidden = !ranged || Boolean(grid);
  if (ranged && !grid) {
    const widths = high.map((top, index) => top - low[index]).filter((one) => one > 0);
    if (greatest(widths) > 20 * least(widths)) setUnits("range");
  }
  if (rows.length > PRINTED_ROWS) byId("printed-rows").textContent = `The first ${PRINTED_ROWS} of ${many(rows.length, "row")} are printed.`;
  drawMap();
  if (grid) { drawThumbs(); drawHits(); }
  search();
  if (rows.length) choose(0);
})();
