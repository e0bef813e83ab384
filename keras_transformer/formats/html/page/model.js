// The model of the page: layers, and the search for translations. Vectors are
// rows of Float32Arrays. Sums are in float64, the only numbers of JavaScript.

const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => x * (1 + erf(x * Math.SQRT1_2)) / 2,
};
const [PAD, END, UNKNOWN] = [0, 1, 2];

// The terms of this series have one sign, so no digits cancel.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [sum, term] = [x, x];
  for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k += 1) {
    term *= 2 * x * x / (2 * k + 1);
    sum += term;
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

// The product of a vector and a matrix, four numbers at a time; `y[o]` is the
// sum of `x[i] * w[o][i]`. Rows have whole blocks of eight numbers.
//   (func (param $x $w $y $x_end $y_end i32) (local $p i32) (local $a $b v128)
//     (loop $o
//       $a = $b = 0, $p = $x
//       (loop $i
//         $a += v128.load($p) * v128.load($w)
//         $b += v128.load($p + 16) * v128.load($w + 16)
//         $w += 32, $p += 32
//         (br_if $i ($p < $x_end)))
//       f32.store($y, the sum of the eight numbers of $a + $b)
//       $y += 4
//       (br_if $o ($y < $y_end))))
const PRODUCT = "AGFzbQEAAAABCQFgBX9/f39/AAIIAQFtAW0CAAEDAgEABwUBAWYAAAqrAQGoAQIBfwJ7A0"
  + "D9DAAAAAAAAAAAAAAAAAAAAAAhBv0MAAAAAAAAAAAAAAAAAAAAACEHIAAhBQNAIAYgBf0A"
  + "AgAgAf0AAgD95gH95AEhBiAHIAX9AAIQIAH9AAIQ/eYB/eQBIQcgAUEgaiEBIAVBIGoiBS"
  + "ADSQ0ACyAGIAf95AEhBiACIAb9HwAgBv0fAZIgBv0fApIgBv0fA5I4AgAgAkEEaiICIARJ"
  + "DQALCw==";
// Whole blocks of eight numbers, as the product takes them.
const pad = (width) => Math.ceil(width / 8) * 8;

// The weights and two vectors for the product, in the memory that it reads.
class Matrices {
  constructor(shapes) {
    const widest = Math.max(...shapes.flat());
    const size = [...shapes, [1, widest], [1, widest]].reduce(
      (sum, [rows, columns]) => sum + 4 * rows * pad(columns), 0);
    const memory = new WebAssembly.Memory({initial: (size >> 16) + 1});
    const bytes = Uint8Array.from(atob(PRODUCT), (one) => one.charCodeAt(0));
    this.product = new WebAssembly.Instance(new WebAssembly.Module(bytes),
      {m: {m: memory}}).exports.f;
    this.buffer = memory.buffer;
    this.place = 0;
    [this.input, this.output] = [1, 2].map(() => this.add([1, widest]).data);
  }

  // Returns a matrix of zeros; each row has `stride` numbers in `data`.
  add(shape) {
    const stride = pad(shape[1]);
    const data = new Float32Array(this.buffer, this.place, shape[0] * stride);
    this.place += data.byteLength;
    return {data, shape, stride};
  }

  multiply(vector, {data, shape: [outputs], stride}) {
    this.input.set(vector);
    const [x, y] = [this.input.byteOffset, this.output.byteOffset];
    this.product(x, data.byteOffset, y, x + 4 * stride, y + 4 * outputs);
    return this.output.slice(0, outputs);
  }
}

const findRow = ({data, shape, stride}, row) =>
  data.subarray(row * stride, row * stride + shape[1]);

class Model {
  // The weights are `{data, shape}` by name. A matrix of logits or of a
  // projection has a row for each output.
  constructor(config, weights, matrices) {
    this.config = config;
    this.weights = weights;
    this.matrices = matrices;
  }

  // Multiplies vectors by a matrix and adds a bias, if there is one.
  project(x, name) {
    const bias = this.weights[`${name}_bias`]?.data;
    return x.map((vector) => {
      const y = this.matrices.multiply(vector, this.weights[name]);
      return bias ? add(y, bias) : y;
    });
  }

  normalise(x, name) {
    const {d_model: width, norm_epsilon: epsilon} = this.config;
    const [gamma, beta] = ["gamma", "beta"].map(
      (part) => this.weights[`${name}/${part}`].data);
    return x.map((vector) => {
      const mean = vector.reduce((sum, value) => sum + value / width, 0);
      const variance = vector.reduce(
        (sum, value) => sum + (value - mean) ** 2 / width, 0);
      const scale = 1 / Math.sqrt(variance + epsilon);
      return vector.map(
        (value, i) => (value - mean) * scale * gamma[i] + beta[i]);
    });
  }

  // The residual connection around a sub-layer, sections 3.1 and 5.4.
  residual(x, name, sublayer) {
    const norm = `${name}_residual/norm`;
    const isPre = this.config.norm === "pre";
    const y = sublayer(isPre ? this.normalise(x, norm) : x);
    y.forEach((vector, row) => add(vector, x[row]));
    return isPre ? y : this.normalise(y, norm);
  }

  feedForward(x, name) {
    return this.residual(x, name, (inputs) => {
      const activate = ACTIVATIONS[this.config.activation];
      const hidden = this.project(inputs, `${name}/inner`);
      return this.project(hidden.map((vector) => vector.map(activate)),
        `${name}/outer`);
    });
  }

  // Attends from one vector to lists of keys and values, section 3.2.1.
  // `position` is that of the query if distances have vectors.
  attendFrom(query, keys, values, name, position) {
    const {num_heads: numHeads, d_k: dK, d_v: dV} = this.config;
    const [relativeKeys, relativeValues] = ["keys", "values"].map(
      (part) => this.weights[`${name}/relative_${part}`]);
    const findDistance = (table, j) => {
      const limit = (table.shape[0] - 1) / 2;
      return findRow(table,
        limit + Math.max(-limit, Math.min(limit, j - position)));
    };
    const heads = new Float32Array(numHeads * dV);
    for (let head = 0; head < numHeads; head += 1) {
      const part = query.subarray(head * dK, (head + 1) * dK);
      const result = heads.subarray(head * dV, (head + 1) * dV);
      const scores = keys.map((key, j) => {
        const distance = relativeKeys
          ? dot(part, findDistance(relativeKeys, j)) : 0;
        return (dot(part, key, head * dK) + distance) / Math.sqrt(dK);
      });
      const total = logSumExp(scores);
      values.forEach((value, j) => {
        const weight = Math.exp(scores[j] - total);
        add(result, value, weight, head * dV);
        if (relativeValues) add(result, findDistance(relativeValues, j), weight);
      });
    }
    return heads;
  }

  // Attends from each vector. `findMemory` returns the keys and values for the
  // one of a number. Their positions are these numbers unless all have one.
  attend(x, name, findMemory, position) {
    const queries = this.project(x, `${name}/query`);
    const heads = queries.map((query, number) => this.attendFrom(
      query, ...findMemory(number), name, position ?? number));
    return this.project(heads, `${name}/output`);
  }

  projectMemory(x, name) {
    return ["key", "value"].map((part) => this.project(x, `${name}/${part}`));
  }

  // Returns the vectors of ids. Their positions are their places unless all
  // have one. The id null has the embedding zero.
  embed(ids, table, side, position) {
    const {d_model: width, scale_embeddings: scales} = this.config;
    const factor = scales ? Math.sqrt(width) : 1;
    return ids.map((id, place) => {
      const x = this.findPosition(side, position ?? place);
      return id === null ? x
        : add(x, findRow(this.weights[table], id), factor);
    });
  }

  // Returns the vector of a position, section 3.5.
  findPosition(side, position) {
    const {d_model: width, positional_encoding: kind} = this.config;
    const vector = new Float32Array(width);
    if (kind === "none") return vector;
    if (kind === "learned") {
      const table = this.weights[`${side}_positions/positions`];
      return findRow(table, Math.min(position, table.shape[0] - 1)).slice();
    }
    const isSplit = kind === "tensor2tensor";
    for (let i = 0; i < width / 2; i += 1) {
      const divisor = isSplit ? Math.max(1, width - 2) : width;
      const angle = position * 10000 ** (-2 * i / divisor);
      vector[isSplit ? i : 2 * i] = Math.sin(angle);
      vector[isSplit ? width / 2 + i : 2 * i + 1] = Math.cos(angle);
    }
    return vector;
  }

  // Normalises the vectors of a stack whose layers normalise only before.
  finish(x, side) {
    return this.config.norm === "pre"
      ? this.normalise(x, `${side}/final_norm`) : x;
  }

  // Returns the keys and values of a source in each layer of the decoder.
  encode(ids) {
    const {num_layers: depth, num_decoder_layers: decoderDepth} = this.config;
    let x = this.embed(ids, "embedding/input_embeddings", "input");
    for (let layer = 0; layer < depth; layer += 1) {
      const name = `encoder/layer_${layer}`;
      const attention = `${name}/self_attention`;
      x = this.residual(x, attention, (inputs) => {
        const memory = this.projectMemory(inputs, attention);
        return this.attend(inputs, attention, () => memory);
      });
      x = this.feedForward(x, `${name}/feed_forward`);
    }
    x = this.finish(x, "encoder");
    return Array.from({length: decoderDepth}, (_, layer) =>
      this.projectMemory(x, `decoder/layer_${layer}/cross_attention`));
  }

  // Computes the logits after each row, whose ids end in the last one read.
  // The keys and values of earlier positions are in its `past`.
  step(rows, memory) {
    const position = rows[0].ids.length;
    const start = this.config.decoder_start === "zero" ? null : PAD;
    const ids = rows.map((row) => row.ids.at(-1) ?? start);
    let x = this.embed(ids, "embedding/embeddings", "target", position);
    memory.forEach((source, layer) => {
      const name = `decoder/layer_${layer}`;
      const [self, cross] = [`${name}/self_attention`, `${name}/cross_attention`];
      x = this.residual(x, self, (inputs) => {
        const added = this.projectMemory(inputs, self);
        return this.attend(inputs, self, (number) => {
          const past = rows[number].past[layer];
          past.forEach((list, part) => list.push(added[part][number]));
          return past;
        }, position);
      });
      x = this.residual(x, cross, (inputs) =>
        this.attend(inputs, cross, () => source));
      x = this.feedForward(x, `${name}/feed_forward`);
    });
    return this.project(this.finish(x, "decoder"), "embedding/softmax_weights");
  }

  begin(memory) {
    return {ids: [], logProbs: [], logProb: 0,
      past: memory.map(() => [[], []])};
  }

  // Extends each row by each of the ids that `choose` finds by its logits.
  extend(rows, memory, choose) {
    return this.step(rows, memory).flatMap((logits, number) => {
      const {ids, logProbs, logProb, past} = rows[number];
      const total = logSumExp(logits);
      return choose(logits).map((id) => {
        const added = logits[id] - total;
        // The vectors are shared; only the lists of them are copied.
        return {ids: [...ids, id], logProbs: [...logProbs, added],
          logProb: logProb + added,
          past: past.map((layer) => layer.map((list) => [...list]))};
      });
    });
  }

  // Finds the translation with the highest probability, divided by the length
  // penalty: section 6.1, and `search/beam_search.py`, line by line.
  search(memory, limit, beamSize, {alpha, min_length: minimum},
    start = this.begin(memory)) {
    const penalty = (length) => ((5 + length) / 6) ** alpha;
    const numCandidates = beamSize === 1 ? 1 : 2 * beamSize;
    let [alive, best] = [[start], {score: -Infinity}];
    for (let length = start.ids.length + 1; alive.length
        && alive[0].logProb / penalty(limit) > best.score; length += 1) {
      const excluded = length > minimum ? [PAD, UNKNOWN] : [PAD, UNKNOWN, END];
      const candidates = this.extend(alive, memory, (logits) => length >= limit
        ? [END] : findLargest(logits, numCandidates, excluded));
      candidates.sort((a, b) => b.logProb - a.logProb);
      candidates.length = Math.min(candidates.length, numCandidates);
      const hasEnded = (one) => one.ids.at(-1) === END;
      for (const one of candidates.filter(hasEnded)) {
        one.score = one.logProb / penalty(length);
        if (one.score > best.score) best = one;
      }
      alive = candidates.filter((one) => !hasEnded(one)).slice(0, beamSize);
    }
    return best;
  }

  translate(source, beamSize, options) {
    const limit = source.length + options.extra_length;
    return this.search(this.encode(source), limit, beamSize, options);
  }

  // Finds the likeliest ids after a prefix, and how each goes on greedily.
  findOthers(source, prefix, number, options) {
    const memory = this.encode(source);
    const limit = Math.max(source.length, prefix.length + 1)
      + options.extra_length;
    let rows = [this.begin(memory)];
    for (const id of prefix) rows = this.extend(rows, memory, () => [id]);
    rows = this.extend(rows, memory, (logits) =>
      findLargest(logits, number, [PAD, UNKNOWN, END]));
    return rows.map((row) => this.search(memory, limit, 1, options, row));
  }
}

// The product of a vector and as much of another one from a place on.
function dot(x, y, start = 0) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += x[i] * y[start + i];
  return sum;
}

// Adds as much of another vector, times a factor, to a vector.
function add(x, y, factor = 1, start = 0) {
  for (let i = 0; i < x.length; i += 1) x[i] += factor * y[start + i];
  return x;
}

function logSumExp(values) {
  let [largest, sum] = [-Infinity, 0];
  for (const value of values) if (value > largest) largest = value;
  for (const value of values) sum += Math.exp(value - largest);
  return largest + Math.log(sum);
}

// Returns the places of the largest values, largest first, as `ops.top_k`.
function findLargest(values, number, excluded) {
  const places = [];
  let smallest = -Infinity;
  for (let i = 0; i < values.length; i += 1) {
    if (places.length === number && !(values[i] > smallest)) continue;
    if (excluded.includes(i)) continue;
    let place = places.length;
    while (place && values[places[place - 1]] < values[i]) place -= 1;
    places.splice(place, 0, i);
    places.length = Math.min(places.length, number);
    smallest = values[places.at(-1)];
  }
  return places;
}
