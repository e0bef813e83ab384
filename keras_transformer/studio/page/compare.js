// A text, and all sentences of a test set, by two checkpoints.

import {ask, choice, listTerms, make, markDifferences, note, round,
  showFrame} from "./dom.js";
import {join} from "./translate.js";

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
  const {runs, run, step, options} = context.state;
  // A model is a checkpoint of a run. The header chooses the first.
  const models = runs.flatMap((one, i) => one.steps.toReversed().map(
    (number) => ({run: i, step: number, name: `${one.name}, step ${number}`})));
  const find = (of, number) =>
    models.findIndex((one) => one.run === of && one.step === number);
  const first = find(run, step || runs[run].step || runs[run].steps.at(-1));
  let second = find(...(options.other ?? "").split(":").map(Number));
  if (second < 0) second = models.findIndex((one) => one.run !== run);
  if (second < 0) second = Math.min(first + 1, models.length - 1);
  if (second === first) second = Math.max(0, first - 1);
  const pair = () => [models[first], models[second]];
  const both = make("div", {class: "grid"});
  const set = make("div", {class: "set"});
  const found = make("div");
  context.root.append(make("div", {class: "controls live"}, choice(
    "Compare with", models.map((one, i) => [i, one.name]), second, (value) => {
      second = Number(value);
      context.set({other: `${models[second].run}:${models[second].step}`}, true);
      context.refresh();
      offerTexts();
    })), both, set);
  // The fields of a request about the test set.
  const fields = () => ({run: models[first].run, step: models[first].step,
    other: models[second].run, other_step: models[second].step});
  let shown = null;

  async function update() {
    if (first < 0) return context.ask("translate");  // says what is missing
    const answers = [];
    // One after the other, because a request aborts one of the same name.
    for (const {run, step} of pair()) {
      const hypotheses = [];
      for (const text of context.sentences) {
        const answer = await context.work(
          ask("translate", {text, run, step, num_hypotheses: 1}));
        if (!answer) return;
        hypotheses.push(answer.hypotheses[0] ?? {text: "", score: 0});
      }
      answers.push(hypotheses);
    }
    const marked = markDifferences(...answers.map((each) =>
      join(context.state.parts, (i) => [each[i]?.text ?? ""]).join("")));
    both.replaceChildren(...answers.map((each, side) => make("div",
      {class: "panel"}, make("h2", {}, pair()[side].name),
      make("p", {class: "translation", dir: "auto"}, ...marked[side]),
      make("small", {}, each.length === 1 ? `score ${round(each[0].score)}`
        : "\u00a0"))));
  }

  async function offerTexts() {
    shown = null;
    found.replaceChildren();
    set.replaceChildren();
    if (models.length === 1) {
      set.replaceChildren(note("There is one checkpoint alone. Give "
        + "--output_dir twice to compare two runs."));
    }
    if (first < 0 || first === second) return;
    const results = await context.work(ask("texts", fields()));
    if (!results) return;
    set.replaceChildren(...(results.texts.length ? results.texts.map(offer)
      : [note("The data of the run are not on this machine, so there is no "
        + "test set to compare on.")]), found);
    const wanted = results.texts.find(({name}) => name === options.set);
    if (wanted && isDecoded(wanted)) compareTexts(wanted);
  }

  const isDecoded = ({decoded, total}) =>
    decoded.every((number) => number === total);

  // A button for a test set, and which checkpoints have decoded it.
  function offer(text) {
    const {name, total, decoded, evaluated} = text;
    const sides = pair().map((model, side) => {
      const other = evaluated[side];
      return `${model.name}: ${decoded[side] === total ? "decoded"
        : `${decoded[side]} of ${total} sentences decoded${
          other && other !== model.step
            ? ` (kt-evaluate decoded step ${other})` : ""}`}`;
    });
    return make("div", {class: "controls live"}, make("button", {type: "button",
      onclick: () => (isDecoded(text) ? compareTexts(text) : decode(text))},
    isDecoded(text) ? `Compare on ${name}` : `Decode ${name} and compare`),
    make("small", {}, `${sides.join("; ")}.`));
  }

  async function decode(text) {
    const {name, total, decoded} = text;
    for (const [side, model] of pair().entries()) {
      while (decoded[side] < total) {
        context.say(`${model.name}: ${decoded[side]} of ${total} sentences`);
        const results = await context.work(ask("decode",
          {name, of: models[first].run, run: model.run, step: model.step}));
        if (!results) return offerTexts();  // it was stopped
        decoded[side] = results.decoded;
      }
    }
    context.set({set: name});
    offerTexts();
  }

  async function compareTexts({name}) {
    const results = await context.work(ask("compare", {name, ...fields()}));
    if (!results) return;
    context.set({set: name});
    shown = results.frame;
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
    const [one, other] = pair();
    found.replaceChildren(
      make("h2", {}, `${name}: ${one.name}, and ${other.name}`),
      showFrame(results.frame, "Scores of both, by paired bootstrap"),
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
    save: async () => shown && (await fetch(`frame/${shown}`)).text(),
  };
}
