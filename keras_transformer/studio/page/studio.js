// The frame of the page: views, the model, the sentence, and saving.

import {ask, choice, find, make} from "./dom.js";
import * as attention from "./attention.js";
import * as compare from "./compare.js";
import * as explain from "./explain.js";
import * as search from "./search.js";
import * as training from "./training.js";
import * as translate from "./translate.js";
import * as trees from "./trees.js";

const PAUSE = 60;  // milliseconds without a key before the model is asked
const VIEWS = {translate, trees, attention, search, compare, training, explain};

const state = {runs: [], run: 0, step: 0, text: "", view: null, name: ""};
const context = {
  state,
  get root() { return find("view"); },
  // The fields of every request about a sentence.
  get sentence() {
    return {text: state.text, run: state.run, step: state.step};
  },
  // Calls a function with the sentence, as the work of a view.
  ask: (name, values) =>
    context.work(ask(name, {...context.sentence, ...values})),
  // Runs a view's work, and shows that it is running or what went wrong.
  async work(promise, words = "") {
    const name = state.name;
    const timer = setTimeout(() => say(words || waiting()), 400);
    try {
      const results = await promise;
      if (name === state.name) say("");
      return name === state.name ? results : null;
    } catch (error) {
      if (error.name !== "AbortError") say(error.message, true);
      return null;
    } finally {
      clearTimeout(timer);
    }
  },
};

const waiting = () => state.runs[state.run]?.is_open
  ? "Computing\u2026" : "The model is being loaded\u2026";

function say(words, isWrong = false) {
  find("status").textContent = words;
  find("status").classList.toggle("wrong", isWrong);
}

// A parsing run has trees instead of translations.
const isShown = (name) => {
  const parses = state.runs[state.run]?.parses;
  return name === "trees" ? parses
    : ["translate", "compare"].includes(name) ? !parses : true;
};

function showView() {
  const wanted = location.hash.slice(1);
  const names = Object.keys(VIEWS).filter(isShown);
  state.view?.close?.();
  state.name = names.includes(wanted) ? wanted : names[0];
  const view = VIEWS[state.name];
  document.body.className = state.name;
  document.title = `${view.title} \u2013 kt-studio`;
  find("source").hidden = Boolean(view.needsNoText);
  find("views").replaceChildren(...names.map((name) => make("a", {
    href: `#${name}`, "aria-current": name === state.name && "page"},
  VIEWS[name].title)));
  // On a phone only some of the names are visible.
  document.querySelector("[aria-current]").scrollIntoView(
    {inline: "center", block: "nearest"});
  find("view").setAttribute("aria-label", view.title);
  find("view").replaceChildren();
  say("");
  state.view = view.open(context);
  state.view.update();
}

function showModel() {
  const {steps, step} = state.runs[state.run];
  const pick = (changes) => {
    Object.assign(state, changes);
    showModel();
    showView();
  };
  const runs = choice("", state.runs.map((run, i) => [i, run.name]), state.run,
    (value) => pick({run: Number(value), step: 0}));
  const checkpoints = choice("", steps.map((one) => [one, `step ${one}`]),
    state.step || step, (value) => pick({step: Number(value)}));
  runs.lastChild.setAttribute("aria-label", "Run");
  checkpoints.lastChild.setAttribute("aria-label", "Checkpoint");
  find("model").replaceChildren(...[state.runs.length > 1 && runs,
    steps.length > 1 && checkpoints].filter(Boolean));
}

// Polls the server until the first model is loaded.
async function readRuns() {
  const {runs} = await ask("runs");
  const isFirst = !state.runs.length;
  state.runs = runs;
  if (isFirst) showModel();
  if (!runs[0].is_open) setTimeout(readRuns, 1000);
}

// ---- saving a view as one file

async function save() {
  const css = await (await fetch("page/studio.css")).text();
  const page = await state.view.save?.() ?? snapshot(css);
  if (!page) return;
  const link = make("a", {download: `${state.name}.html`,
    href: URL.createObjectURL(new Blob([page], {type: "text/html"}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The view as it looks now, without the parts that need the server.
function snapshot(css) {
  const view = find("view").cloneNode(true);
  const written = [...find("view").querySelectorAll("textarea, select")];
  view.querySelectorAll("textarea, select").forEach((control, i) => {
    const text = written[i].selectedOptions?.[0].text ?? written[i].value;
    control.replaceWith(make("span", {}, text));
  });
  view.querySelectorAll("input, iframe").forEach((control) =>
    control.remove());
  view.querySelectorAll("button").forEach((button) => {
    const span = make("span", {class: button.className}, ...button.childNodes);
    span.style.cssText = button.style.cssText;
    button.replaceWith(span);
  });
  const sentence = VIEWS[state.name].needsNoText ? "" : state.text;
  const page = make("html", {lang: "en"}, make("head", {},
    make("meta", {charset: "utf-8"}),
    make("meta", {name: "viewport",
      content: "width=device-width, initial-scale=1"}),
    make("meta", {"http-equiv": "Content-Security-Policy", content:
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}),
    make("title", {}, document.title), make("style", {}, css)),
  make("body", {class: state.name}, make("main", {},
    make("p", {class: "translation", dir: "auto"}, sentence), view)));
  return `<!DOCTYPE html>\n${page.outerHTML}`;
}

// ---- start

let timer;
find("text").addEventListener("input", () => {
  clearTimeout(timer);
  state.text = find("text").value;
  timer = setTimeout(() => state.view.update(), PAUSE);
});
find("save").addEventListener("click", () =>
  save().catch((error) => say(error.message, true)));
addEventListener("hashchange", showView);
// The sentence that was typed before a reload.
state.text = find("text").value;
readRuns().then(showView, (error) => say(error.message, true));
find("text").focus();
