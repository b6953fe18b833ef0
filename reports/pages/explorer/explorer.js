// The explorer: a slider over widths that were all computed beforehand. Numbers are those of a stop of the slider,
// never interpolated; only pictures glide from one stop to the next.
(function () {
  "use strict";
  const root = document.getElementById("explorer");
  const DATA = JSON.parse(document.getElementById("explorer-data").textContent);
  const COUNT = DATA.sigma.length;
  const RADIUS = DATA.radius;
  const slider = root.querySelector("input");
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const state = { stop: Number(slider.value), place: Number(slider.value), moving: false };

  // --- numbers as words ---------------------------------------------------------------------------------------------

  const minus = (text) => text.replace("-", "−");
  const nats = (value, digits) => (value === null ? "–" : minus(value.toFixed(digits)));
  const signed = (value, digits) => {
    if (value === null) return "–";
    const text = Math.abs(value).toFixed(digits);
    return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
  };
  const figures = (value) => minus(String(Number(value.toPrecision(3))));
  const less = (a, b) => (a === null || b === null ? null : a - b);

  function says(i) {
    const best = DATA.best, behind = DATA.rungs.quadrature[best] - DATA.rungs.quadrature[i];
    const side = i < best ? "narrower" : "wider", wrong = i < best ? "too narrow" : "too wide";
    const at = "σ = " + figures(DATA.sigma[i]);
    let verdict = at + " is the most probable width.";
    if (i !== best && behind < 1) verdict = at + " is about as probable as the best width.";
    else if (i !== best && behind < 5) verdict = `${at} is ${side} than the data like: the evidence is ${behind.toFixed(1)} nats below the best.`;
    else if (i !== best) verdict = `${at} is ${wrong}: the evidence is ${behind.toFixed(behind < 20 ? 1 : 0)} nats below the best.`;
    const uses = ` The model uses γ_eff = ${figures(DATA.gamma_eff[i])} effective parameters for ${DATA.n} points.`;
    const off = less(DATA.rungs.mackay[i], DATA.rungs.quadrature[i]);
    const size = Math.abs(off).toFixed(2);
    const formula = Number(size) === 0 ? " MacKay's formula (5.2) gives the log evidence to a hundredth of a nat"
      : ` MacKay's formula (5.2) puts the log evidence ${size} nats too ${off < 0 ? "low" : "high"}`;
    const share = DATA.posterior[i].covered.mackay;
    const ellipse = share === undefined ? "." : `; its 90 % ellipse contains ${(100 * share).toFixed(0)} % of the exact posterior.`;
    return verdict + uses + (DATA.status[i] === "interior" ? formula + ellipse : ` ${DATA.words[DATA.status[i]]}`);
  }

  // Text with indices set low: γ_eff.
  function set(node, text) {
    node.replaceChildren(...text.split(/([μζγσ]_\w+)/).flatMap((part) => {
      const found = /^(.)_(\w+)$/.exec(part);
      if (found === null) return [part];
      const low = document.createElement("sub");
      low.textContent = found[2];
      return [found[1], low];
    }));
  }

  // --- grids --------------------------------------------------------------------------------------------------------

  function unpacked(packed) {
    const text = atob(packed.data), bytes = new Uint8Array(text.length);
    for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
    const steps = packed.bytes === 2 ? new Uint16Array(bytes.buffer) : bytes;
    const most = packed.bytes === 2 ? 65535 : 255, scale = (packed.high - packed.low) / most;
    return Float32Array.from(steps, (step) => packed.low + scale * step);
  }

  const density = DATA.posterior.map((node) => unpacked(node.log_density));
  const plane = DATA.plane.map(unpacked);

  function between(list, place) {
    const i = Math.min(Math.floor(place), COUNT - 2), t = place - i;
    if (t < 1e-6) return list[i];
    if (t > 1 - 1e-6) return list[i + 1];
    return list[i].map((value, k) => (1 - t) * value + t * list[i + 1][k]);
  }

  // Line through the grid where it has a level, cell by cell; `x` and `y` take columns and rows to pixels.
  function contour(ctx, grid, side, level, x, y) {
    ctx.beginPath();
    for (let r = 0; r < side - 1; r++) {
      for (let c = 0; c < side - 1; c++) {
        const corners = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]];
        const above = corners.map(([i, j]) => grid[j * side + i] - level);
        const cuts = [];
        for (let k = 0; k < 4; k++) {
          const a = above[k], b = above[(k + 1) % 4];
          if ((a > 0) === (b > 0)) continue;
          const t = a / (a - b), p = corners[k], q = corners[(k + 1) % 4];
          cuts.push([x(p[0] + t * (q[0] - p[0])), y(p[1] + t * (q[1] - p[1]))]);
        }
        for (let k = 0; k + 1 < cuts.length; k += 2) {
          ctx.moveTo(cuts[k][0], cuts[k][1]);
          ctx.lineTo(cuts[k + 1][0], cuts[k + 1][1]);
        }
      }
    }
    ctx.stroke();
  }

  // A grid as a smooth image: `paint(value)` gives red, green, blue and alpha; points of the grid are pixel centres.
  function shade(ctx, grid, side, box, paint) {
    const small = document.createElement("canvas");
    small.width = small.height = side;
    const own = small.getContext("2d"), image = own.createImageData(side, side);
    for (let r = 0; r < side; r++) {
      for (let c = 0; c < side; c++) {
        const colour = paint(grid[r * side + c]), at = 4 * ((side - 1 - r) * side + c);
        for (let k = 0; k < 4; k++) image.data[at + k] = colour[k];
      }
    }
    own.putImageData(image, 0, 0);
    const w = box.width / (side - 1), h = box.height / (side - 1);
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    ctx.imageSmoothingQuality = "high";
    ctx.drawImage(small, box.left - w / 2, box.top - h / 2, box.width + w, box.height + h);
    ctx.restore();
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  let theme = {};
  function readTheme() {
    const style = getComputedStyle(root), of = (name) => style.getPropertyValue(name).trim();
    theme = {};
    for (const name of ["ink", "soft", "line", "faint", "panel", "exact", "mackay", "hessian", "laplace", "importance",
      "point-edge", "gain"]) theme[name] = of("--x-" + name);
    for (const name of ["low", "middle", "high", "shade"]) theme[name] = of("--x-" + name).split(",").map(Number);
  }

  function begin(canvas) {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
    ctx.lineJoin = ctx.lineCap = "round";
    return { ctx, width, height };
  }

  function ticks(low, high, most) {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [], digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) {
      found.push([k * step, minus((k * step).toFixed(digits)).replace(/^−(0(\.0+)?)$/, "$1")]);
    }
    return found;
  }

  function axes(ctx, box, xs, ys, names) {
    ctx.lineWidth = 1;
    ctx.fillStyle = theme.soft;
    ctx.strokeStyle = theme.line;
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const [at, text] of ys) {
      ctx.beginPath();
      ctx.moveTo(box.left, at);
      ctx.lineTo(box.left + box.width, at);
      ctx.stroke();
      ctx.fillText(text, box.left - 6, at);
    }
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    for (const [at, text] of xs) {
      ctx.beginPath();
      ctx.moveTo(at, box.top + box.height);
      ctx.lineTo(at, box.top + box.height + 4);
      ctx.stroke();
      ctx.fillText(text, at, box.top + box.height + 6);
    }
    if (names.x) ctx.fillText(names.x, box.left + box.width / 2, box.top + box.height + 21);
    if (names.y) {
      ctx.save();
      ctx.translate(box.left - names.room, box.top + box.height / 2);
      ctx.rotate(-Math.PI / 2);
      ctx.textBaseline = "alphabetic";
      ctx.fillText(names.y, 0, 0);
      ctx.restore();
    }
  }

  function clipped(ctx, box, draw) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    draw();
    ctx.restore();
  }

  // --- evidence -----------------------------------------------------------------------------------------------------

  const LOGS = DATA.sigma.map(Math.log), NAMES = ["mackay", "hessian", "laplace", "importance"];
  const SIGMA_TICKS = [];
  for (let power = -4; power < 5; power++) for (const m of [1, 2, 5]) SIGMA_TICKS.push(m * 10 ** power);
  const finite = (values) => values.filter((value) => value !== null && Number.isFinite(value));
  const curveBox = (width, height) => ({
    above: { left: 52, top: 8, width: width - 62, height: height * 0.5 - 8 },
    below: { left: 52, top: height * 0.5 + 26, width: width - 62, height: height * 0.5 - 66 },
  });
  const toX = (box) => (log) => box.left + box.width * (log - LOGS[0]) / (LOGS[COUNT - 1] - LOGS[0]);

  function line(ctx, values, x, y) {
    ctx.beginPath();
    let pen = false;
    values.forEach((value, i) => {
      if (value === null) { pen = false; return; }
      if (pen) ctx.lineTo(x(LOGS[i]), y(value)); else ctx.moveTo(x(LOGS[i]), y(value));
      pen = true;
    });
    ctx.stroke();
  }

  function dot(ctx, x, y, colour, radius) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.lineWidth = 1.5;
    ctx.strokeStyle = theme.panel;
    ctx.stroke();
  }

  const OFF = Object.fromEntries(NAMES.map((name) => [name, DATA.rungs[name].map((v, i) => less(v, DATA.rungs.quadrature[i]))]));
  const MOST_OFF = Math.min(5, 1.12 * Math.max(0.1, ...finite(Object.values(OFF).flat()).map(Math.abs)));

  function drawEvidence(canvas) {
    const { ctx, width, height } = begin(canvas), { above, below } = curveBox(width, height), x = toX(above);
    const exact = DATA.rungs.quadrature, all = finite([...exact, ...DATA.best_fit]);
    const low = Math.min(...all), high = Math.max(...all), pad = 0.06 * (high - low || 1);
    const y = (v) => above.top + above.height * (high + pad - v) / (high - low + 2 * pad);
    const e = (v) => below.top + below.height * (MOST_OFF - v) / (2 * MOST_OFF);
    const xs = SIGMA_TICKS.filter((s) => s >= DATA.sigma[0] && s <= DATA.sigma[COUNT - 1]).map((s) => [x(Math.log(s)), figures(s)]);
    axes(ctx, above, [], ticks(low - pad, high + pad, 5).map(([v, t]) => [y(v), t]), {});
    axes(ctx, below, xs, ticks(-MOST_OFF, MOST_OFF, 4).map(([v, t]) => [e(v), t]), { x: "kernel width σ" });
    const here = x(LOGS[0] + (LOGS[COUNT - 1] - LOGS[0]) * state.place / (COUNT - 1));
    ctx.strokeStyle = theme.soft;
    ctx.lineWidth = 1;
    ctx.setLineDash([2, 4]);
    for (const box of [above, below]) {
      ctx.beginPath();
      ctx.moveTo(x(LOGS[DATA.best]), box.top);
      ctx.lineTo(x(LOGS[DATA.best]), box.top + box.height);
      ctx.stroke();
    }
    ctx.setLineDash([5, 4]);
    ctx.lineWidth = 1.5;
    line(ctx, DATA.best_fit, x, y);
    ctx.setLineDash([]);
    for (const name of NAMES) {
      ctx.strokeStyle = theme[name];
      ctx.lineWidth = 1.5;
      clipped(ctx, above, () => line(ctx, DATA.rungs[name], x, y));
      ctx.lineWidth = 2;
      clipped(ctx, below, () => line(ctx, OFF[name], x, e));
    }
    ctx.strokeStyle = theme.exact;
    ctx.lineWidth = 2.5;
    line(ctx, exact, x, y);
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(here, above.top);
    ctx.lineTo(here, below.top + below.height);
    ctx.stroke();
    for (const name of NAMES) {
      const off = between(OFF[name].map((v) => [v]), state.place)[0];
      if (off !== null) clipped(ctx, below, () => dot(ctx, here, e(off), theme[name], 4.5));
    }
    dot(ctx, here, y(between(exact.map((v) => [v]), state.place)[0]), theme.exact, 6);
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = theme.soft;
    ctx.strokeStyle = theme.panel;
    ctx.lineWidth = 5;
    ctx.strokeText("minus exact, nats", below.left, below.top - 7);
    ctx.fillText("minus exact, nats", below.left, below.top - 7);
  }

  // --- posterior ----------------------------------------------------------------------------------------------------

  function ellipse(ctx, moments, x, y) {
    const [mu, zeta, sdMu, sdZeta, rho] = moments;
    ctx.beginPath();
    for (let k = 0; k <= 90; k++) {
      const a = (2 * Math.PI * k) / 90, u = Math.cos(a), v = Math.sin(a);
      ctx.lineTo(x(mu + RADIUS * sdMu * u), y(zeta + RADIUS * sdZeta * (rho * u + Math.sqrt(1 - rho * rho) * v)));
    }
    ctx.stroke();
  }

  function drawPosterior(canvas) {
    const { ctx, width, height } = begin(canvas), side = DATA.posterior[0].log_density.shape[0];
    const box = { left: 50, top: 6, width: width - 58, height: height - 48 };
    const [left, right, bottom, top] = between(DATA.posterior.map((node) => node.window), state.place);
    const grid = between(density, state.place), levels = between(DATA.posterior.map((node) => node.levels), state.place);
    const x = (v) => box.left + box.width * (v - left) / (right - left);
    const y = (v) => box.top + box.height * (top - v) / (top - bottom);
    axes(ctx, box, ticks(left, right, 5).map(([v, t]) => [x(v), t]), ticks(bottom, top, 5).map(([v, t]) => [y(v), t]),
      { x: "log μ", y: "log ζ", room: 38 });
    const peak = grid.reduce((a, b) => Math.max(a, b)), tint = theme.shade;
    shade(ctx, grid, side, box, (v) => [...tint, 150 * Math.exp(0.5 * (v - peak))]);
    const column = (c) => box.left + box.width * c / (side - 1), row = (r) => box.top + box.height * (1 - r / (side - 1));
    ctx.strokeStyle = theme.exact;
    levels.forEach((level, k) => {
      ctx.lineWidth = k === 1 ? 2.4 : 1.2;
      contour(ctx, grid, side, level, column, row);
    });
    clipped(ctx, box, () => {
      for (const name of ["laplace", "hessian", "mackay"]) {
        const moments = gaussian(name);
        if (moments === null) continue;
        ctx.strokeStyle = theme[name];
        ctx.lineWidth = 2.2;
        ctx.setLineDash(name === "laplace" ? [6, 5] : []);
        ellipse(ctx, moments, x, y);
        ctx.setLineDash([]);
        if (name !== "hessian") dot(ctx, x(moments[0]), y(moments[1]), theme[name], 3.5);
      }
    });
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(box.left, box.top, box.width, box.height);
  }

  function gaussian(name) {
    const i = Math.min(Math.floor(state.place), COUNT - 2), list = DATA.posterior.map((node) => node.gaussians[name] || null);
    if (list[i] === null || list[i + 1] === null) return list[Math.round(state.place)];
    return between(list, state.place);
  }

  // --- plane --------------------------------------------------------------------------------------------------------

  function drawPlane(canvas) {
    const { ctx, width, height } = begin(canvas), side = DATA.plane[0].shape[0], points = DATA.points;
    const box = { left: 50, top: 6, width: width - 58, height: height - 48 };
    const [left, right, bottom, top] = DATA.window, grid = between(plane, state.place);
    const x = (v) => box.left + box.width * (v - left) / (right - left);
    const y = (v) => box.top + box.height * (top - v) / (top - bottom);
    axes(ctx, box, ticks(left, right, 5).map(([v, t]) => [x(v), t]), ticks(bottom, top, 5).map(([v, t]) => [y(v), t]),
      { x: DATA.features[0], y: DATA.features[1], room: 38 });
    const { low, high } = DATA.plane[0];
    const mixed = (a, b, t) => a.map((value, k) => (1 - t) * value + t * b[k]);
    const colour = (value) => {
      const t = (2 * (value - low)) / (high - low) - 1;
      return [...mixed(theme.middle, t < 0 ? theme.low : theme.high, 0.75 * Math.abs(t)), 255];
    };
    shade(ctx, grid, side, box, colour);
    const column = (c) => box.left + box.width * c / (side - 1), row = (r) => box.top + box.height * (1 - r / (side - 1));
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 1.8;
    contour(ctx, grid, side, (low + high) / 2, column, row);
    const size = points.length > 300 ? 2.2 : 3;
    for (const [a, b, target] of points) {
      const t = Math.max(-1, Math.min(1, DATA.task === "regression" ? target / high : target));
      ctx.beginPath();
      if (target < 0) ctx.arc(x(a), y(b), size, 0, 2 * Math.PI);
      else {
        ctx.moveTo(x(a), y(b) - 1.3 * size);
        ctx.lineTo(x(a) + 1.2 * size, y(b) + size);
        ctx.lineTo(x(a) - 1.2 * size, y(b) + size);
        ctx.closePath();
      }
      ctx.fillStyle = `rgb(${mixed(theme.middle, t < 0 ? theme.low : theme.high, Math.abs(t)).map(Math.round)})`;
      ctx.fill();
      ctx.lineWidth = 0.8;
      ctx.strokeStyle = DATA.task === "regression" ? theme.ink : theme["point-edge"];
      ctx.stroke();
    }
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(box.left, box.top, box.width, box.height);
  }

  // --- parts --------------------------------------------------------------------------------------------------------

  const FIRST = DATA.groups.first, SECOND = DATA.groups.second;
  const sum = (names, i) => names.reduce((total, name) => total + DATA.parts[name][i], 0);

  // Ends of the bars of a group over all widths, so that the scale stays while the slider moves.
  function reach(names) {
    let low = 0, high = 0;
    for (let i = 0; i < COUNT; i++) {
      let at = 0;
      for (const name of names) {
        at += DATA.parts[name][i];
        low = Math.min(low, at);
        high = Math.max(high, at);
      }
    }
    return [low - 0.02 * (high - low), high + 0.02 * (high - low)];
  }
  const REACH = { first: reach(FIRST), second: reach(SECOND) };

  function drawBars() {
    for (const [group, names] of [["first", FIRST], ["second", SECOND]]) {
      const [low, high] = REACH[group], percent = (v) => (100 * (v - low)) / (high - low);
      let at = 0;
      for (const name of names) {
        const value = between(DATA.parts[name].map((v) => [v]), state.place)[0];
        const bar = root.querySelector(`[data-bar="${name}"] i`), from = Math.min(at, at + value);
        bar.style.left = percent(from) + "%";
        bar.style.width = percent(from + Math.abs(value)) - percent(from) + "%";
        bar.style.background = value < 0 ? theme[name === "fit" ? "soft" : name === "left_out" ? "mackay" : "hessian"] : theme.gain;
        at += value;
      }
    }
    const [low, high] = REACH.first, percent = (v) => (100 * (v - low)) / (high - low);
    for (const [name, values] of [["subtotal", DATA.best_fit], ["total", DATA.rungs.quadrature]]) {
      const value = between(values.map((v) => [v]), state.place)[0], bar = root.querySelector(`[data-bar="${name}"] i`);
      bar.style.left = percent(Math.min(0, value)) + "%";
      bar.style.width = percent(Math.abs(value) + low) + "%";
      bar.style.background = theme.ink;
    }
  }

  // --- what changes with the slider -----------------------------------------------------------------------------------

  const show = (selector, text) => { set(root.querySelector(selector), text); };

  function write(i) {
    const exact = DATA.rungs.quadrature, best = DATA.best;
    show('[data-show="sigma"]', "σ = " + figures(DATA.sigma[i]));
    show('[data-show="says"]', says(i));
    for (const cell of root.querySelectorAll("[data-value]")) {
      const values = cell.dataset.value === "best_fit" ? DATA.best_fit : DATA.rungs[cell.dataset.value];
      cell.textContent = nats(values[i], 3);
      root.querySelector(`[data-off="${cell.dataset.value}"]`).textContent =
        cell.dataset.value === "quadrature" ? "" : signed(less(values[i], exact[i]), 3);
    }
    const rows = { ...DATA.parts, subtotal: DATA.best_fit, total: exact };
    for (const [name, values] of Object.entries(rows)) {
      show(`[data-part="${name}"]`, nats(values[i], 2));
      show(`[data-change="${name}"]`, i === best ? "" : signed(values[i] - values[best], 2));
    }
    const loo = DATA.leave_one_out[i];
    show('[data-show="loo"]', loo === null ? "" : `Left out one at a time, ${(100 * loo.error).toFixed(1)} % of the labels are predicted wrongly.`);
    slider.value = i;
    slider.setAttribute("aria-valuetext", `σ = ${figures(DATA.sigma[i])}, log evidence ${nats(exact[i], 1)}`);
    for (const button of root.querySelectorAll("[data-stop]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.stop) === i));
    }
    root.dataset.stop = i;
  }

  const DRAW = { evidence: drawEvidence, posterior: drawPosterior, plane: drawPlane };
  function draw() {
    for (const canvas of root.querySelectorAll("[data-draw]")) if (canvas.clientWidth) DRAW[canvas.dataset.draw](canvas);
    drawBars();
    root.dataset.settled = String(!state.moving);
  }

  function glide() {
    const rest = state.stop - state.place;
    state.moving = Math.abs(rest) > 0.02 && !still.matches;
    state.place = state.moving ? state.place + 0.3 * rest : state.stop;
    draw();
    if (state.moving) requestAnimationFrame(glide);
  }

  function go(i, jump) {
    const stop = Math.max(0, Math.min(COUNT - 1, Math.round(i)));
    if (stop === state.stop) return;
    state.stop = stop;
    write(stop);
    if (jump) { state.place = stop; draw(); return; }
    if (!state.moving) { state.moving = true; root.dataset.settled = "false"; requestAnimationFrame(glide); }
  }

  slider.addEventListener("input", () => go(Number(slider.value)));
  for (const button of root.querySelectorAll("[data-stop]")) button.addEventListener("click", () => go(Number(button.dataset.stop)));
  const curve = root.querySelector('[data-draw="evidence"]');
  function point(event) {
    const { above } = curveBox(curve.clientWidth, curve.clientHeight);
    go((COUNT - 1) * (event.clientX - curve.getBoundingClientRect().left - above.left) / above.width);
  }
  curve.addEventListener("pointerdown", (event) => { curve.setPointerCapture(event.pointerId); point(event); });
  curve.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });

  // An address that ends in #sigma=0.5 opens at that width.
  function fromAddress() {
    const wanted = Number((/^#sigma=([\d.]+)$/.exec(location.hash) || [])[1]);
    if (!(wanted > 0)) return;
    const far = LOGS.map((log) => Math.abs(log - Math.log(wanted)));
    go(far.indexOf(Math.min(...far)), true);
  }
  window.addEventListener("hashchange", fromAddress);

  function restyle() { readTheme(); draw(); }
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  new MutationObserver(restyle).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  new ResizeObserver(draw).observe(root);
  readTheme();
  write(state.stop);
  draw();
  fromAddress();
})();
