// Translates while the sentence is typed.

import {ask, copyText, cut, make, markShared, round} from "./dom.js";
import {closeMenu, makeWord} from "./menu.js";

export const title = "Translate";

const PAUSE = 150;  // milliseconds before the words are shaded
const KEPT = 500;  // answers that need not be asked for again

// Joins the translations of a text's sentences with what is around them.
export const join = (parts, translate) => parts.flatMap((part, i) =>
  i % 2 ? translate((i - 1) / 2)
    // Not all scripts have spaces between sentences.
    : part || (i && i < parts.length - 1 ? " " : ""));

const isCorrection = (hypothesis) => hypothesis.score === null;

export function open(context) {
  const {root, state} = context;
  const output = make("div", {class: "panel output", dir: "auto",
    "aria-live": "polite", "aria-label": "Translation"});
  const legend = make("span", {class: "legend"}, make("small", {}, "sure"),
    make("i"), make("small", {}, "unsure"));
  const hint = make("small", {class: "live"}, "Click a word to see others.");
  const makeButton = (text, onclick) => make("button",
    {type: "button", class: "live", hidden: true, onclick}, text);
  const free = makeButton("Translate freely again", () => restart());
  const copies = makeButton("Copy", () => copy());
  const corrects = makeButton("Correct", () => edit());
  const explains = makeButton("Why?", () =>
    take({why: state.options.why ? null : 1}));
  const correction = make("textarea", {class: "correction", hidden: true,
    rows: 2, dir: "auto", "aria-label": "Correct translation, kept by Enter",
    onkeydown: (event) => {
      // These keys also end the spelling of a Chinese or Japanese word.
      if (event.isComposing) return;
      if (event.key === "Escape") correction.hidden = true;
      if (event.key !== "Enter") return;
      event.preventDefault();  // a sentence has no line break
      correct();
    }});
  const score = make("small", {
    title: "log-probability divided by the length penalty"});
  const others = make("ul", {class: "others",
    "aria-label": "Other translations"});
  const origins = make("ul", {class: "origins",
    "aria-label": "Pairs that the words may come from"});
  root.append(output, make("div", {class: "below"}, legend, hint, score, copies,
    corrects, explains, free), correction, origins, others);
  const answers = new Map();
  let sentences = [];  // each has its text, prefix, hypotheses and words
  let turn = 0;
  let isChoice = false;  // the focus then goes to the word that was chosen

  // The answers are kept, since a text changes in few of its sentences.
  async function find(name, values) {
    const key = JSON.stringify([name, values, state.run, state.step]);
    const answer = answers.get(key) ?? await context.ask(name, values);
    if (answer) answers.set(key, answer);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
    return answer;
  }

  async function update() {
    turn += 1;
    const mine = turn;
    closeMenu();
    output.classList.add("waiting");
    correction.hidden = true;
    origins.replaceChildren();
    const texts = context.sentences;
    sentences = texts.map((text, i) => ({text, hypotheses: [], words: null,
      prefix: state.options[`fixed${i + 1}`] ?? ""}));
    for (const one of sentences) {
      const {text, prefix} = one;
      const results = await find("translate", {text, prefix});
      if (!results || mine !== turn) return;
      one.hypotheses = results.hypotheses;
      show();
    }
    output.classList.remove("waiting");
    show();
    if (state.options.why) await explain();
    if (mine !== turn) return;
    // The next translation does not wait for shades that nobody would see.
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    for (const [i, one] of sentences.entries()) {
      if (mine !== turn) return;
      const translation = chosen(i)?.text;
      if (translation) {
        const values = {text: one.text, translation};
        const rated = await find("words", values);
        if (!rated || mine !== turn) return;
        one.words = shaded(i, rated.text ?? translation, rated.words);
        show();
      }
    }
    if (isChoice && [document.body, null].includes(document.activeElement)) {
      [...output.querySelectorAll(`[data-sentence="${context.number}"].fixed`)]
        .at(-1)?.focus();
    }
    isChoice = false;
  }

  const rank = (i) => context.option(`rank${i + 1}`, 1,
    sentences[i].hypotheses.length) - 1;
  const chosen = (i) => sentences[i]?.hypotheses[rank(i)];

  function show() {
    const {number} = context;
    const texts = sentences.map((_, i) => chosen(i)?.text ?? "");
    output.replaceChildren(...join(state.parts, (i) =>
      sentences[i]?.words ?? [texts[i] ?? ""]));
    const isEmpty = !texts.some(Boolean);
    hint.hidden = legend.hidden = copies.hidden = explains.hidden = isEmpty;
    corrects.hidden = isEmpty || !state.runs[state.run].has_memory;
    free.hidden = !sentences.some((one) => one.prefix);
    const best = chosen(number);
    const which = sentences.length > 1 ? `sentence ${number + 1}: ` : "";
    score.textContent = !best ? "" : isCorrection(best)
      ? `${which}a correction` : `${which}score ${round(best.score)}`;
    others.replaceChildren(...(sentences[number]?.hypotheses ?? []).map(
      (one, i) => one !== best && make("li", {}, make("button", {
        type: "button", onclick: () => take({[`rank${number + 1}`]: i + 1})},
      make("span", {dir: "auto"}, one.text),
      isCorrection(one) ? make("small", {}, "a correction")
        : make("small", {title: score.title}, round(one.score)))))
      .filter(Boolean));
  }

  // Shows pairs that have the words of the sentence, and marks these.
  async function explain() {
    const {text} = sentences[context.number] ?? {};
    const translation = chosen(context.number)?.text;
    if (!translation) return;
    const mine = turn;
    const results = await context.work(
      ask("origins", {run: state.run, text, translation}));
    if (!results || mine !== turn) return;
    origins.replaceChildren(...results.pairs.map((pair) => make("li", {},
      make("p", {dir: "auto"}, ...markShared(pair.source, text)),
      make("p", {dir: "auto"}, ...markShared(pair.target, translation)),
      pair.is_correction ? make("small", {}, "a correction") : null)));
    if (!results.pairs.length) context.say("No pair has any of these words.");
  }

  const take = (options) => context.change(options, true);

  const restart = () => take(Object.fromEntries(sentences.flatMap((_, i) =>
    [[`fixed${i + 1}`, null], [`rank${i + 1}`, null]])));

  async function copy() {
    const text = join(state.parts, (i) => [chosen(i)?.text ?? ""]).join("");
    context.say(await copyText(text, output));
  }

  function edit() {
    correction.hidden = !correction.hidden;
    correction.value = chosen(context.number)?.text ?? "";
    correction.focus();
    if (!correction.hidden) context.say("Enter keeps the correction.");
  }

  async function correct() {
    const {number} = context;
    const values = {run: state.run, text: sentences[number].text,
      translation: correction.value};
    if (!await context.work(ask("correct", values))) return;
    answers.clear();
    take({[`rank${number + 1}`]: null, [`fixed${number + 1}`]: null});
  }

  // Each word is a button between the texts around it.
  function shaded(sentence, text, words) {
    const parts = [];
    let place = 0;
    const numFixed = [...sentences[sentence].prefix].length;
    for (const {start, stop, log_prob: logProb} of words) {
      const word = makeWord(cut(text, start, stop), logProb,
        () => offer(sentence, cut(text, 0, start)),
        {class: start < numFixed ? "word fixed" : "word",
          "data-sentence": sentence});
      parts.push(cut(text, place, start), word);
      place = stop;
    }
    return [...parts, cut(text, place)];
  }

  async function offer(sentence, prefix) {
    context.set({sentence: sentences.length > 1 ? sentence + 1 : null});
    show();
    const {text} = sentences[sentence];
    const results = await context.ask("alternatives", {text, prefix});
    return results?.alternatives.map((one) => ({...one, choose() {
      isChoice = true;
      take({[`rank${sentence + 1}`]: null, [`fixed${sentence + 1}`]:
        cut(one.text, 0, one.start + [...one.word].length)});
    }}));
  }

  return {update};
}
