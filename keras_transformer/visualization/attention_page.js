const SCALE = 65535;
const PALETTE = ["#3f7fd9", "#e07b1a", "#2e9f4f", "#d64545", "#8f62d4",
  "#97633f", "#d957a8", "#1c9fa6"];

const range = (count) => [...Array(count).keys()];
const data = JSON.parse(find("data").textContent);
const colours = range(data.heads).map((head) => data.heads <= PALETTE.length
  ? PALETTE[head]
  : `hsl(${Math.round(360 * head / data.heads)}, 60%, ${head % 2 ? 52 : 42}%)`);

for (const kind of data.kinds) kind.values = [];  // the weights of each layer

// The weights of a layer are read when it is first shown: from the page, or, if
// it has none, from the server that it came from.
async function readLayer(kind, layer) {
  const buffer = kind.weights.length
    ? Uint8Array.from(atob(kind.weights[layer]), (c) => c.charCodeAt(0)).buffer
    : await fetchLayer(kind, layer);
  kind.values[layer] = Float32Array.from(
    new Uint16Array(buffer), (number) => number / SCALE);
}

// `kept` is the token that was clicked and `pointed` the one under the pointer.
// Each is {side: "queries" | "keys", index} or null.
const state = {
  kind: data.kinds.at(-1), layer: data.kinds.at(-1).layers - 1,
  heads: new Set(range(data.heads)), kept: null, pointed: null,
  raised: false, theme: null,  // null is the theme of the system
};
const focused = () => state.pointed || state.kept;
const chosenHeads = () => range(data.heads).filter((h) => state.heads.has(h));
const weight = (head, query, key) => {
  const {queries, keys, values} = state.kind;
  return values[state.layer][(head * queries.length + query) * keys.length + key];
};
const mean = (query, key) => chosenHeads().reduce(
  (sum, head) => sum + weight(head, query, key), 0)
  / Math.max(1, state.heads.size);
// A token that comes later is hidden from the position that predicts.
const isMasked = (query, key) => state.kind.causal && key > query;
const opacity = (value) => state.raised ? Math.sqrt(value) : value;
// The query and the key of a token and another one, which is given by its index
// on the other side.
const queryAndKey = (token, other) => token.side === "queries"
  ? [token.index, other] : [other, token.index];
const weightOf = (token, head, other) => weight(head, ...queryAndKey(token, other));
const meanOf = (token, other) => mean(...queryAndKey(token, other));
const isMaskedFor = (token, other) => isMasked(...queryAndKey(token, other));
const isSame = (token, side, index) =>
  token?.side === side && token.index === index;
// The number of tokens in the longer column.
const longest = () => Math.max(state.kind.queries.length, state.kind.keys.length);

// Text in smaller letters beside a heading.
const small = (...words) => make("small", {}, ...words);

function named(token) {
  const [dot, text, name] = splitToken(token);
  return make("span", {class: `piece ${name}`},
    make("span", {class: "mark"}, dot), text);
}

// ---- the current view, stored in the address

function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const within = (name, count) => {
    const number = parseInt(parameters.get(name), 10);
    return number >= 1 && number <= count ? number - 1 : null;
  };
  state.kind = data.kinds.find((k) => k.name === parameters.get("kind"))
    || state.kind;
  state.layer = within("layer", state.kind.layers)
    ?? Math.min(state.layer, state.kind.layers - 1);
  if (parameters.has("heads")) {
    const numbers = parameters.get("heads").split(",").map(Number);
    state.heads = new Set(range(data.heads).filter(
      (head) => numbers.includes(head + 1)));
  }
  state.raised = parameters.get("raised") === "1";
  state.kept = null;
  for (const [name, side] of [["query", "queries"], ["key", "keys"]]) {
    const index = within(name, state.kind[side].length);
    if (index !== null) state.kept = {side, index};
  }
  const theme = parameters.get("theme");
  state.theme = ["light", "dark"].includes(theme) ? theme : null;
}

function writeAddress() {
  const parts = [`kind=${state.kind.name}`, `layer=${state.layer + 1}`];
  if (state.heads.size < data.heads) {
    parts.push(`heads=${chosenHeads().map((head) => head + 1).join(",")}`);
  }
  if (state.kept) {
    const name = state.kept.side === "queries" ? "query" : "key";
    parts.push(`${name}=${state.kept.index + 1}`);
  }
  if (state.raised) parts.push("raised=1");
  if (state.theme) parts.push(`theme=${state.theme}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function change(changes) {
  if (changes.kind && changes.kind !== state.kind) {
    state.kept = state.pointed = null;
    state.layer = Math.min(state.layer, changes.kind.layers - 1);
  }
  Object.assign(state, changes);
  writeAddress();
  show();
}

// ---- controls

function makeChoices(name, labels, choose) {
  labels.forEach((label, index) => {
    const input = make("input", {type: "radio", name, value: index,
      onchange: () => choose(index)});
    find(name).append(make("label", {}, input, label));
  });
}

function setHead(head, alone) {
  const heads = new Set(alone ? [head] : state.heads);
  if (!alone && !heads.delete(head)) heads.add(head);
  change({heads});
}

function makeControls() {
  makeChoices("kinds", data.kinds.map((kind) => kind.title),
    (index) => change({kind: data.kinds[index]}));
  const most = Math.max(...data.kinds.map((kind) => kind.layers));
  makeChoices("layers", range(most).map((layer) => layer + 1),
    (layer) => change({layer}));
  for (const head of range(data.heads)) {
    find("heads").append(make("button", {type: "button", class: "head",
      "data-head": head, "aria-label": `Head ${head + 1}`,
      "--colour": colours[head], onclick: (e) => setHead(head, e.shiftKey),
      ondblclick: () => setHead(head, true)}, `${head + 1}`));
  }
  for (const [text, heads] of [["All", range(data.heads)], ["None", []]]) {
    find("heads").append(make("button", {type: "button",
      onclick: () => change({heads: new Set(heads)})}, text));
  }
  fill(find("raise"), {onclick: () => change({raised: !state.raised})});
  fill(find("controls"), {onsubmit: (e) => e.preventDefault()});
  fill(find("theme"), {onclick: () => {
    const isDark = state.theme ? state.theme === "dark" : systemIsDark.matches;
    change({theme: isDark ? "light" : "dark"});
  }});
}

function showControls() {
  document.documentElement.dataset.theme = state.theme ?? "";
  const [kinds, layers] = ["kinds", "layers"].map((name) =>
    find(name).querySelectorAll("input"));
  kinds[data.kinds.indexOf(state.kind)].checked = true;
  layers[state.layer].checked = true;
  find("layers").querySelectorAll("label").forEach((label, place) => {
    label.style.display = place < state.kind.layers ? "" : "none";
  });
  find("raise").setAttribute("aria-pressed", state.raised);
  document.querySelectorAll("[data-head]").forEach((button) => {
    const isOn = state.heads.has(Number(button.dataset.head));
    button.setAttribute("aria-pressed", isOn);
  });
}

// ---- start

function show() {
  const {kind, layer} = state;
  showControls();
  if (kind.values[layer]) showWeights();
  else readLayer(kind, layer).then(show, fail);
}

function fail(error) {
  document.body.replaceChildren(
    make("main", {}, make("p", {role: "alert"}, error.message)));
}

function showWeights() {
  showColumns();
  showMatrix();
  showOverview();
  showFocus();
}

makeControls();
makeColumns();
readAddress();
show();
addEventListener("hashchange", () => { readAddress(); show(); });
systemIsDark.addEventListener("change", show);
isNarrow.addEventListener("change", show);
addEventListener("keydown", (e) => {
  if (e.key === "Escape") change({kept: null, pointed: null});
});
