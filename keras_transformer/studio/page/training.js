// Learning curves and samples of runs that may still be training.

import {ask, draw, listTerms, make, markDifferences, round} from "./dom.js";

export const title = "Training";
export const needsNoText = true;

const PAUSE = 2000;  // milliseconds between two requests
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [420, 220, 46, 24];
const SAMPLES = 4;
const NAMES = {dev_bleu: "BLEU", dev_chrf: "chrF2", dev_f1: "F1"};

export function open(context) {
  const legend = make("p");
  const charts = make("div", {class: "grid"});
  const samples = make("div", {class: "grid"});
  context.root.append(legend, charts, make("h2", {}, "Samples"), samples);
  let timer = null;
  let isOpen = true;
  let shown = "";

  async function update() {
    clearTimeout(timer);
    const results = await context.work(ask("training"));
    if (isOpen) timer = setTimeout(update, PAUSE);
    // The page stays as it is, selections included, until something is new.
    if (!results || JSON.stringify(results) === shown) return;
    shown = JSON.stringify(results);
    const {runs} = results;
    legend.replaceChildren(...runs.map((_, i) => key(i)),
      make("small", {}, "dashed: on dev"));
    charts.replaceChildren(...groups(runs).map((names) =>
      chart(names, runs, context.state.runs)));
    samples.replaceChildren(...runs.map(sampled).filter(Boolean));
  }

  const key = (number) => make("span", {class: `key run-${number % 4}`},
    make("i"), context.state.runs[number].name);

  function sampled(run, number) {
    if (!run.samples.length) return null;
    return make("div", {class: "panel"}, make("h2", {}, key(number),
      make("small", {}, `step ${run.samples_step}`)),
    ...run.samples.slice(0, SAMPLES).map(([source, reference, output]) => {
      const [expected, written] = markDifferences(reference, output ?? "");
      return listTerms(
        {source: [source], reference: expected, output: written});
    }));
  }

  function close() {
    isOpen = false;  // an answer may still be on its way
    clearTimeout(timer);
  }

  return {update, close};
}

// The losses share a chart, and every other figure has one of its own.
function groups(runs) {
  const names = new Set(runs.flatMap((run) => Object.keys(run.curves)));
  const losses = ["train_loss", "dev_loss"].filter((name) => names.has(name));
  const others = [...names].filter((name) => !losses.includes(name)
    && !["learning_rate", "dev_perplexity"].includes(name));
  const rate = names.has("learning_rate") ? [["learning_rate"]] : [];
  return [losses, ...others.map((name) => [name]), ...rate]
    .filter((group) => group.length);
}

// Round numbers from 0 to a maximum at least, so that a small change of a curve
// looks small.
function ticksTo(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power * [1, 2, 2.5, 5, 10].find((n) => 4 * n * power >= most);
  return [...Array(Math.ceil(most / step - 1e-9) + 1).keys()]
    .map((n) => n * step);
}

const show = (value, digits = 2) => value && Math.abs(value) < 0.01
  ? value.toExponential(1) : round(value, digits);

// A curve belongs to a run, and to train or dev if both share a chart.
const nameLine = ({name, number}, names, all) => [
  all.length > 1 ? all[number].name : "",
  names.length > 1 ? name.replace("_loss", "") : ""].filter(Boolean).join(" ");

function chart(names, runs, all) {
  const lines = runs.flatMap((run, number) => names
    .filter((name) => run.curves[name])
    .map((name) => ({name, number, points: run.curves[name]})));
  const [xs, ys] = [0, 1].map((side) =>
    lines.flatMap((line) => line.points.map((point) => point[side])));
  const most = Math.max(...xs) || 1;
  const ticks = ticksTo(Math.max(...ys) || 1);
  const [low, high] = [Math.min(0, ...ys), ticks.at(-1)];
  const room = WIDTH - LEFT - 8;
  const x = (step) => LEFT + room * step / most;
  const y = (value) => 10 + (HEIGHT - BOTTOM - 16) * (high - value) / (high - low);
  const label = names.length > 1 ? "loss per token"
    : NAMES[names[0]]
      ?? names[0].replace("dev_", "").replaceAll("_", " ");
  const values = make("small", {class: "values"});
  const rule = draw("path", {class: "rule", d: ""});
  // The points at an update, or the newest of each curve.
  const read = (step) => {
    const points = lines.map((line) => line.points.reduce((a, b) =>
      Math.abs(b[0] - step) <= Math.abs(a[0] - step) ? b : a));
    values.textContent = (step < Infinity ? `update ${
      Math.round(step).toLocaleString("en")}: ` : "") + points.map((point, i) =>
      `${nameLine(lines[i], names, all)} ${show(point[1])}`.trim()).join(", ");
    rule.setAttribute("d", step < Infinity ? `M${x(step)},8V${HEIGHT - BOTTOM}`
      : "");
  };
  read(Infinity);
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = (event.clientX - box.left) * WIDTH / box.width - LEFT;
    const step = Math.max(0, Math.min(1, place / room)) * most;
    read(xs.reduce((a, b) => Math.abs(b - step) < Math.abs(a - step) ? b : a));
  };
  return make("div", {class: "panel"},
    make("h2", {}, label), values,
    draw("svg", {class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: "100%", role: "img", "aria-label": `Curve of ${label}`,
      onpointermove: point, onpointerleave: () => read(Infinity)},
    ...ticks.map((value) => draw("g", {},
      draw("path", {class: "axis", d: `M${LEFT},${y(value)}H${WIDTH - 8}`}),
      draw("text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end"},
        `${Number(value.toPrecision(3))}`))),
    draw("text", {x: WIDTH - 8, y: HEIGHT - 6, "text-anchor": "end"},
      `${most.toLocaleString("en")} updates`),
    draw("text", {x: LEFT, y: HEIGHT - 6}, "0"), rule,
    ...lines.map(({name, number, points}) => draw("path", {
      class: `curve run-${number % 4} ${
        names.length > 1 && name === "dev_loss" ? "dev" : ""}`,
      d: points.map(([step, value], i) =>
        `${i ? "L" : "M"}${x(step).toFixed(1)},${y(value).toFixed(1)}`)
        .join("")}))));
}
