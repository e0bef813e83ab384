// The worker of the page: it unpacks the model and translates sentences.

// Returns the bytes that `encode_bytes` of writer.py wrote as a text.
function decodeBytes(text) {
  const codes = encoder.encode(text.replaceAll("~", "<"));
  const bytes = new Uint8Array(codes.length / 2 * 13 >> 3);
  let [bits, count, place] = [0, 0, 0];
  for (let i = 0; i < codes.length; i += 2) {
    bits |= ((codes[i] - 35) * 91 + codes[i + 1] - 35) << count;
    for (count += 13; count >= 8; count -= 8, bits >>>= 8) bytes[place++] = bits;
  }
  return bytes;
}

// The first four bytes are the number of those that follow.
async function inflate(bytes) {
  const [size] = new Uint32Array(bytes.buffer, 0, 1);
  const stream = new Blob([bytes.subarray(4, 4 + size)]).stream().pipeThrough(
    new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

let translator;

async function open(text) {
  const buffer = await inflate(decodeBytes(text));
  let place = 0;
  const take = (size) => buffer.slice(place, place += size);
  const [size] = new Uint32Array(take(4));
  const header = JSON.parse(decoder.decode(take(size)));
  const shapes = header.weights.map(({shape}) => shape);
  const matrices = new Matrices(shapes.filter((shape) => shape.length === 2));
  const weights = {};
  for (const {name, shape, transposed} of header.weights) {
    const [rows, columns] = shape;
    const scales = new Float32Array(take(4 * (transposed ? columns : rows)));
    if (!columns) {
      weights[name] = {data: scales};
      continue;
    }
    weights[name] = matrices.add(shape);
    const bytes = new Int8Array(take(rows * columns));
    for (let row = 0; row < rows; row += 1) {
      const numbers = findRow(weights[name], row);
      for (let i = 0; i < columns; i += 1) {
        const scale = scales[transposed ? i : row];
        numbers[i] = scale * bytes[row * columns + i];
      }
    }
  }
  for (const [name, other] of Object.entries(header.shared)) {
    weights[name] = weights[other];
  }
  const [target, source = target] = header.vocabularies.map((one) =>
    new Tokenizer(one, take(one.normalizer)));
  const model = new Model(header.config, weights, matrices);
  translator = {model, source, target, options: header.options};
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

onmessage = async ({data: {name, values}, ports: [port]}) => {
  try {
    port.postMessage({result: await METHODS[name](...values)});
  } catch (error) {
    port.postMessage({error: `${error}`});
  }
};
