// The frame of the page: views, the model, the sentence, and saving.

import {ask, choice, find, make, shorten, stopAll} from "./dom.js";
import * as attention from "./attention.js";
import * as compare from "./compare.js";
import * as explain from "./explain.js";
import * as search from "./search.js";
import * as training from "./training.js";
import * as translate from "./translate.js";
import * as trees from "./trees.js";

const PAUSE = 60;  // milliseconds without a key before the model is asked
const POLL = 3000;  // between two looks for new checkpoints
const REMEMBER = 400;  // before the address follows the keys
const VIEWS = {translate, trees, attention, search, compare, training, explain};

const state = {runs: [], run: 0, step: 0, text: "", name: "", parts: [""],
  options: {}};
let view = null;
let work = Promise.resolve();  // of the view, which a saved view waits for

const context = {
  state,
  get root() { return find("view"); },
  get sentences() { return state.parts.filter((_, i) => i % 2); },
  // Which of the sentences is shown where only one has room, from 0.
  get number() {
    const chosen = Number(state.options.sentence ?? 1) - 1;
    return Math.max(0, Math.min(chosen, context.sentences.length - 1)) || 0;
  },
  // The fields of every request about a sentence.
  get sentence() {
    return {text: context.sentences[context.number] ?? "", ...context.model};
  },
  get model() { return {run: state.run, step: state.step}; },
  // A number in the address, from 1 to a maximum.
  option(name, usual, max = Infinity, min = 1) {
    const value = parseFloat(state.options[name]);
    return value >= min && value <= max ? value : usual;
  },
  // Keeps options of the view in the address; those without a value go.
  set(options, isStep = false) {
    for (const [name, value] of Object.entries(options)) {
      if (value == null || value === "") delete state.options[name];
      else state.options[name] = `${value}`;
    }
    writeAddress(isStep);
  },
  // Calls a function with the sentence, as the work of a view.
  ask: (name, values) =>
    context.work(ask(name, {...context.sentence, ...values})),
  // Runs a view's work, and shows that it is running or what went wrong. What
  // the view shows is pale while it does not belong to the sentence.
  async work(promise) {
    const {name} = state;
    const isHere = () => name === state.name;
    const done = showProgress();
    try {
      const results = await promise;
      if (isHere()) {
        say("");
        context.root.classList.remove("stale");
      }
      return isHere() ? results : null;
    } catch (error) {
      if (error.name !== "AbortError" && isHere()) {
        context.root.classList.add("stale");
        say(error.message, true);
      }
      return null;
    } finally {
      done();
    }
  },
  say,
  change(options, isStep) {
    context.set(options, isStep);
    return context.refresh();
  },
  // Begins the work of the view anew, for example with other options.
  refresh() {
    work = Promise.allSettled([work, view.update()]);
    return work;
  },
};

const waiting = () => state.runs[state.run]?.is_open
  ? "Computing\u2026" : "The model is being loaded\u2026";

function say(words, isWrong = false) {
  find("status").textContent = words;
  find("status").classList.toggle("wrong", isWrong);
}

// Shows what is waited for, how far it is, and a button that stops it.
function showProgress() {
  const start = Date.now();
  const show = async () => {
    const seconds = Math.round((Date.now() - start) / 1000);
    const {done, total} = seconds
      ? await ask("progress").catch(() => ({})) : {};
    if (timer) {
      say([waiting(), seconds ? `${seconds} s` : "",
        done ? `step ${done} of at most ${total}` : ""]
        .filter(Boolean).join(" "));
      find("stop").hidden = false;
      timer = setTimeout(show, 1000);
    }
  };
  let timer = setTimeout(show, 400);
  return () => {
    clearTimeout(timer);
    timer = null;
    find("stop").hidden = true;
  };
}

// ---- the address, which holds all that the page shows

function addressOf(name) {
  const {run, step, text, options} = state;
  const values = {text, run: run || "", step: step || "", ...options};
  const kept = Object.entries(values)
    .filter(([key, value]) => key === "text" || value !== "");
  return `#${name}?${new URLSearchParams(kept)}`;
}

let remembering = null;
let pending = null;  // the address that the page gets after a while

function remember() {
  clearTimeout(remembering);
  if (pending) history.replaceState(null, "", pending);
  pending = null;
}

// A step is one that the browser's back button undoes. Browsers refuse more
// than a few changes of the address in a second.
function writeAddress(isStep = false) {
  if (!state.runs.length) return;
  if (isStep) {
    remember();
    history.pushState(null, "", addressOf(state.name));
  } else {
    clearTimeout(remembering);
    pending = addressOf(state.name);
    remembering = setTimeout(remember, REMEMBER);
  }
  showViews();
}

function readAddress() {
  clearTimeout(remembering);
  pending = null;
  const [name, values = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const {text, run, step, ...options} =
    Object.fromEntries(new URLSearchParams(values));
  const within = Number(run) in state.runs ? Number(run) : 0;
  const steps = state.runs[within].steps;
  Object.assign(state, {run: within, options, parts: [""], text: text ?? state.text,
    step: steps.includes(Number(step)) ? Number(step) : 0});
  find("text").value = state.text;
  return name;
}

// ---- views, the model and the sentences

// A parsing run has trees instead of translations.
const isShown = (name) => {
  const {parses} = state.runs[state.run];
  return name === "trees" ? parses
    : ["translate", "compare"].includes(name) ? !parses : true;
};

// A link may be under the pointer or have the focus, so it stays as it is.
const links = Object.entries(VIEWS).map(([name, {title}]) =>
  make("a", {"data-name": name}, title));

function showViews() {
  const shown = links.filter((link) => isShown(link.dataset.name));
  const isSame = shown.every((link, i) => link === find("views").children[i]);
  if (!isSame) find("views").replaceChildren(...shown);
  for (const link of shown) {
    link.href = addressOf(link.dataset.name);
    link.ariaCurrent = link.dataset.name === state.name ? "page" : null;
  }
}

async function showView(wanted) {
  const names = Object.keys(VIEWS).filter(isShown);
  view?.close?.();
  state.begun = state.text;
  // Before the first checkpoint there are curves alone.
  const usual = state.runs[state.run].steps.length ? names[0] : "training";
  state.name = names.includes(wanted) ? wanted : usual;
  const {title, needsNoText} = VIEWS[state.name];
  document.body.className = state.name;
  document.title = `${title} \u2013 kt-studio`;
  find("sentence").hidden = Boolean(needsNoText);
  find("view").setAttribute("aria-label", title);
  find("view").replaceChildren();
  find("view").classList.remove("stale");
  say("");
  showViews();
  showModel();
  view = VIEWS[state.name].open(context);
  await divide();
  return context.refresh();
}

// Divides the text into sentences, of which some views show one.
async function divide() {
  const {text, run} = state;
  const parts = text.trim()
    ? (await context.work(ask("sentences", {text, run})))?.parts : [""];
  if (!parts) return;
  // What was chosen for a sentence goes with it.
  state.parts.forEach((part, i) => {
    if (i % 2 && part !== parts[i]) {
      const number = (i + 1) / 2;
      context.set({[`fixed${number}`]: null, [`rank${number}`]: null});
    }
  });
  state.parts = parts;
  const isOne = VIEWS[state.name].showsOneSentence;
  const {sentences, number} = context;
  find("parts").replaceChildren(...(isOne && sentences.length > 1 ? sentences
    : []).map((sentence, i) => make("button", {type: "button", dir: "auto",
    "aria-pressed": `${i === number}`, onclick: () => {
      context.change({sentence: i + 1}, true);
      divide();
    }}, `${i + 1} ${shorten(sentence, 28)}`)));
  find("examples").hidden = Boolean(text.trim())
    && !state.examples.includes(text);
}

async function showExamples() {
  const {sentences} = await ask("examples", {run: state.run});
  state.examples = sentences;
  find("examples").replaceChildren(...sentences.map((text) =>
    make("button", {type: "button", dir: "auto", onclick: () => {
      find("text").value = state.text = text;
      state.begun = null;
      context.set({sentence: null, fixed1: null, rank1: null}, true);
      type();
    }}, text)));
  return sentences[0] ?? "";
}

let shownRuns = "";

function showModel() {
  const {steps, step, languages, path} = state.runs[state.run];
  const pick = async (changes) => {
    const label = document.activeElement.getAttribute("aria-label");
    Object.assign(state, changes);
    writeAddress(true);
    await showExamples();
    await showView(state.name);
    find("model").querySelector(`[aria-label="${label}"]`)?.focus();
  };
  shownRuns = JSON.stringify(state.runs);
  const runs = choice("", state.runs.map((run, i) => [i, run.name]), state.run,
    (value) => pick({run: Number(value), step: 0}));
  const checkpoints = choice("", steps.map((one) => [one, `step ${one}`]),
    state.step || step, (value) => pick({step: Number(value)}));
  runs.lastChild.setAttribute("aria-label", "Run");
  checkpoints.lastChild.setAttribute("aria-label", "Checkpoint");
  find("model").replaceChildren(
    state.runs.length > 1 ? runs
      : make("span", {title: path}, state.runs[0].name),
    steps.length > 1 ? checkpoints
      : make("small", {}, steps.length ? `step ${steps[0]}`
        : "no checkpoint yet"),
    make("small", {}, languages.join(" \u2192 ")));
}

// Polls the server for loaded models and new checkpoints.
async function readRuns() {
  try {
    const {runs} = await ask("runs");
    state.runs = runs;
    // A menu that is open stays as it is.
    const isFree = !find("model").contains(document.activeElement);
    if (JSON.stringify(runs) !== shownRuns && state.name && isFree) showModel();
  } finally {
    const isReady = state.runs[0]?.is_open || !state.runs[0]?.steps.length;
    setTimeout(() => readRuns().catch(() => null), isReady ? POLL : 1000);
  }
}

// ---- saving a view as one file

async function save() {
  await started;
  await type();
  let seen;
  while (seen !== work) {  // views begin further work
    seen = work;
    await seen;
  }
  const page = await view.save?.() ?? await snapshot();
  if (!page) return;
  const link = make("a", {download: `${state.name}.html`,
    href: URL.createObjectURL(new Blob([page], {type: "text/html"}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The view as it looks now, without what needs the server or the page.
async function snapshot() {
  const links = document.querySelectorAll("link[rel=stylesheet]");
  const styles = [...links].map((link) => fetch(link.href).then((r) => r.text()));
  const view = find("view").cloneNode(true);
  const written = [...find("view").querySelectorAll("textarea, select")];
  view.querySelectorAll("textarea, select").forEach((control, i) => {
    const text = written[i].selectedOptions?.[0].text ?? written[i].value;
    control.replaceWith(make("span", {}, text));
  });
  view.querySelectorAll("input, iframe, .live").forEach((control) =>
    control.remove());
  view.querySelectorAll("button, [role=button]").forEach((button) => {
    if (button.namespaceURI.endsWith("svg")) return;
    const span = make("span", {class: button.className}, ...button.childNodes);
    span.style.cssText = button.style.cssText;
    button.replaceWith(span);
  });
  const css = (await Promise.all(styles)).join("");
  const {needsNoText, showsOneSentence} = VIEWS[state.name];
  const sentence = needsNoText ? ""
    : showsOneSentence ? context.sentence.text : state.text;
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

let typing = null;

// Begins the work on the text in the box, unless it has begun.
async function type() {
  clearTimeout(typing);
  typing = null;
  if (!view || state.text === state.begun) return;
  state.begun = state.text;
  await divide();
  await context.refresh();
}

find("text").addEventListener("input", () => {
  clearTimeout(typing);
  state.text = find("text").value;
  writeAddress();
  typing = setTimeout(type, PAUSE);
});
find("save").addEventListener("click", () =>
  save().catch((error) => say(error.message, true)));
find("stop").addEventListener("click", () => {
  stopAll();
  say("Stopped.");
});
find("views").addEventListener("click", remember);
addEventListener("pagehide", remember);
addEventListener("popstate", () => {
  const name = readAddress();
  showView(name);
});

async function start() {
  await readRuns();
  const name = readAddress();
  const example = await showExamples();
  if (!new URLSearchParams(location.hash.split("?")[1]).has("text")
      && !state.text) {
    find("text").value = state.text = example;
    find("text").select();
  }
  await showView(name);
}

find("text").focus();
const started = start().catch((error) => say(error.message, true));
