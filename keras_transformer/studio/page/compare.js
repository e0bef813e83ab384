// One sentence, and all sentences of a test set, by two models.

import {ask, choice, listTerms, make, markDifferences, note, round}
  from "./dom.js";

export const title = "Compare";

const SHOWN = 20;  // sentences of a test set at first
const ORDERS = {
  difference: ["difference", (one) => -Math.abs(one.scores[0] - one.scores[1])],
  better: ["first is better", (one) => one.scores[1] - one.scores[0]],
  worse: ["second is better", (one) => one.scores[0] - one.scores[1]],
  score: ["lowest score", (one) => Math.min(...one.scores)],
  length: ["length", (one) => -one.source.split(/\s+/).length],
  number: ["line", (one) => one.number],
};

export function open(context) {
  const {runs, run, step} = context.state;
  // Models are pairs of a run and a checkpoint.
  const models = runs.flatMap((one, i) => one.steps.toReversed().map(
    (number) => ({run: i, step: number, name: `${one.name}, step ${number}`})));
  const first = models.findIndex((one) =>
    one.run === run && one.step === (step || runs[run].step));
  const chosen = [first, models.findIndex((one) => one.run !== run)];
  if (chosen[1] < 0) chosen[1] = Math.min(first + 1, models.length - 1);
  const both = make("div", {class: "grid"});
  const set = make("div", {class: "set"});
  const found = make("div");
  const pick = (side) => choice(["First", "Second"][side],
    models.map((one, i) => [i, one.name]), chosen[side], (value) => {
      chosen[side] = Number(value);
      update();
      offerTexts();
    });
  context.root.append(make("div", {class: "controls"}, pick(0), pick(1)), both,
    set);
  let frameOf = null;

  async function update() {
    const {text} = context.sentence;
    // One after the other, because a request aborts one of the same name.
    const answers = [];
    for (const i of chosen) {
      const answer = await context.ask("translate", {text,
        run: models[i].run, step: models[i].step, num_hypotheses: 1});
      if (!answer) return;
      answers.push(answer.hypotheses[0] ?? {text: "", score: 0});
    }
    const marked = markDifferences(...answers.map((one) => one.text));
    both.replaceChildren(...answers.map((one, side) => make("div",
      {class: "panel"}, make("h2", {}, models[chosen[side]].name),
      make("p", {class: "translation", dir: "auto"}, ...marked[side]),
      make("small", {}, text ? `score ${round(one.score)}` : "\u00a0"))));
  }

  async function offerTexts() {
    const pair = {run: models[chosen[0]].run, other: models[chosen[1]].run};
    frameOf = null;
    found.replaceChildren();
    if (pair.run === pair.other) return set.replaceChildren();
    const texts = await context.work(ask("texts", pair));
    if (!texts) return;
    if (!texts.names.length) {
      set.replaceChildren(note("To compare the two runs on a test set, decode "
        + "it with both first: kt-evaluate --output_dir=RUN --split=test"));
      return;
    }
    set.replaceChildren(make("div", {class: "controls"}, "Both runs on",
      ...texts.names.map((name) => make("button", {type: "button",
        onclick: () => compareTexts(name, pair)}, name))), found);
  }

  async function compareTexts(name, pair) {
    const results = await context.work(ask("compare", {name, ...pair}));
    if (!results) return;
    frameOf = {name, ...pair};
    const list = make("div");
    const state = {order: "difference", count: SHOWN};
    const more = make("button", {type: "button", onclick: () => {
      state.count += SHOWN;
      show();
    }}, "Show more");
    const show = () => {
      const rank = ORDERS[state.order][1];
      const sorted = results.sentences.toSorted((a, b) => rank(a) - rank(b));
      list.replaceChildren(...sorted.slice(0, state.count).map(sentence));
      more.hidden = state.count >= sorted.length;
    };
    show();
    found.replaceChildren(
      make("iframe", {src: `frame/${results.frame}`,
        title: "Scores of both runs, by paired bootstrap"}),
      make("div", {class: "controls"}, make("h2", {}, "Sentences ",
        make("small", {}, "chrF of each")), choice("Sort by",
        Object.entries(ORDERS).map(([key, [words]]) => [key, words]),
        state.order, (value) => {
          state.order = value;
          show();
        })), list, more);
  }

  function sentence(one) {
    const [first, second] = markDifferences(...one.texts);
    const scores = one.scores.map((score) => round(score, 1)).join(" and ");
    return make("div", {class: "sentence"}, make("h3", {},
      `Line ${one.number} `, make("small", {}, scores)),
    listTerms({source: [one.source], reference: [one.reference], first,
      second}));
  }

  offerTexts();
  return {
    update,
    save: async () => frameOf && (await ask("compare_file", frameOf)).html,
  };
}
