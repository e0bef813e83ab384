// The worker of the page: it unpacks the model and translates sentences.

const WIDTH = 13;  // bits of two characters
const NUMBERS = new Uint8Array(128);  // of the 91 characters
let last = 0;
for (let code = 33; code < 127; code += 1) {
  if (!"<&\\".includes(String.fromCharCode(code))) NUMBERS[code] = last++;
}

// Returns the bytes that `encode_bytes` of writer.py wrote as a text.
function decodeBytes(text) {
  const bytes = new Uint8Array(text.length / 2 * WIDTH >> 3);
  let [bits, count, place] = [0, 0, 0];
  for (let i = 0; i < text.length; i += 2) {
    bits |= (NUMBERS[text.charCodeAt(i)] * 91
      + NUMBERS[text.charCodeAt(i + 1)]) << count;
    for (count += WIDTH; count >= 8; count -= 8, bits >>>= 8) {
      bytes[place++] = bits;
    }
  }
  return bytes;
}

// The first four bytes are the number of those that follow.
async function inflate(bytes) {
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const stream = new Blob([bytes.subarray(4, 4 + size)]).stream().pipeThrough(
    new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

// Fills a matrix from 8 bits; each row of those has its own scale.
function fill({data, stride}, shape, scales, bytes, isTransposed) {
  const [rows, columns] = shape;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const place = isTransposed ? column * stride + row
        : row * stride + column;
      data[place] = scales[row] * bytes[row * columns + column];
    }
  }
}

let translator;

async function open(text) {
  const buffer = await inflate(decodeBytes(text));
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(decoder.decode(new Uint8Array(buffer, 4, size)));
  let place = 4 + size;
  const take = (length) => buffer.slice(place, place += length);
  const turn = ({shape, transposed}) => transposed ? [shape[1], shape[0]]
    : shape;
  const matrices = new Matrices(header.weights.map(turn).filter(
    (shape) => shape.length === 2));
  const weights = {};
  for (const weight of header.weights) {
    const {name, shape, transposed} = weight;
    const scales = new Float32Array(take(4 * shape[0]));
    if (shape.length === 1) {
      weights[name] = {data: scales, shape};
      continue;
    }
    weights[name] = matrices.add(turn(weight));
    const bytes = new Int8Array(take(shape[0] * shape[1]));
    fill(weights[name], shape, scales, bytes, transposed);
  }
  for (const [name, other] of Object.entries(header.shared)) {
    weights[name] = weights[other];
  }
  const [target, source = target] = header.vocabularies.map((one) =>
    new Tokenizer(one, new Uint8Array(take(one.normalizer))));
  const model = new Model(header.config, weights, matrices);
  translator = {model, source, target, ...header};
}

const encode = (text) =>
  translator.source.encode(restoreCase(text, translator.source));

// Returns what the page shows of a hypothesis: each of the `pieces` has the
// text of an id and its probability, and `end` has the emoji after them.
function show({ids, logProbs}, source, end) {
  const texts = translator.target.spell(ids.slice(0, -1));
  const text = texts.join("");
  const emoji = findMissingEmoji(source, text);
  const rest = (emoji && ` ${emoji}`) + (text ? end : end.trim());
  return {ids: ids.slice(0, -1), text: text + rest, end: rest,
    pieces: texts.map((piece, i) => ({text: piece, logProb: logProbs[i]}))};
}

const METHODS = {
  open,
  count: (text) => translator.source.encode(text).length,
  translate(text, beamSize) {
    const {model, options} = translator;
    const {body, end} = divideEnd(text);
    const ids = encode(body);
    const best = ids.length < 2 ? {ids: [END], logProbs: []}
      : model.translate(ids, beamSize, options);
    return show(best, body, end);
  },
  findOthers(text, prefix, number) {
    const {model, options} = translator;
    const {body, end} = divideEnd(text);
    return model.findOthers(encode(body), prefix, number, options)
      .map((one) => show(one, body, end));
  },
};

onmessage = async ({data: {number, name, values}}) => {
  try {
    postMessage({number, result: await METHODS[name](...values)});
  } catch (error) {
    postMessage({number, error: `${error}`});
  }
};
