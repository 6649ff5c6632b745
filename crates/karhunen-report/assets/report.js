// The pictures of a report, and what links them. The numbers are in the element `numbers`; tables.js comes before.
(function () {
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const { scree, features, missing, rows } = numbers;
  const nShown = scree.n_shown;
  const componentNames = scree.names.slice(0, nShown);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  /** Width of a picture on paper, in pixels. */
  const PAPER = 700;
  const selected = new Set();
  const charts = {};
  const tables = {};
  const places = [];
  const byId = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const percent = (share) => (100 * share).toFixed(1) + "%";
  // Shares of kernels may be unknown: null.
  const label = (k) => scree.ratio[k] === null ? componentNames[k] : `${componentNames[k]} (${percent(scree.ratio[k])})`;

  const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
  const named = (names, values, text) => names.map((name, i) => `${name} ${text(values[i])}`).join(", ");

  /** A name that loses its middle if it is longer; beginnings are often the same. */
  function shorten(name, most) {
    const letters = [...name];
    if (letters.length <= most) return name;
    const tail = Math.floor((most - 1) / 2);
    return letters.slice(0, most - 1 - tail).join("") + "…" + letters.slice(-tail).join("");
  }

  /** Says in words what a picture shows. */
  function describe(id, text) {
    const host = byId(id);
    if (host) host.setAttribute("aria-label", text);
  }

  /** What every picture has: colours of the page, texts without markup, no motion. */
  function frame(options) {
    const ink = colour("ink");
    return Object.assign({
      animation: false,
      toolbox: { show: false },
      backgroundColor: colour("paper"),
      textStyle: { color: ink, fontFamily: "system-ui, sans-serif" },
      grid: { left: 8, right: 16, top: 36, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
    }, options);
  }

  function tooltip(trigger, formatter) {
    return { trigger, renderMode: "richText", confine: true, formatter, backgroundColor: colour("panel"),
      borderColor: colour("line"), textStyle: { color: colour("ink") } };
  }

  function axis(type, name, more) {
    const soft = { color: colour("soft") };
    return Object.assign({ type, name, nameTextStyle: soft, axisLabel: soft, axisLine: { lineStyle: soft },
      splitLine: { lineStyle: { color: colour("line") } } }, more);
  }

  function draw(id, options) {
    const host = byId(id);
    if (!host) return null;
    if (!charts[id]) charts[id] = echarts.init(host, null, { renderer: "canvas" });
    charts[id].setOption(frame(options), { notMerge: true });
    return charts[id];
  }

  function drawScree() {
    if (scree.ratio[0] === null) return;
    let sum = 0;
    const cumulative = scree.ratio.map((ratio) => (sum += ratio));
    describe("scree", `Bars of the share of variance of each component, and a line of their sum: ` +
      `${named(componentNames, scree.ratio, percent)}. The table below holds the numbers.`);
    draw("scree", {
      legend: { data: ["share", "cumulative"], textStyle: { color: colour("ink") }, top: 0 },
      tooltip: tooltip("axis", (points) =>
        points[0].name + points.map((point) => `\n${point.seriesName}: ${percent(point.value)}`).join("")),
      xAxis: axis("category", "", { data: scree.names }),
      yAxis: axis("value", "", { min: 0, max: 1, axisLabel: { color: colour("soft"), formatter: (v) => Math.round(100 * v) + "%" } }),
      series: [
        { name: "share", type: "bar", data: scree.ratio, itemStyle: { color: colour("main") }, barMaxWidth: 60 },
        { name: "cumulative", type: "line", data: cumulative, symbolSize: 7, lineStyle: { color: colour("second"), width: 2 },
          itemStyle: { color: colour("second") } },
      ],
    });
  }

  function drawRules() {
    const answers = [...document.querySelectorAll("#rule-table tbody tr")].map((row) => row.dataset.n)
      .filter((n) => n !== "").map(Number);
    if (!answers.length) return;
    const found = [...new Set(answers)].sort((a, b) => a - b);
    const most = found[found.length - 1];
    const numbers = most <= 40 ? Array.from({ length: most + 1 }, (_, n) => n) : found;
    draw("rules", {
      grid: { left: 8, right: 16, top: 28, bottom: 24, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: tooltip("item", (point) => `${counted(Number(point.name), "component")}: ${counted(point.value, "rule")}`),
      xAxis: axis("category", "components", { data: numbers.map(String), nameLocation: "middle", nameGap: 26 }),
      yAxis: axis("value", "rules", { minInterval: 1 }),
      series: [{ type: "bar", barMaxWidth: 40, itemStyle: { color: colour("main") },
        data: numbers.map((n) => answers.filter((answer) => answer === n).length) }],
    });
  }

  function drawBars() {
    const k = Number(byId("bar-component").value);
    const what = byId("bar-number").value;
    const most = window.innerWidth < 600 ? 12 : 20;
    const order = features.names.map((_, j) => j)
      .sort((a, b) => features.contribution[k][b] - features.contribution[k][a] || a - b).slice(0, most).reverse();
    const values = features[what][k];
    const word = what === "cos2" ? "cos²" : what;
    byId("bar-caption").textContent = features.names.length > most
      ? `The ${word} of the ${most} features that contribute most to ${label(k)}.`
      : `The ${word} of the features on ${label(k)}, largest contribution first.`;
    describe("bars", `Bars. ${byId("bar-caption").textContent} ` +
      `${named(order.slice(-5).reverse().map((j) => features.names[j]), order.slice(-5).reverse().map((j) => values[j]), shown)}` +
      `${order.length > 5 ? ", …" : ""}. The table of features holds the numbers.`);
    byId("bars").style.height = Math.max(12, 4 + 1.5 * order.length) + "rem";
    byId("feature-component").textContent = componentNames[k];
    const chart = draw("bars", {
      grid: { left: 8, right: 24, top: 8, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: tooltip("item", (point) => `${features.names[order[point.dataIndex]]}\n${word}: ${shown(point.value)}`),
      xAxis: axis("value", "", what === "correlation" ? { min: -1, max: 1 } : {}),
      yAxis: axis("category", "", { data: order.map((j) => features.names[j]),
        axisLabel: { color: colour("ink"), formatter: (name) => shorten(name, window.innerWidth < 600 ? 17 : 40) } }),
      series: [{ type: "bar", barMaxWidth: 18, data: order.map((j) => ({ value: values[j],
        itemStyle: { color: colour(values[j] < 0 ? "odd" : "main") } })) }],
    });
    chart.resize();
    if (tables.features) tables.features.draw();
  }

  /** Three series, so that shape and not colour alone distinguishes the kinds. */
  function points(x, y) {
    const kinds = [[], [], []];
    rows.names.forEach((_, i) => {
      const kind = selected.has(i) ? 2 : rows.odd[i] ? 1 : 0;
      places[i] = { seriesIndex: kind, dataIndex: kinds[kind].length };
      kinds[kind].push([x(i), y(i), i]);
    });
    const size = rows.names.length > 2000 ? 4 : 7;
    const emphasis = { scale: 2, itemStyle: { borderColor: colour("ink"), borderWidth: 2, opacity: 1 } };
    return [
      { name: "within the limits", type: "scatter", data: kinds[0], symbolSize: size,
        itemStyle: { color: colour("main"), opacity: 0.7 }, emphasis },
      { name: "beyond a limit", type: "scatter", data: kinds[1], symbol: "triangle", symbolSize: size + 3,
        itemStyle: { color: colour("odd") }, emphasis },
      { name: "selected", type: "scatter", data: kinds[2], symbol: "diamond", symbolSize: size + 7, z: 5,
        itemStyle: { color: colour("chosen"), borderColor: colour("paper"), borderWidth: 1 }, emphasis,
        label: { show: kinds[2].length <= 12, formatter: (point) => rows.names[point.value[2]], position: "right",
          color: colour("ink"), textBorderColor: colour("paper"), textBorderWidth: 3 }, labelLayout: { hideOverlap: true } },
    ];
  }

  const brush = () => ({ toolbox: [], xAxisIndex: 0, yAxisIndex: 0, brushMode: "single", transformable: false, throttleType: "debounce", throttleDelay: 100,
    outOfBrush: { colorAlpha: 1 } });
  const shownKinds = () => [rows.t2, rows.spe].some((of) => of && of.limit !== null)
    ? ["within the limits", "beyond a limit", ...(selected.size ? ["selected"] : [])] : [];
  const legend = () => ({ show: shownKinds().length > 0, data: shownKinds(), itemWidth: 16, itemHeight: 10, textStyle: { color: colour("ink") }, top: 0,
    itemGap: 12, selectedMode: false });
  const titled = (type, name, gap, more) => axis(type, name, Object.assign({ nameLocation: "middle", nameGap: gap }, more));

  function drawScores() {
    const [a, b] = [Number(byId("across").value), Number(byId("up").value)];
    byId("score-caption").textContent = `Scores on ${label(a)} and ${label(b)}.`;
    describe("scores", `Points. Scores of ${counted(rows.names.length, "sample")} on ${label(a)} and ${label(b)}; ` +
      `${rows.odd.filter(Boolean).length} are beyond a limit. The table of samples holds the numbers.`);
    draw("scores", {
      legend: legend(), brush: brush(),
      tooltip: tooltip("item", (point) => `${rows.names[point.value[2]]}\n${componentNames[a]}: ${shown(point.value[0])}\n` +
        `${componentNames[b]}: ${shown(point.value[1])}`),
      xAxis: titled("value", label(a), 28, { scale: true }), yAxis: titled("value", label(b), 44, { scale: true }),
      series: points((i) => rows.scores[a][i], (i) => rows.scores[b][i]),
    });
  }

  function drawDistances() {
    const positive = (values) => {
      let least = Infinity;
      values.forEach((value) => { if (value > 0 && value < least) least = value; });
      return Number.isFinite(least) ? least : 1;
    };
    if (!rows.spe) return;
    const [t2, spe] = [positive(rows.t2.values), positive(rows.spe.values)];
    const line = (place) => Object.assign({ lineStyle: { color: colour("odd"), type: "dashed", width: 1.5 },
      label: { formatter: "limit", color: colour("soft"), position: "insideEndTop" } }, place);
    const limits = [];
    if (rows.t2.limit !== null) limits.push(line({ xAxis: rows.t2.limit }));
    if (rows.spe.limit !== null) limits.push(line({ yAxis: rows.spe.limit }));
    const series = points((i) => Math.max(rows.t2.values[i], t2), (i) => Math.max(rows.spe.values[i], spe));
    series[0].markLine = { symbol: "none", silent: true, data: limits };
    draw("distances", {
      legend: legend(), brush: brush(),
      tooltip: tooltip("item", (point) => point.componentType !== "series" ? "" : `${rows.names[point.value[2]]}\n` +
        [rows.t2, rows.spe].map((of) => `${of.title}: ${shown(of.values[point.value[2]])}`).join("\n")),
      xAxis: titled("log", rows.t2.title, 28, { minorSplitLine: { show: false } }),
      yAxis: titled("log", rows.spe.title, 48, { minorSplitLine: { show: false }, axisLabel: { color: colour("soft"), formatter: (v) => String(Number(v.toPrecision(4))) } }),
      series,
    });
  }

  /** Redraws whatever shows the selection. */
  function showSelection() {
    drawScores();
    drawDistances();
    tables.samples.draw();
    byId("clear").disabled = selected.size === 0;
    byId("selected").classList.toggle("some", selected.size > 0);
    const first = [...selected].slice(0, 5).map((i) => rows.names[i]).join(", ");
    byId("selected").textContent = selected.size === 0 ? "No sample is selected."
      : `${selected.size} of ${rows.names.length} samples selected: ${first}${selected.size > 5 ? ", …" : ""}`;
  }

  function toggle(i) {
    if (!selected.delete(i)) selected.add(i);
    showSelection();
  }

  function select(found) {
    selected.clear();
    found.forEach((i) => selected.add(i));
    showSelection();
  }

  /** Shows the point of a row in the pictures, or no longer. */
  function highlight(i, isOver, except) {
    for (const id of ["scores", "distances"].filter((id) => charts[id] && id !== except)) {
      charts[id].dispatchAction({ type: isOver ? "highlight" : "downplay", ...places[i] });
    }
  }

  /** Lets a click select a point, and a box the points in it. */
  function link(id) {
    const chart = charts[id];
    for (const over of ["mouseover", "mouseout"]) {
      chart.on(over, (event) => { if (event.componentType === "series") highlight(event.value[2], over === "mouseover", id); });
    }
    chart.on("click", (event) => { if (event.componentType === "series") toggle(event.value[2]); });
    chart.on("brushEnd", (event) => {
      if (!event.areas.length || !event.areas[0].coordRange) return;
      const [[left, right], [bottom, top]] = event.areas[0].coordRange;
      const inside = [];
      chart.getOption().series.forEach((series) => series.data.forEach(([x, y, i]) => {
        if (x >= left && x <= right && y >= bottom && y <= top) inside.push(i);
      }));
      select(inside);
      useBox(boxIsOn());
    });
  }

  const boxIsOn = () => byId("box").getAttribute("aria-pressed") === "true";

  function useBox(on) {
    byId("box").setAttribute("aria-pressed", String(on));
    for (const id of ["scores", "distances"].filter((id) => charts[id])) {
      charts[id].dispatchAction({ type: "brush", areas: [] });
      charts[id].dispatchAction({ type: "takeGlobalCursor", key: "brush",
        brushOption: { brushType: on ? "rect" : false, brushMode: "single" } });
    }
  }

  function fillComponents() {
    document.querySelectorAll("select.component").forEach((list) => {
      list.append(...componentNames.map((name, k) => element("option", { value: String(k) }, label(k))));
    });
  }

  function makeFeatures() {
    byId("bar-component").addEventListener("change", drawBars);
    byId("bar-number").addEventListener("change", drawBars);
    drawBars();
    const of = (what) => (j) => features[what][Number(byId("bar-component").value)][j];
    tables.features = new RowTable(byId("feature-table"), features.names.length, [
      { title: "Feature", value: (j) => features.names[j], text: true },
      { title: "Loading", value: of("loading") }, { title: "Correlation", value: of("correlation") },
      { title: "cos²", value: of("cos2") }, { title: "Contribution", value: of("contribution") },
      { title: "Communality", value: (j) => features.communality[j] },
    ], { noun: "feature", sortColumn: 4, descending: true });
  }

  function makeSamples() {
    const distances = [rows.t2, rows.spe].filter((of) => of);
    const limited = distances.filter((of) => of.limit !== null);
    const distance = (i) => Math.max(0, ...limited.map((of) => of.values[i] / of.limit));
    tables.samples = new RowTable(byId("sample-table"), rows.names.length, [
      { title: "Sample", value: (i) => rows.names[i], text: true },
      ...(limited.length ? [{ title: "Times its limit", value: distance }] : []),
      ...distances.map((of) => ({ title: of.title, value: (i) => of.values[i] })),
      ...componentNames.map((title, k) => ({ title, value: (i) => rows.scores[k][i] })),
    ], { noun: "sample", sortColumn: 1, descending: true, isMarked: (i) => rows.odd[i],
      selection: { has: (i) => selected.has(i), toggle }, hover: highlight });
    if (!nShown) return;
    byId("up").value = String(Math.min(1, nShown - 1));
    byId("across").addEventListener("change", showSelection);
    byId("up").addEventListener("change", showSelection);
    byId("clear").addEventListener("click", () => select([]));
    byId("box").addEventListener("click", () => useBox(!boxIsOn()));
    byId("find").addEventListener("input", () => {
      const query = byId("find").value.trim().toLowerCase();
      select(query ? rows.names.map((_, i) => i).filter((i) => rows.names[i].toLowerCase().includes(query)) : []);
    });
    drawScores();
    drawDistances();
    ["scores", "distances"].filter((id) => charts[id]).forEach(link);
  }

  function drawMissing() {
    if (!missing) return;
    const most = window.innerWidth < 600 ? 12 : 30;
    const order = missing.names.map((_, j) => j).sort((a, b) => missing.share[b] - missing.share[a] || a - b).slice(0, most);
    byId("missing-caption").textContent = missing.names.length > most
      ? `Share of missing values of the ${most} features with the most.` : "Share of missing values of the features.";
    draw("missing-bars", {
      tooltip: tooltip("item", (point) => `${missing.names[order[point.dataIndex]]}\nmissing: ${percent(point.value)}`),
      xAxis: axis("category", "", { data: order.map((j) => missing.names[j]),
        axisLabel: { color: colour("soft"), formatter: (name) => shorten(name, 20), rotate: order.length > 8 ? 45 : 0 } }),
      yAxis: axis("value", "", { min: 0, axisLabel: { color: colour("soft"), formatter: (v) => percent(v) } }),
      series: [{ type: "bar", barMaxWidth: 40, itemStyle: { color: colour("main") }, data: order.map((j) => missing.share[j]) }],
    });
  }

  function makeMissing() {
    drawMissing();
    const certain = missing.uncertainty || [];
    tables.missing = new RowTable(byId("missing-table"), missing.names.length, [
      { title: "Feature", value: (j) => missing.names[j], text: true },
      { title: "Missing share", value: (j) => missing.share[j] },
      { title: "Standard deviation", value: (j) => missing.deviation[j] },
      ...(missing.uncertainty ? [
        { title: "Deviation of predictions", value: (j) => certain[j] },
        { title: "Ratio", value: (j) => certain[j] === null ? null : certain[j] / missing.deviation[j] },
      ] : []),
    ], { noun: "feature", sortColumn: 1, descending: true });
  }

  function drawAll() {
    drawMissing();
    if (!nShown) return;
    drawScree();
    drawRules();
    if (features) drawBars();
    if (rows) { drawScores(); drawDistances(); }
  }

  document.querySelectorAll("[data-picture]").forEach((button) => button.addEventListener("click", () => {
    const chart = charts[button.dataset.picture];
    if (chart) save(button.dataset.picture + ".png", chart.getDataURL({ pixelRatio: 2, backgroundColor: colour("paper") }));
  }));
  fillComponents();
  drawRules();
  if (missing) makeMissing();
  if (nShown) drawScree();
  if (nShown && features) makeFeatures();
  if (rows) makeSamples();
  dark.addEventListener("change", drawAll);
  window.addEventListener("resize", () => Object.values(charts).forEach((chart) => chart.resize()));
  // The style of print is in force when this changes; in `beforeprint` it is not yet.
  window.matchMedia("print").addEventListener("change", (print) => {
    if (print.matches) document.querySelectorAll("details").forEach((details) => { details.open = true; });
    drawAll();
    // A4 and letter have 19 cm between their margins, and more of them than a screen may have.
    Object.values(charts).forEach((chart) => {
      chart.resize({ width: !print.matches ? "auto" : chart.getDom().closest(".pair") ? PAPER / 2 - 12 : PAPER });
    });
  });
  // For tests, and for readers at the console.
  window.karhunenReport = { numbers, charts, selected };
})();
