// Texts, controls, and requests to the server.

import {fill, make, splitToken} from "./elements.js";

export * from "./elements.js";

const MATH = "http://www.w3.org/1998/Math/MathML";

export const math = (name, ...children) =>
  fill(document.createElementNS(MATH, name), {}, children);

export const round = (number, digits = 2) =>
  number.toFixed(digits).replace("-", "\u2212");

// Calls a function of the server. A later request of the same name aborts an
// earlier one, which then ends with an AbortError.
const asked = new Map();

export async function ask(name, values = {}) {
  asked.get(name)?.abort();
  const controller = new AbortController();
  asked.set(name, controller);
  let response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST", headers: {"Content-Type": "application/json"},
      body: JSON.stringify(values), signal: controller.signal});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("No answer. Is kt-studio still running?");
  }
  const results = await response.json();
  if (!response.ok) throw new Error(results.error);
  return results;
}

// Aborts all requests, and the server then ends their work.
export function stopAll() {
  asked.forEach((controller) => controller.abort());
}

export const readable = (token) => splitToken(token).slice(0, 2).join("");

// Marks the words of two texts that are not in their longest common
// subsequence; returns the children of two elements.
export function markDifferences(first, second) {
  const [a, b] = [first, second].map((text) => text.split(/(\s+)/));
  const size = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * size);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * size + j] = a[i] === b[j]
        ? lengths[(i + 1) * size + j + 1] + 1
        : Math.max(lengths[(i + 1) * size + j], lengths[i * size + j + 1]);
    }
  }
  const mark = (name, word) => word.trim() ? make(name, {}, word) : word;
  const marked = [[], []];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      marked[0].push(a[i++]);
      marked[1].push(b[j++]);
    } else if (j >= b.length || (i < a.length
        && lengths[(i + 1) * size + j] >= lengths[i * size + j + 1])) {
      marked[0].push(mark("del", a[i++]));
    } else marked[1].push(mark("ins", b[j++]));
  }
  return marked;
}

// Marks the words of a text that another text has, too.
export function markShared(text, other) {
  const segmenter = new Intl.Segmenter([], {granularity: "word"});
  const divide = (whole) => [...segmenter.segment(whole)];
  const lower = ({segment}) => segment.toLowerCase();
  const known = new Set(divide(other).map(lower));
  return divide(text).map((part) => part.isWordLike && known.has(lower(part))
    ? make("mark", {}, part.segment) : part.segment);
}

// A part of a text by places of the server, which counts an emoji as one
// character, while JavaScript counts two.
export const cut = (text, start, stop) =>
  [...text].slice(start, stop).join("");

// A page inside the page, as high as its content.
export function showFrame(name, title, loaded = () => null) {
  const frame = make("iframe", {src: `frame/${name}`, title, onload: () => {
    const {body} = frame.contentDocument;
    new ResizeObserver(() => {
      frame.style.height = `${body.offsetTop + body.offsetHeight + 2}px`;
    }).observe(body);
    loaded(frame);
  }});
  return frame;
}

export const note = (text) => make("p", {class: "faint"}, text);

// A list of names, each with what it stands for: the children of an element.
export const listTerms = (terms) => make("dl", {},
  ...Object.entries(terms).flatMap(([name, children]) =>
    [make("dt", {}, name), make("dd", {dir: "auto"}, ...children)]));

export function slider(label, values, change) {
  const shown = make("output", {}, `${values.value}`);
  const input = make("input", {type: "range", ...values, oninput: () => {
    shown.textContent = input.value;
    change(Number(input.value));
  }});
  return make("label", {}, label, input, shown);
}

export function choice(label, options, value, change) {
  const select = make("select", {onchange: () => change(select.value)},
    ...options.map(([key, text]) =>
      make("option", {value: key, selected: String(key) === String(value)},
        text)));
  return make("label", {}, label, select);
}
