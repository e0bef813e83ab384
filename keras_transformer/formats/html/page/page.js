// The page: its texts, and its requests to the worker. The writer puts
// elements.js and menu.js before it.

const NUM_OTHERS = 8;  // words that are offered instead of one
const PAUSE = 200;  // milliseconds after the last key
const MAX_TOKENS = 200;  // of a sentence; a longer one is divided
const ABBREVIATION = /(?:^|\s)(?:\p{L}|Mrs?|Ms|Dr|Prof|St|Sra?|vs)\.\s*$/u;
const UNSPACED = /[\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]/u;

const [text, output, status, beam] = ["text", "output", "status", "beam"].map(
  find);

// The worker keeps the page alive while it computes.
const worker = new Worker(URL.createObjectURL(
  new Blob([find("worker").textContent], {type: "text/javascript"})));
const ask = (name, ...values) => new Promise((resolve, reject) => {
  const {port1, port2} = new MessageChannel();
  port1.onmessage = ({data: {result, error}}) => {
    port1.close();
    if (error) reject(new Error(error));
    else resolve(result);
  };
  worker.postMessage({name, values}, [port2]);
});

// Divides a text into sentences and what is between them, which stays.
function divide(whole) {
  const parts = [];
  const segmenter = new Intl.Segmenter(text.lang || "en",
    {granularity: "sentence"});
  for (const line of whole.split(/(\n+)/u)) {
    let begun = "";
    for (const {segment} of segmenter.segment(line)) {
      begun += segment;
      if (ABBREVIATION.test(segment)) continue;
      parts.push(begun);
      begun = "";
    }
    if (begun) parts.push(begun);
  }
  return parts.map((part) => {
    const [, before, sentence, after] = part.match(/^(\s*)([^]*?)(\s*)$/u);
    return {before, sentence, after};
  });
}

// Halves a sentence that is too long, at a comma or a space near its middle.
async function halve({before, sentence, after}) {
  const middle = sentence.length / 2;
  const isLong = sentence.length > MAX_TOKENS
    && await ask("count", sentence) > MAX_TOKENS;
  if (!isLong) return [{before, sentence, after}];
  const places = (pattern) => [...sentence.matchAll(pattern)].map(
    (match) => match.index + match[0].length);
  const near = places(/[,;:\u2013]\s/gu).filter(
    (place) => Math.abs(place - middle) < middle / 2);
  const all = [near, places(/\s/gu), places(/[^]/gu)].find(
    (list) => list.length);
  const [place] = all.sort((a, b) =>
    Math.abs(a - middle) - Math.abs(b - middle));
  const [first, second] = [sentence.slice(0, place), sentence.slice(place)];
  const space = first.match(/\s*$/u)[0];
  return [
    ...await halve({before, sentence: first.trimEnd(), after: space}),
    ...await halve({before: "", sentence: second.trimStart(), after})];
}

const known = new Map();  // translations by search and sentence
const chosen = new Map();  // those that the user prefers, by sentence
let turn = 0;

async function update() {
  turn += 1;
  const mine = turn;
  await opened;  // one may type before
  const begun = performance.now();
  const parts = [];
  for (const part of divide(text.value)) parts.push(...await halve(part));
  for (const [number, part] of parts.entries()) {
    if (mine !== turn) return;
    const {before, sentence, after} = part;
    let result = null;
    if (/\p{L}/u.test(sentence)) {
      const key = `${beam.value} ${sentence}`;
      if (parts.length > 1) {
        status.textContent = `Sentence ${number + 1} of ${parts.length}`;
      }
      if (!known.has(key)) {
        known.set(key, await ask("translate", sentence, Number(beam.value)));
      }
      result = chosen.get(sentence) ?? known.get(key);
    }
    if (mine !== turn) return;
    // Scripts without spaces have none between sentences either.
    const next = sentence && parts[number + 1];
    const space = after || (next && !next.before ? " " : "");
    if (!number) output.replaceChildren();
    output.append(before, ...(result ? makeWords(sentence, result)
      : [sentence]), space);
  }
  if (!parts.length) output.replaceChildren();
  output.classList.remove("waiting");
  find("copy").disabled = !text.value.trim();
  find("again").hidden = !chosen.size;
  status.textContent = parts.some(({sentence}) => sentence)
    ? `Translated in ${Math.round(performance.now() - begun)} ms. `
      + "Choose a word to see others."
    : "Ready. Nothing that you type leaves this page.";
}

// Each word is a button, with the spaces before it as text.
function makeWords(sentence, {ids, pieces, end}) {
  const words = [];
  pieces.forEach(({text: piece, logProb}, place) => {
    const last = words.at(-1);
    if (last && !/^\s/u.test(piece) && !UNSPACED.test(piece)) {
      last.text += piece;
      last.logProb += logProb;
    } else words.push({text: piece, logProb, place});
  });
  const elements = words.flatMap(({text: word, logProb, place}) => [
    word.match(/^\s*/u)[0], makeWord(word.trimStart(), logProb,
      () => findOthers(sentence, ids.slice(0, place)))]);
  return [...elements, end];
}

async function findOthers(sentence, prefix) {
  const words = new Map();
  const others = await ask("findOthers", sentence, prefix, 2 * NUM_OTHERS);
  for (const one of others) {
    const rest = one.pieces.slice(prefix.length).map((piece) => piece.text);
    const next = rest.findIndex((piece, i) => i && /^\s/u.test(piece));
    const word = rest.slice(0, next < 0 ? rest.length : next).join("").trim();
    const probability = Math.exp(one.pieces[prefix.length]?.logProb);
    const choose = () => {
      chosen.set(sentence, one);
      update();
    };
    if (word && !words.has(word)) {
      words.set(word, {word, probability, text: one.text, choose});
    }
  }
  return [...words.values()].slice(0, NUM_OTHERS);
}

let timer = 0;
function updateSoon() {
  output.classList.add("waiting");
  if (known.size) status.textContent = "";
  clearTimeout(timer);
  timer = setTimeout(() => run(update), PAUSE);
}

async function run(task) {
  try {
    await task();
  } catch (error) {
    status.textContent = `Failed: ${error.message}`;
  }
}

text.addEventListener("input", updateSoon);
beam.addEventListener("change", () => run(update));
find("again").addEventListener("click", () => {
  chosen.clear();
  run(update);
});
find("copy").addEventListener("click", async () => {
  closeMenu();
  status.textContent = await copyText(output.textContent, output);
});

const opened = ask("open", find("model").textContent);
find("model").remove();  // its text would stay in memory
run(update);
