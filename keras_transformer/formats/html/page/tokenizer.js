// Text to ids and back, as SentencePiece does it with the same vocabulary.

const SPACE = "\u2581";
const NORMAL = 1;
const USER_DEFINED = 4;
const BYTE = 6;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

class Tokenizer {
  // The `normalizer` is a table of replacements: the length of a trie, the
  // trie, and texts that end in zeros.
  constructor(vocabulary, normalizer) {
    const {pieces, types, symbols} = vocabulary;
    Object.assign(this, vocabulary);
    this.characters = new Set(pieces.join("") + SPACE);
    this.ids = new Map();
    this.byteIds = [];
    types.forEach((type, id) => {
      if (type === BYTE) this.byteIds.push(id);
      else if (type === NORMAL || type === USER_DEFINED) {
        this.ids.set(pieces[id], id);
      }
    });
    this.divider = symbols && new RegExp(`(${symbols})`, "u");
    if (!normalizer.byteLength) return;
    const [size] = new Uint32Array(normalizer, 0, 1);
    this.trie = new Uint32Array(normalizer, 4, size / 4);
    this.replacements = new Uint8Array(normalizer, 4 + size);
  }

  // Divides a text at symbols; parts with odd numbers are symbols.
  divide(text) {
    return this.divider ? text.split(this.divider) : [text];
  }

  // Returns a text with replacements and single spaces, which are marked.
  normalize(text) {
    const written = [];
    this.divide(text).forEach((part, number) => {
      const bytes = encoder.encode(part);
      for (let i = 0; i < bytes.length;) {
        const [length, start] = number % 2 ? [] : this.findReplacement(bytes, i);
        if (length) {
          const stop = this.replacements.indexOf(0, start);
          written.push(...this.replacements.subarray(start, stop));
        } else written.push(bytes[i]);
        i += length || 1;
      }
    });
    const result = decoder.decode(new Uint8Array(written))
      .replace(/^ +/u, "").replace(/ +/gu, SPACE).replace(/\u2581+$/u, "");
    return result && SPACE + result;
  }

  // Finds the longest replacement that fits, by the units of Darts-clone:
  // returns its length, 0 for none, and where the new text begins.
  findReplacement(bytes, start) {
    const {trie} = this;
    const found = [0, 0];
    if (!trie) return found;
    const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
    let node = offset(trie[0]);
    for (let i = start; i < bytes.length; i += 1) {
      node ^= bytes[i];
      const unit = trie[node];
      if ((unit & 0x800000ff) >>> 0 !== bytes[i]) break;
      node ^= offset(unit);
      if (unit & 256) {
        found[0] = i + 1 - start;
        found[1] = trie[node] & 0x7fffffff;
      }
    }
    return found;
  }

  // Returns the ids of a text with the end id.
  encode(text) {
    const ids = [];
    for (const symbol of this.segment(this.normalize(text))) {
      const id = this.ids.get(symbol);
      if (id !== undefined) ids.push(id);
      else if (this.byteIds.length) {
        for (const byte of encoder.encode(symbol)) ids.push(this.byteIds[byte]);
      } else if (ids.at(-1) !== UNKNOWN) ids.push(UNKNOWN);
    }
    return [...ids, END];
  }

  // Counts the characters of a text that no piece has.
  countMissing(text) {
    const characters = new Set(this.normalize([...new Set(text)].join("")));
    return [...characters].filter((one) => !this.characters.has(one)).length;
  }

  segment(text) {
    if (this.kind === "WORD") return text.match(/\u2581[^\u2581]*/gu) ?? [];
    const symbols = this.divide(text).flatMap((part, number) =>
      number % 2 ? [part] : [...part]);
    if (this.kind === "CHAR") return symbols;
    // Byte-pair encoding: the pair with the best score is joined first.
    const isFixed = (one) => this.types[this.ids.get(one)] === USER_DEFINED;
    const rate = (i) => {
      const pair = symbols.slice(i, i + 2);
      const id = this.ids.get(pair.join(""));
      return pair.length < 2 || id === undefined || pair.some(isFixed)
        ? -Infinity : this.scores[id];
    };
    const rates = symbols.map((_, i) => rate(i));
    for (;;) {
      let best = -1;
      for (let i = 0; i < rates.length; i += 1) {
        if (rates[i] > (rates[best] ?? -Infinity)) best = i;
      }
      if (best < 0) return symbols;
      symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
      rates.splice(best, 1);
      if (best > 0) rates[best - 1] = rate(best - 1);
      rates[best] = rate(best);
    }
  }

  // Returns the text of each id; bytes belong to the last one of a character.
  spell(ids) {
    const texts = [];
    let bytes = [];
    ids.forEach((id, place) => {
      let text = "";
      if (this.types[id] === BYTE) {
        bytes.push(this.byteIds.indexOf(id));
        if (this.types[ids[place + 1]] !== BYTE) {
          text = decoder.decode(new Uint8Array(bytes)).replace(/\n/gu, " ");
          bytes = [];
        }
      } else if (id > UNKNOWN) {
        text = this.pieces[id];
        if (!texts.some(Boolean) && text.startsWith(SPACE)) text = text.slice(1);
        text = text.replaceAll(SPACE, " ");
      }
      texts.push(text);
    });
    return texts;
  }
}
