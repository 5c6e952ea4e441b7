"use strict";
// Draws the charts of one collection, and filters charts and tables by collection and batch.
(() => {
  const MOST_BARS = 120;
  // An axis of thousands or millions would write its zero as 0k or 0M.
  const PLAIN_ZERO = "datum.value ? datum.label : '0'";
  const COUNTS = [
    "batches", "messages_received", "inserts", "updates", "deletes", "error_inserts",
    "error_retractions", "corrections", "ties", "late_dropped", "superseded", "heals",
  ];
  // A tick between the years 2000 and 2100 is a time in microseconds.
  const isTime = (tick) => tick > 946684800e6 && tick < 4102444800e6;

  const byId = (id) => document.getElementById(id);
  const figures = unpack(JSON.parse(byId("figures").textContent));
  const charts = byId("charts");

  // Each row gets the names of its fields back.
  function unpack(collections) {
    const all = new Map();
    for (const [name, { batches, buckets, wrongBuckets }] of Object.entries(collections)) {
      const named = (row) => Object.fromEntries(row.map((value, i) => [batches.fields[i], value]));
      all.set(name, { batches: batches.rows.map(named), buckets, wrongBuckets });
    }
    return all;
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // ---- Groups of batches: so many that a bar stays visible. ----

  // Join neighbours until about `most` groups of equal width are left. Counts add up; times are
  // averages.
  function regroup(batches, most) {
    if (!batches.length) return [];
    const width = Math.ceil((batches[batches.length - 1].last - batches[0].first + 1) / most);
    const groups = new Map();
    for (const one of batches) {
      const place = Math.floor((one.first - batches[0].first) / width);
      groups.set(place, [...(groups.get(place) || []), one]);
    }
    return [...groups.values()].map(join);
  }

  function join(batches) {
    const last = batches[batches.length - 1];
    const joined = { ...last, first: batches[0].first, causes: {} };
    for (const name of COUNTS) joined[name] = batches.reduce((sum, one) => sum + one[name], 0);
    for (const name of ["stage_seconds", "append_seconds", "apply_seconds"]) {
      const known = batches.filter((one) => one[name] !== null);
      const weight = known.reduce((sum, one) => sum + one.batches, 0);
      const total = known.reduce((sum, one) => sum + one[name] * one.batches, 0);
      joined[name] = weight ? total / weight : null;
    }
    for (const one of batches) {
      for (const [cause, keys] of Object.entries(one.causes)) {
        joined.causes[cause] = (joined.causes[cause] || 0) + keys;
      }
    }
    return joined;
  }

  const nameOf = (group) =>
    group.first === group.last ? `${group.first}` : `${group.first} to ${group.last}`;

  // ---- Specifications of Vega-Lite ----

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function base(description) {
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      description,
      width: "container",
      height: 180,
      background: null,
      autosize: { type: "fit-x", contains: "padding" },
      config: {
        font: "system-ui, sans-serif",
        axis: {
          labelColor: colour("quiet"), titleColor: colour("quiet"), gridColor: colour("line"),
          domainColor: colour("line"), tickColor: colour("line"), gridOpacity: 0.5,
          titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 11,
        },
        legend: {
          labelColor: colour("text"), orient: "top", title: null, labelFontSize: 11, columns: 3,
          offset: 4,
        },
        view: { stroke: null },
      },
    };
  }

  // The smallest of 1, 2, 5, 10, 20, 50 ... that is not below a number.
  function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
  }

  // The axis of batches: whole numbers only, and room around a single batch.
  function batchAxis(groups) {
    const first = groups[0].first;
    const last = groups[groups.length - 1].last;
    const room = Math.max(0.5, (8 - (last - first)) / 2);
    const step = niceStep((last - first) / 6);
    const values = [];
    for (let value = Math.ceil(first / step) * step; value <= last; value += step) values.push(value);
    return {
      type: "quantitative",
      title: "batch",
      scale: { domain: [first - room, last + room], nice: false, zero: false },
      axis: { values, format: ",d", labelSeparation: 6, grid: false },
    };
  }

  // Stacked bars. The bar of a group is as wide as its batches; its height is their average.
  function bars({ groups, series, unit, description }) {
    const values = [];
    for (const group of groups) {
      let top = 0;
      let bottom = 0;
      for (const { label, value, isAverage } of series) {
        const total = value(group);
        if (!total) continue;
        const height = isAverage ? total : total / group.batches;
        const [y0, y1] = height > 0 ? [top, (top += height)] : [bottom, (bottom += height)];
        values.push({
          x0: group.first - 0.42, x1: group.last + 0.42, y0, y1, label,
          name: nameOf(group), total: Math.abs(total),
        });
      }
    }
    if (!values.length) return null;
    const highest = Math.max(...values.map((one) => Math.abs(one.y1)));
    const shown = series.filter((one) => values.some((value) => value.label === one.label));
    return {
      ...base(description),
      data: { values },
      mark: { type: "rect", tooltip: true },
      encoding: {
        x: { field: "x0", ...batchAxis(groups) },
        x2: { field: "x1" },
        y: {
          field: "y0", type: "quantitative", title: unit,
          axis: { tickCount: 4, format: highest < 10 ? ",.2~f" : "~s", labelExpr: PLAIN_ZERO },
        },
        y2: { field: "y1" },
        color: {
          field: "label", type: "nominal",
          scale: {
            domain: shown.map((one) => one.label), range: shown.map((one) => colour(one.colour)),
          },
          legend: series.length > 1 ? {} : null,
        },
        tooltip: [
          { field: "name", title: "batch" },
          { field: "label", title: "what" },
          { field: "total", title: series[0].isAverage ? "seconds" : "number", type: "quantitative",
            format: series[0].isAverage ? ",.2f" : ",d" },
        ],
      },
    };
  }

  // A line over time. Ticks that are times get an axis of time, and distances of them seconds.
  function line({ groups, value, unit, description, kind }) {
    const ofTime = groups.length > 0 && isTime(groups[groups.length - 1].upper);
    const scale = ofTime ? { tick: 1e-3, distance: 1e-6 }[kind] || 1 : 1;
    const values = groups
      .filter((group) => value(group) !== null && group.committed_at !== null)
      .map((group) => ({
        at: group.committed_at, y: value(group) * scale, name: nameOf(group),
        exact: kind === "tick" ? group.frontier : value(group).toLocaleString("en"),
      }));
    if (!values.length) return null;
    const isDate = ofTime && kind === "tick";
    const title = ofTime ? { tick: "tick, as a time in UTC", distance: "seconds" }[kind] || unit : unit;
    return {
      ...base(description),
      data: { values },
      mark: {
        type: "line", interpolate: "step-after", color: colour("blue"), tooltip: true,
        point: values.length <= MOST_BARS ? { color: colour("blue"), size: 25 } : false,
      },
      encoding: {
        x: {
          field: "at", type: "temporal", title: "committed (UTC)", scale: { type: "utc" },
          axis: {
            tickCount: 4, labelOverlap: true, grid: false,
            format: timeFormat(values.map((each) => each.at)),
          },
        },
        y: {
          field: "y", type: isDate ? "temporal" : "quantitative", title,
          scale: isDate ? { type: "utc" } : { zero: kind === "distance" },
          axis: {
            tickCount: 4,
            ...(isDate
              ? { format: timeFormat(values.map((each) => each.y)) }
              : { format: "~s", labelExpr: PLAIN_ZERO }),
          },
        },
        tooltip: [
          { field: "name", title: "batch" },
          { field: "exact", title: unit, type: "nominal" },
          { field: "at", title: "committed", type: "temporal", scale: { type: "utc" }, format: "%Y-%m-%d %H:%M:%S" },
        ],
      },
    };
  }

  // How an axis shows times, with 24 hours: the longer their span, the coarser.
  function timeFormat(times) {
    const numbers = times.map((time) => new Date(time).getTime());
    const days = (Math.max(...numbers) - Math.min(...numbers)) / 86_400_000;
    if (days === 0) return "%Y-%m-%d %H:%M";
    if (days < 1 / 144) return "%H:%M:%S";
    return days < 8 ? "%m-%d %H:%M" : "%Y-%m-%d";
  }

  // The 256 buckets of the certificate as a square. Wrong buckets have a cross.
  function map({ buckets, wrongBuckets }) {
    const rows = new Map(buckets);
    const wrong = new Set(wrongBuckets);
    const values = Array.from({ length: 256 }, (_, bucket) => ({
      bucket, column: bucket % 16, row: Math.floor(bucket / 16), rows: rows.get(bucket) || 0,
      state: wrong.has(bucket) ? "differs" : "matches",
    }));
    const encoding = {
      x: { field: "column", type: "ordinal", axis: null },
      y: { field: "row", type: "ordinal", axis: null },
    };
    return {
      ...base("Rows of each bucket of the certificate"),
      height: 240,
      data: { values },
      layer: [
        {
          mark: { type: "rect", stroke: colour("ground"), strokeWidth: 1, tooltip: true },
          encoding: {
            ...encoding,
            color: {
              field: "rows", type: "quantitative", title: "rows and errors",
              scale: { range: [colour("pale"), colour("deep")], zero: true },
              legend: {
                title: "rows and open errors", titleColor: colour("quiet"), titleFontWeight: "normal",
                titleFontSize: 11, gradientLength: 140, orient: "top", format: "~s", tickCount: 3,
              },
            },
            tooltip: [
              { field: "bucket", title: "bucket" },
              { field: "rows", title: "rows and open errors", format: ",d" },
              { field: "state", title: "state" },
            ],
          },
        },
        {
          transform: [{ filter: { field: "state", equal: "differs" } }],
          mark: { type: "text", text: "✕", fontSize: 13, fontWeight: "bold", color: colour("bad") },
          encoding,
        },
      ],
    };
  }

  // ---- The charts of a collection ----

  const CAUSES = [
    ["late_command", "blue"], ["code_change", "brown"], ["error_fixed", "teal"],
    ["adopted", "good"], ["drift", "bad"], ["unknown", "grey"],
  ];

  function count(label, field, of, sign = 1) {
    return { label, colour: of, value: (group) => sign * group[field] };
  }

  function seconds(label, field, of) {
    return { label, colour: of, value: (group) => group[field], isAverage: true };
  }

  function chartsOf(collection, groups, finest) {
    const perBatch = (things) => `${things} per batch`;
    return [
      ["frontier", "Frontier", "Every tick below it is settled.", line({
        groups: finest, value: (group) => group.upper, unit: "tick", kind: "tick",
        description: "Frontier over time",
      }), "No batch."],
      ["lag", "Lag", "What a batch had read of its log and left for later.", line({
        groups: finest, value: (group) => group.ticks_behind, unit: "ticks", kind: "distance",
        description: "Lag over time",
      }), "Unknown: this collection keeps no position in a log."],
      ["commands", "Commands", "Commands that the batches settled.", bars({
        groups, unit: perBatch("commands"), description: "Settled commands by batch",
        series: [count("commands", "messages_received", "blue")],
      }), "No command in these batches."],
      ["changes", "Changes", "Inserts, updates and deletes of keys.", bars({
        groups, unit: perBatch("changes"), description: "Inserts, updates and deletes by batch",
        series: [
          count("inserts", "inserts", "blue"), count("updates", "updates", "brown"),
          count("deletes", "deletes", "purple"),
        ],
      }), "No change in these batches."],
      ["corrections", "Corrections by cause", "Keys that a batch corrected, and heals of the state.", bars({
        groups, unit: perBatch("keys"), description: "Corrections by batch and cause",
        series: [
          ...CAUSES.map(([cause, of]) => (
            { label: cause, colour: of, value: (group) => group.causes[cause] || 0 }
          )),
          count("healed the state (runs)", "heals", "purple"),
        ],
      }), "No correction in these batches."],
      ["errors", "Errors", "Opened above the line, closed below it.", bars({
        groups, unit: perBatch("errors"), description: "Errors opened and closed by batch",
        series: [
          count("opened", "error_inserts", "brown"),
          count("closed", "error_retractions", "teal", -1),
        ],
      }), "No error was opened or closed in these batches."],
      ["open-errors", "Open errors", "Errors that were open after a batch.", line({
        groups: finest, value: (group) => group.open_errors, unit: "open errors", kind: "count",
        description: "Open errors over time",
      }), "No batch."],
      ["doubts", "Ties and late commands", "A late command came after its tick was settled.", bars({
        groups, unit: perBatch("number"), description: "Ties and late commands by batch",
        series: [
          count("late commands", "late_dropped", "blue"), count("ties", "ties", "brown"),
          count("superseded", "superseded", "grey"),
        ],
      }), "No tie and no late command in these batches."],
      ["durations", "Durations by step", "Stage ends when the append begins.", bars({
        groups, unit: perBatch("seconds"), description: "Seconds of each step by batch",
        series: [
          seconds("stage", "stage_seconds", "blue"), seconds("append", "append_seconds", "brown"),
          seconds("apply", "apply_seconds", "teal"),
        ],
      }), "Unknown."],
      ["certificate", "Certificate by bucket", "A cross marks a bucket in which the state differs.",
        map(collection), ""],
    ];
  }

  // `data-drawing` on the body counts the drawings that are under way. The tests wait for 0.
  async function draw() {
    const { dataset } = document.body;
    dataset.drawing = Number(dataset.drawing || 0) + 1;
    await drawCharts();
    dataset.drawing -= 1;
  }

  function drawCharts() {
    const name = byId("collection").value;
    const collection = figures.get(name);
    const from = Number(byId("from").value) || 1;
    const to = Number(byId("to").value) || Infinity;
    const finest = collection.batches.filter((one) => one.last >= from && one.first <= to);
    const groups = regroup(finest, MOST_BARS);
    const drawn = groups.length ? chartsOf(collection, groups, finest) : [];
    charts.replaceChildren(...drawn.map(([id, title, text, spec, without]) => {
      const figure = element("figure");
      figure.id = `figure-${id}`;
      const caption = element("figcaption");
      caption.append(element("b", title), element("span", text));
      const chart = element("div", undefined, "chart");
      figure.append(caption, chart);
      if (!spec) chart.replaceWith(element("p", without, "none"));
      return figure;
    }));
    if (!groups.length) charts.append(element("p", "No batch in this range.", "none"));
    else charts.append(tableOf(regroup(finest, 60)));
    return Promise.all(drawn.filter((one) => one[3]).map(([id, , , spec]) => embed(id, spec)));
  }

  // The page forbids eval, so Vega interprets its expressions.
  function embed(id, spec) {
    return window.vegaEmbed(document.querySelector(`#figure-${id} .chart`), spec, {
      actions: false, renderer: "svg", ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
  }

  // The figures of the charts as a table.
  function tableOf(groups) {
    const columns = [
      ["batch", nameOf], ["upper", (one) => one.frontier], ["commands", (one) => one.messages_received],
      ...["inserts", "updates", "deletes", "corrections"].map((name) => [name, (one) => one[name]]),
      ["errors opened", (one) => one.error_inserts], ["errors closed", (one) => one.error_retractions],
      ["open errors", (one) => one.open_errors], ["late", (one) => one.late_dropped],
      ["ties", (one) => one.ties], ["rows and errors", (one) => one.records_indexed],
    ];
    const table = element("table");
    const head = element("tr");
    for (const [title] of columns) head.append(element("th", title, "number"));
    table.createTHead().append(head);
    const body = table.createTBody();
    for (const group of [...groups].reverse()) {
      const row = body.insertRow();
      for (const [, value] of columns) {
        const found = value(group);
        const text = typeof found === "number" ? found.toLocaleString("en") : found ?? "";
        row.append(element("td", text, "number"));
      }
    }
    const details = element("details");
    const scroll = element("div", undefined, "scroll");
    scroll.append(table);
    details.append(element("summary", "These figures as a table"), scroll);
    return details;
  }

  // ---- Filters and theme ----

  function showTables() {
    const from = Number(byId("from").value) || 1;
    const to = Number(byId("to").value) || Infinity;
    for (const section of document.querySelectorAll(".collection")) {
      section.hidden = section.dataset.collection !== byId("collection").value;
    }
    const { batches } = figures.get(byId("collection").value) || { batches: [] };
    const last = batches.length ? batches[batches.length - 1].last : 0;
    for (const row of document.querySelectorAll("tr[data-batch]")) {
      // Corrections may have the number of a batch that is not written yet.
      const batch = Math.min(row.dataset.batch, last);
      row.hidden = batch < from || batch > to;
    }
  }

  function showNewest(number) {
    const { batches } = figures.get(byId("collection").value);
    const last = batches.length ? batches[batches.length - 1].last : 1;
    byId("from").value = number === "all" ? 1 : Math.max(1, last - number + 1);
    byId("to").value = last;
    show();
  }

  function show() {
    showTables();
    draw();
  }

  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function nameTheme() {
    byId("theme").textContent = isDark() ? "Light" : "Dark";
  }

  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    if (figures.size) draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    nameTheme();
    if (figures.size) draw();
  });
  byId("collection").addEventListener("change", () => showNewest("all"));
  for (const id of ["from", "to"]) byId(id).addEventListener("change", show);
  for (const button of document.querySelectorAll("[data-newest]")) {
    button.addEventListener("click", () => showNewest(button.dataset.newest));
  }
  byId("filters").addEventListener("submit", (event) => event.preventDefault());

  byId("theme").hidden = false;
  nameTheme();
  if (!figures.size) return;
  for (const id of ["filters", "hint", "charts"]) byId(id).hidden = false;
  showNewest("all");
})();
