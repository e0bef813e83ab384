// Beam search step by step, from left to right.

import {draw, make, note, percent, readable, round, shorten, slider}
  from "./dom.js";

export const title = "Search";
export const showsOneSentence = true;

const [WIDTH, HEIGHT, ROW, COLUMN, TOP] = [130, 24, 31, 180, 26];

export function open(context) {
  const {beam_size: beamSize, alpha} = context.state.runs[context.state.run];
  const options = () => ({alpha: context.option("alpha", alpha, 2, 0),
    beam_size: context.option("beam", Math.min(beamSize, 10), 10)});
  const picture = make("div", {class: "panel scroll", onkeydown: move,
    onfocusin: show, onpointerover: show});
  const details = make("div", {class: "details", "aria-live": "polite"});
  context.root.append(make("div", {class: "controls"},
    slider("beam size", {min: 1, max: 10, value: options().beam_size},
      (value) => context.change({beam: value})),
    slider("alpha", {min: 0, max: 2, step: 0.1, value: options().alpha},
      (value) => context.change({alpha: value}))), legend(), picture, details);
  let results = null;

  async function update() {
    results = await context.ask("search", options()) ?? results;
    details.replaceChildren();
    if (!results?.steps.length) {
      picture.replaceChildren(
        note("Type a sentence to see how its translation is searched."));
      return;
    }
    picture.replaceChildren(drawSearch(results));
    details.replaceChildren(...summary());
  }

  function summary() {
    const {steps, text, score} = results;
    const count = steps.flat().length;
    return [make("p", {class: "translation", dir: "auto"}, text),
      note(`Score ${round(score)}, the log-probability divided by the length `
        + `penalty. ${steps.length} steps, ${count} candidates.`),
    make("p", {class: "faint live"},
      "Point at a candidate to read why; the arrow keys move.")];
  }

  function show(event) {
    const node = event.target.closest?.(".node");
    if (!node) return;
    const [step, place] = [Number(node.dataset.step), Number(node.dataset.place)];
    picture.querySelectorAll(".line").forEach((each) =>
      each.classList.remove("line"));
    let here = place;
    const tokens = [];
    for (let at = step; at >= 0; at -= 1) {
      picture.querySelectorAll(`[data-step="${at}"][data-place="${here}"]`)
        .forEach((each) => each.classList.add("line"));
      tokens.unshift(results.steps[at][here].token);
      here = results.steps[at][here].parent;
    }
    details.replaceChildren(...describe(step, place, tokens));
  }

  function describe(step, place, tokens) {
    const one = results.steps[step][place];
    const parent = step ? results.steps[step - 1][one.parent].log_prob : 0;
    const text = tokens.join("").replaceAll("\u2581", " ").trim();
    return [make("p", {class: "translation", dir: "auto"}, text),
      make("p", {}, `${reason(step, place)} `, make("span", {class: "faint"},
        `Log-probability ${round(one.log_prob)}; of this token `
        + `${percent(Math.exp(one.log_prob - parent))}.`))];
  }

  function reason(step, place) {
    const column = results.steps[step];
    const {outcome, score} = column[place];
    const rank = column.filter((each, i) =>
      i <= place && ["kept", "cut"].includes(each.outcome)).length;
    const size = column.filter((each) => each.outcome === "kept").length;
    const end = results.bounds.find((each) => each.candidate === place);
    if (step === results.steps.length - 1 && end) {
      return "The search stops: even without losing more probability up to "
        + `${results.limit} tokens, its score would be ${round(end.bound)}, `
        + `and ${round(results.score)} is found.`;
    }
    return {
      best: `It ends with the score ${round(score)}, the best so far.`,
      worse: `It ends with the score ${round(score)}, worse than one that `
        + "ended before or beside it.",
      cut: `Cut off: it is number ${rank} of those that go on, and the beam `
        + `keeps ${size}.`,
      kept: `Kept: number ${rank} of ${size} in the beam.`}[outcome];
  }

  function move(event) {
    const node = event.target.closest(".node");
    if (!node || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const [step, place] = [Number(node.dataset.step), Number(node.dataset.place)];
    const {parent} = results.steps[step][place];
    const child = results.steps[step + 1]?.findIndex((c) => c.parent === place);
    const [column, row] = {ArrowUp: [step, place - 1],
      ArrowDown: [step, place + 1], ArrowLeft: [step - 1, parent],
      ArrowRight: [step + 1, child]}[event.key];
    picture.querySelector(
      `.node[data-step="${column}"][data-place="${row}"]`)?.focus();
  }

  return {update};
}

const MEANINGS = {kept: "continued", cut: "dropped", best: "ended, the best "
  + "until then", worse: "ended with a lower score", path: "leads to the result"};

const legend = () => make("p", {class: "meanings"},
  ...Object.entries(MEANINGS).map(([name, words]) => make("span", {class: "key"},
    draw("svg", {width: 30, height: 16, "aria-hidden": "true"},
      draw("g", {class: `node ${name}`},
        draw("rect", {x: 1, y: 1, width: 28, height: 14, rx: 4}))), words)),
  make("small", {}, "The number is the log-probability so far, or the score of "
    + "what ended."));

function drawSearch({steps, path}) {
  const rows = Math.max(...steps.map((column) => column.length));
  const place = (step, row) => [12 + COLUMN * step, TOP + 12 + ROW * row];
  const onPath = (step, row) => path[step] === row;
  const [edges, nodes] = [draw("g"), draw("g")];
  steps.forEach((column, step) => column.forEach((one, row) => {
    const [x, y] = place(step, row);
    const marks = onPath(step, row) ? "path" : "";
    const figure = round(
      ["best", "worse"].includes(one.outcome) ? one.score : one.log_prob);
    if (step) {
      const [px, py] = place(step - 1, one.parent);
      const [from, to] = [px + WIDTH, y + HEIGHT / 2];
      const middle = (from + x) / 2;
      edges.append(draw("path", {class: `edge ${one.outcome} ${marks}`,
        "data-step": step, "data-place": row, d: `M${from},${py + HEIGHT / 2}`
          + `C${middle},${py + HEIGHT / 2} ${middle},${to} ${x},${to}`}));
    }
    const token = readable(one.token);
    nodes.append(draw("g", {class: `node ${one.outcome} ${marks}`,
      "data-step": step, "data-place": row, role: "button",
      tabindex: step || row ? -1 : 0, transform: `translate(${x},${y})`,
      "aria-label": `${token}, ${one.outcome}, ${figure}`},
    draw("rect", {width: WIDTH, height: HEIGHT, rx: 6}),
    draw("text", {x: 8, y: 16.5}, shorten(token, 9)),
    draw("text", {x: WIDTH - 7, y: 16, class: "figure", "text-anchor": "end"},
      figure)));
  }));
  const [width, height] = place(steps.length, rows);
  const numbers = steps.map((_, step) => draw("text", {class: "step",
    x: place(step, 0)[0], y: 16}, `${step + 1}`));
  return draw("svg", {width: width - 28, height, role: "group",
    "aria-label": "Candidates of each step"}, ...numbers, edges, nodes);
}
