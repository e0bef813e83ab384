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
const BLOCK = 8;

// The weights and two vectors for the product, in the memory that it reads.
class Matrices {
  constructor(shapes) {
    const widest = Math.max(...shapes.flat());
    this.place = 0;
    this.size = [...shapes, [1, widest], [1, widest]].reduce((sum, shape) =>
      sum + 4 * shape[0] * this.pad(shape[1]), 0);
    const memory = new WebAssembly.Memory({initial: (this.size >> 16) + 1});
    this.buffer = memory.buffer;
    const bytes = Uint8Array.from(atob(PRODUCT), (one) => one.charCodeAt(0));
    this.product = new WebAssembly.Instance(new WebAssembly.Module(bytes),
      {m: {m: memory}}).exports.f;
    [this.input, this.output] = [1, 2].map(() => this.add([1, widest]));
  }

  pad(width) {
    return Math.ceil(width / BLOCK) * BLOCK;
  }

  // Returns a matrix of zeros; each row has `stride` numbers in `data`.
  add(shape) {
    const stride = this.pad(shape[1]);
    const {place} = this;
    this.place += 4 * shape[0] * stride;
    const data = new Float32Array(this.buffer, place, shape[0] * stride);
    return {data, shape, stride, place};
  }
}

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
    const {place, stride, shape: [outputs, inputs]} = this.weights[name];
    const {input, output, product} = this.matrices;
    const bias = this.weights[`${name}_bias`]?.data;
    const count = x.length / inputs;
    const y = new Float32Array(count * outputs);
    for (let row = 0; row < count; row += 1) {
      input.data.set(x.subarray(row * inputs, (row + 1) * inputs));
      product(input.place, place, output.place, input.place + 4 * stride,
        output.place + 4 * outputs);
      y.set(output.data.subarray(0, outputs), row * outputs);
    }
    if (bias) for (let i = 0; i < y.length; i += 1) y[i] += bias[i % outputs];
    return y;
  }

  normalise(x, name) {
    const width = this.config.d_model;
    const [gamma, beta] = ["gamma", "beta"].map(
      (part) => this.weights[`${name}/${part}`].data);
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += width) {
      const row = x.subarray(start, start + width);
      const mean = row.reduce((sum, value) => sum + value / width, 0);
      const variance = row.reduce(
        (sum, value) => sum + (value - mean) ** 2 / width, 0);
      const scale = 1 / Math.sqrt(variance + this.config.norm_epsilon);
      y.set(row.map((value, i) => (value - mean) * scale * gamma[i] + beta[i]),
        start);
    }
    return y;
  }

  // The residual connection around a sub-layer, sections 3.1 and 5.4.
  residual(x, name, sublayer) {
    const norm = `${name}_residual/norm`;
    const isPre = this.config.norm === "pre";
    const y = sublayer(isPre ? this.normalise(x, norm) : x);
    for (let i = 0; i < y.length; i += 1) y[i] += x[i];
    return isPre ? y : this.normalise(y, norm);
  }

  feedForward(x, name) {
    return this.residual(x, name, (inputs) => {
      const activate = ACTIVATIONS[this.config.activation];
      const hidden = this.project(inputs, `${name}/inner`).map(activate);
      return this.project(hidden, `${name}/outer`);
    });
  }

  // Attends from one vector to lists of keys and values, section 3.2.1.
  // `position` is that of the query if distances have vectors.
  attend(query, keys, values, name, position) {
    const {num_heads: numHeads, d_k: dK, d_v: dV} = this.config;
    const tables = ["keys", "values"].map(
      (part) => this.weights[`${name}/relative_${part}`]);
    const limit = tables[0] && (tables[0].shape[0] - 1) / 2;
    const row = (j) =>
      limit + Math.max(-limit, Math.min(limit, j - position));
    const heads = new Float32Array(numHeads * dV);
    const weights = new Float64Array(keys.length);
    for (let head = 0; head < numHeads; head += 1) {
      let largest = -Infinity;
      for (let j = 0; j < keys.length; j += 1) {
        let score = dot(query, head * dK, keys[j], head * dK, dK);
        if (limit) {
          score += dot(query, head * dK, tables[0].data,
            tables[0].stride * row(j), dK);
        }
        weights[j] = score / Math.sqrt(dK);
        largest = Math.max(largest, weights[j]);
      }
      let sum = 0;
      for (let j = 0; j < keys.length; j += 1) {
        weights[j] = Math.exp(weights[j] - largest);
        sum += weights[j];
      }
      for (let j = 0; j < keys.length; j += 1) {
        const weight = weights[j] / sum;
        const start = limit && tables[1].stride * row(j);
        for (let i = head * dV, k = 0; k < dV; i += 1, k += 1) {
          heads[i] += weight * values[j][i];
          if (limit) heads[i] += weight * tables[1].data[start + k];
        }
      }
    }
    return heads;
  }

  projectRows(x, name) {
    const y = this.project(x, name);
    const width = this.weights[name].shape[0];
    return Array.from({length: y.length / width},
      (_, row) => y.subarray(row * width, (row + 1) * width));
  }

  embed(ids, table, side, start = 0) {
    const {d_model: width, scale_embeddings: scales} = this.config;
    const factor = scales ? Math.sqrt(width) : 1;
    const {data, stride} = this.weights[table];
    const x = new Float32Array(ids.length * width);
    ids.forEach((id, row) => {
      const vector = this.findPosition(side, start < 0 ? row : start);
      for (let i = 0; i < width; i += 1) {
        const value = id === null ? 0 : factor * data[id * stride + i];
        x[row * width + i] = value + vector[i];
      }
    });
    return x;
  }

  // Returns the vector of a position, section 3.5.
  findPosition(side, position) {
    const {d_model: width, positional_encoding: kind} = this.config;
    const vector = new Float32Array(width);
    if (kind === "none") return vector;
    if (kind === "learned") {
      const {data, shape, stride} = this.weights[`${side}_positions/positions`];
      return data.subarray(stride * Math.min(position, shape[0] - 1));
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

  // Attends from each vector. `findMemory` returns the keys and values for the
  // one of a number. Their positions are these numbers unless all have one.
  attendAll(x, name, findMemory, position) {
    const queries = this.projectRows(x, `${name}/query`);
    const heads = queries.map((query, number) => this.attend(
      query, ...findMemory(number), name, position ?? number));
    return this.project(join(heads), `${name}/output`);
  }

  projectMemory(x, name) {
    return ["key", "value"].map((part) => this.projectRows(x, `${name}/${part}`));
  }

  // Returns the keys and values of a source in each layer of the decoder.
  encode(ids) {
    const {num_layers: depth, num_decoder_layers: decoderDepth} = this.config;
    let x = this.embed(ids, "embedding/input_embeddings", "input", -1);
    for (let layer = 0; layer < depth; layer += 1) {
      const name = `encoder/layer_${layer}`;
      const attention = `${name}/self_attention`;
      x = this.residual(x, attention, (inputs) => {
        const memory = this.projectMemory(inputs, attention);
        return this.attendAll(inputs, attention, () => memory);
      });
      x = this.feedForward(x, `${name}/feed_forward`);
    }
    if (this.config.norm === "pre") x = this.normalise(x, "encoder/final_norm");
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
        return this.attendAll(inputs, self, (number) => {
          const past = rows[number].past[layer];
          past.forEach((list, part) => list.push(added[part][number]));
          return past;
        }, position);
      });
      x = this.residual(x, cross, (inputs) =>
        this.attendAll(inputs, cross, () => source, position));
      x = this.feedForward(x, `${name}/feed_forward`);
    });
    if (this.config.norm === "pre") x = this.normalise(x, "decoder/final_norm");
    return this.projectRows(x, "embedding/softmax_weights");
  }

  begin(memory) {
    return {ids: [], logProbs: [], logProb: 0,
      past: memory.map(() => [[], []])};
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
      const candidates = [];
      this.step(alive, memory).forEach((logits, number) => {
        const total = logSumExp(logits);
        const excluded = length > minimum ? [PAD, UNKNOWN] : [PAD, UNKNOWN, END];
        const ids = length >= limit ? [END]
          : findLargest(logits, numCandidates, excluded);
        for (const id of ids) candidates.push(extend(alive[number], id,
          logits[id] - total));
      });
      candidates.sort((a, b) => b.logProb - a.logProb);
      candidates.length = Math.min(candidates.length, numCandidates);
      for (const one of candidates) {
        one.score = one.logProb / penalty(length);
        if (one.ids.at(-1) === END && one.score > best.score) best = one;
      }
      alive = candidates.filter((one) => one.ids.at(-1) !== END)
        .slice(0, beamSize).map(copyPast);
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
    let row = this.begin(memory);
    let logits;
    for (const id of [...prefix, null]) {
      [logits] = this.step([row], memory);
      if (id !== null) row = extend(row, id, logits[id] - logSumExp(logits));
    }
    const total = logSumExp(logits);
    return findLargest(logits, number, [PAD, UNKNOWN, END]).map((id) =>
      this.search(memory, limit, 1, options,
        copyPast(extend(row, id, logits[id] - total))));
  }
}

function dot(a, i, b, j, width) {
  let sum = 0;
  for (let k = 0; k < width; k += 1) sum += a[i + k] * b[j + k];
  return sum;
}

function join(vectors) {
  const width = vectors[0].length;
  const joined = new Float32Array(vectors.length * width);
  vectors.forEach((vector, row) => joined.set(vector, row * width));
  return joined;
}

const extend = ({ids, logProbs, logProb, past}, id, added) => ({
  ids: [...ids, id], logProbs: [...logProbs, added], logProb: logProb + added,
  past});

// The vectors themselves are shared; only the lists of them are copied.
const copyPast = (row) => ({...row,
  past: row.past.map((layer) => layer.map((list) => [...list]))});

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
