// What one head of the encoder computes, with the paper's equations.

import {choice, make, math, note, readable, round} from "./dom.js";

export const title = "How it works";
export const showsOneSentence = true;

const COLUMNS = 8;  // of a matrix that are shown

const i = (text) => math("mi", text);
const o = (text) => math("mo", text);
const row = (...parts) => math("mrow", ...parts);
const sub = (base, index) => math("msub", i(base), index);
const fraction = (above, below) => math("mfrac", above, below);
const equation = (...parts) => math("math", row(...parts));
const product = (name) => equation(sub(name, i("i")), o("="), i("X"),
  math("msubsup", i("W"), i("i"), i(name)));
const outputs = () => [
  equation(sub("head", i("i")), o("="), sub("A", i("i")), sub("V", i("i"))),
  equation(i("MultiHead"), o("="), i("Concat"), o("("),
    sub("head", math("mn", "1")), o(","), o("\u2026"), o(","),
    sub("head", i("h")), o(")"), math("msup", i("W"), i("O")))];
const scores = () => fraction(row(sub("Q", i("i")),
  math("msubsup", i("K"), i("i"), i("T"))), math("msqrt", sub("d", i("k"))));

export function open(context) {
  const {num_layers: layers, num_heads: heads} =
    context.state.runs[context.state.run];
  const pick = (name, count) => choice(name, [...Array(count).keys()].map(
    (number) => [number + 1, number + 1]), context.option(name, 1, count),
  (value) => context.change({[name]: value}));
  const lessons = make("div");
  context.root.append(make("div", {class: "controls"}, pick("layer", layers),
    pick("head", heads)), lessons);

  async function update() {
    const results = await context.ask("explain", {
      layer: context.option("layer", 1, layers),
      head: context.option("head", 1, heads)});
    if (!results) return;
    lessons.replaceChildren(...(results.tokens.length ? explain(results)
      : [note("Type a short sentence to see what a head computes for it.")]));
  }

  return {update};
}

function explain(results) {
  const {tokens, d_model: width, d_k: size} = results;
  const names = tokens.map(readable);
  const vectors = (key) => matrix(names, null, results[key]);
  return [
    tokens.length < results.num_tokens ? note(`Numbers of the first `
      + `${tokens.length} of ${results.num_tokens} tokens are shown. The head `
      + "reads all of them.") : "",
    lesson("Positions", results.is_sinusoidal ? sinusoids() : [],
    `A vector of d_model = ${width} numbers is added to the embedding of each `
    + "token, and tells its position. Rows are positions from the top, columns "
    + "are dimensions; blue is positive, orange negative. Section 3.5 of the "
    + "paper.", picture(results.positions)),
    lesson("Queries, keys and values", ["Q", "K", "V"].map(product),
      `Each token is projected to a query, a key and a value of d_k = ${size} `
      + "numbers. A query says what a token looks for, a key what it offers, "
      + "and a value what it hands on. Section 3.2.2.",
      named("Q", vectors("queries")), named("K", vectors("keys")),
      named("V", vectors("values"))),
    lesson("Scores", [equation(sub("S", i("i")), o("="), scores())],
      "The product of a query and a key is large where they point the same "
      + "way. The root keeps the softmax from saturating. Section 3.2.1.",
      matrix(names, names, results.scores)),
    lesson("Softmax", [equation(sub("A", i("i")), o("="), i("softmax"), o("("), scores(),
      o(")"))], "Each row becomes positive and sums to 1: how much the token of "
      + "the row attends to the token of the column.",
    matrix(names, names, results.weights, 1)),
    lesson("Output", outputs(),
      "Each token receives the mean of the values, weighted by its row. The "
      + "outputs of all heads are put side by side, and projected once more.",
      vectors("output")),
  ];
}

const sinusoid = (name, ...index) => equation(sub("PE", row(i("pos"), o(","),
  math("mn", "2"), i("i"), ...index)), o("="), i(name), o("("),
fraction(i("pos"), math("msup", math("mn", "10000"), row(math("mn", "2"),
  i("i"), o("/"), sub("d", i("model"))))), o(")"));
const sinusoids = () =>
  [sinusoid("sin"), sinusoid("cos", o("+"), math("mn", "1"))];

const lesson = (name, formulas, words, ...content) => make("div",
  {class: "panel lesson"}, make("h2", {}, name),
  make("div", {class: "formulas"}, ...formulas), make("p", {}, words),
  make("div", {class: "scroll", tabindex: 0, role: "region",
    "aria-label": name}, ...content));

const named = (name, table) => make("figure", {}, make("figcaption", {}, name),
  table);

// A table of numbers, whose shades are their sizes.
function matrix(rows, columns, values, largest) {
  const shown = columns ? values : values.map((line) => line.slice(0, COLUMNS));
  const most = largest
    ?? Math.max(...shown.flat().map(Math.abs), 1e-9);
  const hidden = values[0].length - shown[0].length;
  const heads = columns ?? shown[0].map((_, place) => `${place + 1}`);
  return make("table", {class: "matrix"},
    make("thead", {}, make("tr", {}, make("td"), ...heads.map((head) =>
      make("th", {scope: "col"}, head)),
    hidden > 0 ? make("th", {scope: "col"}, `\u2026 ${values[0].length}`)
      : null)),
    make("tbody", {}, ...shown.map((line, place) => make("tr", {},
      make("th", {scope: "row"}, rows[place]), ...line.map((value) =>
        make("td", {"--share": (Math.abs(value) / most).toFixed(3),
          "--sign": value < 0 ? "var(--other)" : "var(--accent)"},
        round(value)))))));
}

function picture(values) {
  const canvas = make("canvas", {width: values[0].length,
    height: values.length});
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(canvas.width, canvas.height);
  const most = Math.max(...values.flat().map(Math.abs));
  values.flat().forEach((value, place) => {
    const colour = value < 0 ? [214, 120, 50] : [47, 98, 181];
    pixels.data.set([...colour, 255 * Math.abs(value) / most], 4 * place);
  });
  context.putImageData(pixels, 0, 0);
  return make("img", {class: "positions", src: canvas.toDataURL(),
    alt: "Vectors of the first 64 positions"});
}
