// ---- two columns of tokens with lines between them

const rowHeight = () => longest() > 40 ? 17 : 22;

// Pixels between the two columns, as in the style sheet.
const isNarrow = matchMedia("(max-width: 600px)");
const gap = () => isNarrow.matches ? 72 : 200;

// Smaller weights are drawn as lines only for a single token: thousands of faint
// lines would be slow and hide the others.
const least = () => rowHeight() > 20 ? 0.01 : 0.03;
const LEAST_OF_ONE = 0.002;

function point(token) {
  state.pointed = token;
  showFocus();
}

function tokenOf(event) {
  const element = event.target.closest(".token");
  return element && {side: element.dataset.side,
    index: Number(element.dataset.index)};
}

function makeColumns() {
  for (const side of ["queries", "keys"]) {
    fill(find(side), {
      onpointerover: (e) => point(tokenOf(e)), onpointerleave: () => point(null),
      onfocusin: (e) => point(tokenOf(e)), onfocusout: () => point(null),
      onclick: (e) => keep(tokenOf(e)), onkeydown: move});
  }
}

function keep(token) {
  if (!token) return;
  state.kept = isSame(state.kept, token.side, token.index) ? null : token;
  writeAddress();
  showFocus();
}

function move(event) {
  const token = tokenOf(event);
  const steps = {ArrowUp: -1, ArrowDown: 1, Home: -1e6, End: 1e6};
  if (["Enter", " "].includes(event.key)) keep(token);
  else if (["ArrowLeft", "ArrowRight"].includes(event.key)) {
    token.side = event.key === "ArrowLeft" ? "queries" : "keys";
  } else if (event.key in steps) token.index += steps[event.key];
  else return;
  event.preventDefault();
  const column = find(token.side).children;
  const last = column.length - 1;
  column[Math.min(last, Math.max(0, token.index))].focus();
}

function showColumns() {
  const kind = state.kind;
  fill(find("columns"), {"--row": `${rowHeight()}px`,
    "--size": `${rowHeight() > 20 ? 13.5 : 12}px`,
    "--strip": `${data.heads > 8 ? 4 : 6}px`,
    "--strips": `${data.heads * (data.heads > 8 ? 5 : 7)}px`});
  const heads = chosenHeads();
  find("details-view").style.flexBasis = `${170 + 37 * data.heads}px`;
  find("lines-title").replaceChildren(...heading(kind));
  find("least").textContent = least();
  find("query-title").textContent = `query: ${kind.query}`;
  find("key-title").textContent = `key: ${kind.key}`;
  for (const side of ["queries", "keys"]) {
    find(side).replaceChildren(...kind[side].map((token, index) => make(
      "div", {class: "token", role: "option", title: token, "data-side": side,
        "data-index": index, tabindex: index ? -1 : 0},
      make("span", {class: "name"}, named(token)),
      make("span", {class: "strip"}), make("span", {class: "number"}))));
  }
  const height = rowHeight() * longest();
  const all = draw("g", {id: "all-lines"});
  for (const head of heads) all.append(headLines(head, heads, null));
  find("lines").replaceChildren(all, draw("g", {id: "token-lines"}));
  fill(find("lines"),
    {width: gap(), height, viewBox: `0 0 ${gap()} ${height}`});
}

function heading(kind) {
  const count = state.heads.size;
  const heads = count === data.heads ? "all heads" : count === 1
    ? `head ${chosenHeads()[0] + 1}` : `${count} of ${data.heads} heads`;
  return [`${kind.long} `,
    small(`layer ${state.layer + 1} of ${kind.layers}, ${heads}`)];
}

// All lines of a head, or only those of one token.
function headLines(head, heads, token) {
  const group = draw("g", {stroke: colours[head], "data-lines": head + 1});
  const row = rowHeight();
  const apart = Math.min(2.2, 0.6 * row / heads.length);
  const shift = (heads.indexOf(head) - (heads.length - 1) / 2) * apart;
  const width = token ? 2.2 : 1.5;
  const indices = (side) =>
    token?.side === side ? [token.index] : state.kind[side].keys();
  for (const query of indices("queries")) {
    for (const key of indices("keys")) {
      const value = weight(head, query, key);
      if (value < (token ? LEAST_OF_ONE : least())) continue;
      group.append(draw("line", {x1: 0, y1: (query + 0.5) * row + shift,
        x2: gap(), y2: (key + 0.5) * row + shift, "stroke-width": width,
        "stroke-opacity": opacity(value).toFixed(3)}));
    }
  }
  return group;
}

// ---- the weights of the focused token

function showFocus() {
  const token = focused();
  const heads = chosenHeads();
  find("all-lines").style.display = token ? "none" : "";
  find("token-lines").replaceChildren(
    ...(token ? heads.map((head) => headLines(head, heads, token)) : []));
  for (const side of ["queries", "keys"]) {
    [...find(side).children].forEach((element, index) => {
      const isIt = isSame(token, side, index);
      element.classList.toggle("focused", isIt);
      element.setAttribute("aria-selected", isIt);
      const isOther = Boolean(token) && token.side !== side;
      const isMasked = isOther && isMaskedFor(token, index);
      element.classList.toggle("masked", isMasked);
      element.querySelector(".number").textContent =
        isMasked ? "\u2013" : isOther ? meanOf(token, index).toFixed(2) : "";
      element.querySelector(".strip").replaceChildren(...(isOther && !isMasked
        ? heads.map((head) => strip(token, head, index)) : []));
    });
  }
  showBand(token);
  showDetails(token, heads);
}

function strip(token, head, other) {
  const value = weightOf(token, head, other);
  return make("i", {title: `head ${head + 1}: ${value.toFixed(3)}`},
    make("b", {style: `background: ${colours[head]}; opacity: ${opacity(value)}`}));
}

function showDetails(token, heads) {
  const title = find("details-title");
  if (!token || !heads.length) {
    title.textContent = "Weights of a token";
    find("details").replaceChildren(make("p", {}, heads.length
      ? "Point at a token or at a cell of the matrix."
      : "No head is selected."));
    return;
  }
  const others = state.kind[token.side === "queries" ? "keys" : "queries"];
  title.replaceChildren(named(state.kind[token.side][token.index]),
    token.side === "queries" ? " attends to" : " is attended to by",
    small(` (position ${token.index + 1})`));
  const visible = range(others.length)
    .filter((other) => !isMaskedFor(token, other))
    .sort((a, b) => meanOf(token, b) - meanOf(token, a));
  const order = visible.slice(0, 10);
  const names = heads.map((head) => make("th", {scope: "col",
    title: `head ${head + 1}`}, make("span", {class: "dot",
    style: `background: ${colours[head]}`}), `${head + 1}`));
  const hasMean = heads.length > 1;
  const head = make("tr", {}, make("th", {scope: "col"}, "token"),
    hasMean ? make("th", {scope: "col"}, "mean") : null, ...names);
  const body = order.map((other) => make("tr", {},
    make("th", {scope: "row", title: others[other]}, named(others[other])),
    hasMean ? make("td", {class: "strong"}, meanOf(token, other).toFixed(3))
      : null,
    ...heads.map((h) => make("td", {},
      weightOf(token, h, other).toFixed(heads.length > 2 ? 2 : 3)))));
  const rest = visible.length - order.length;
  const numMasked = others.length - visible.length;
  find("details").replaceChildren(
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
    make("p", {}, rest > 0 ? `and ${rest} more with smaller weights` : ""),
    make("p", {}, numMasked > 0 ? `${numMasked} masked` : ""));
}

// ---- the weights as a matrix

const cellSize = () => Math.min(22, Math.max(10, Math.floor(720 / longest())));
const SHOWN = 14;  // largest number of characters in a label of the matrix
const MASKED = [128, 128, 128, 38];  // red, green, blue and opacity
const MIN_SIZE = 8.5;  // pixels of a label; a larger matrix scrolls

function painted(colour, value) {
  const canvas = make("canvas", {width: state.kind.keys.length,
    height: state.kind.queries.length, class: "map"});
  const context = canvas.getContext("2d", {willReadFrequently: true});
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const ink = context.getImageData(0, 0, 1, 1).data;
  const pixels = context.createImageData(canvas.width, canvas.height);
  let place = 0;
  for (let query = 0; query < canvas.height; query += 1) {
    for (let key = 0; key < canvas.width; key += 1) {
      const isHidden = isMasked(query, key);
      pixels.data.set(isHidden ? MASKED : ink, place);
      if (!isHidden) pixels.data[place + 3] = 255 * opacity(value(query, key));
      place += 4;
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function showMatrix() {
  const {queries, keys} = state.kind;
  const heads = chosenHeads();
  const cell = cellSize();
  const size = Math.min(12, cell - 0.5);
  const short = (text) => shorten(text, SHOWN);
  const room = (tokens) => 12 + 0.62 * size * Math.max(
    ...tokens.map((token) => short(splitToken(token)[1]).length));
  const [left, top] = [room(queries), room(keys)];
  const [width, height] = [cell * keys.length, cell * queries.length];
  const colour = heads.length === 1 ? colours[heads[0]]
    : getComputedStyle(find("matrix")).color;
  const text = (token, side, index, attributes) => {
    const [dot, words, name] = splitToken(token);
    return draw("text", {...attributes, "font-size": size, "data-side": side,
      "data-index": index}, draw("title", {}, token),
    draw("tspan", {class: "mark"}, dot),
    draw("tspan", {class: name}, short(words)));
  };
  const matrix = find("matrix");
  const box = {width: left + width + 2, height: top + height + 2};
  fill(matrix, {...box, viewBox: `0 0 ${box.width} ${box.height}`,
    style: `min-width: ${box.width * Math.min(1, MIN_SIZE / size)}px`});
  matrix.replaceChildren(
    ...queries.map((token, index) => text(token, "queries", index, {
      x: left - 5, y: top + (index + 0.5) * cell + 0.35 * size,
      "text-anchor": "end"})),
    ...keys.map((token, index) => text(token, "keys", index, {
      transform: `translate(${left + (index + 0.5) * cell + 0.35 * size}, `
        + `${top - 5}) rotate(-90)`})),
    draw("image", {x: left, y: top, width, height, preserveAspectRatio: "none",
      href: painted(colour, mean).toDataURL()}),
    hatching(left, top, cell),
    draw("rect", {class: "frame", x: left, y: top, width, height}),
    draw("rect", {class: "band", id: "band", visibility: "hidden"}));
  matrix.place = {left, top, cell};
  matrix.onpointermove = pointAtCell;
  matrix.onpointerleave = () => { showCaption(); point(null); };
  matrix.onclick = () => keep(state.pointed);
  showCaption();
}

// Names the cell under the pointer, or what the matrix shows.
function showCaption(...cell) {
  const heads = chosenHeads();
  const usual = [heads.length === 1 ? `weights of head ${heads[0] + 1}`
    : `mean weights of ${heads.length} heads`,
  state.kind.causal ? "; hatched: masked, since it comes later" : ""];
  find("matrix-title").replaceChildren("Matrix ",
    small(...(cell.length ? cell : usual)));
}

// One diagonal through each masked cell of the matrix.
function hatching(left, top, cell) {
  const {queries, keys} = state.kind;
  if (queries.length > 128) return draw("g");  // too fine to be seen
  const diagonals = range(queries.length).flatMap((query) => range(keys.length)
    .filter((key) => isMasked(query, key)).map((key) =>
      `M${left + key * cell},${top + (query + 1) * cell}l${cell},${-cell}`));
  return draw("path", {class: "hatching", d: diagonals.join("")});
}

function pointAtCell(event) {
  const matrix = find("matrix");
  const {left, top, cell} = matrix.place;
  const box = matrix.getBoundingClientRect();
  const scale = matrix.viewBox.baseVal.width / box.width;
  const query = Math.floor(((event.clientY - box.top) * scale - top) / cell);
  const key = Math.floor(((event.clientX - box.left) * scale - left) / cell);
  const {queries, keys} = state.kind;
  let token = null;
  if (query in queries) token = {side: "queries", index: query};
  else if (key in keys) token = {side: "keys", index: key};
  matrix.style.cursor = token ? "pointer" : "";
  if (query in queries && key in keys) {
    const value = isMasked(query, key) ? "masked"
      : state.heads.size ? mean(query, key).toFixed(3) : "";
    showCaption(
      named(queries[query]), " \u2192 ", named(keys[key]), `: ${value}`);
  } else showCaption();
  point(token);
}

function showBand(token) {
  const {left, top, cell} = find("matrix").place;
  const {queries, keys} = state.kind;
  const band = find("band");
  band.setAttribute("visibility", token ? "visible" : "hidden");
  find("matrix").querySelectorAll("text").forEach((label) => {
    label.classList.toggle("focused",
      isSame(token, label.dataset.side, Number(label.dataset.index)));
  });
  if (!token) return;
  const isRow = token.side === "queries";
  fill(band, {x: left + (isRow ? 0 : token.index * cell),
    y: top + (isRow ? token.index * cell : 0),
    width: isRow ? cell * keys.length : cell,
    height: isRow ? cell : cell * queries.length});
}

// ---- small maps of all heads of the layer

function showOverview() {
  find("overview-title").replaceChildren(
    `All heads of layer ${state.layer + 1} `,
    small("queries from top to bottom, keys from left to right; click a map "
      + "to see its head alone"));
  // Five pixels for each token, and at least as many as eight maps in a row.
  const size = Math.min(340, Math.max(132, 5 * longest()));
  const width = 1.5 * size * data.heads;
  fill(find("overview"),
    {style: `--map: ${size}px; max-width: ${width}px`});
  find("overview").replaceChildren(...range(data.heads).map((head) => {
    const map = painted(colours[head],
      (query, key) => weight(head, query, key));
    return make("button", {type: "button", "data-map": head + 1,
      "aria-pressed": `${state.heads.has(head)}`, "--colour": colours[head],
      onclick: () => change({heads: new Set([head])})}, `Head ${head + 1}`, map);
  }));
}
