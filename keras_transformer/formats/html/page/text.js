// What happens to a text before the search: `data/text/letter_case.py` and
// `FinalEmoji` of `decoding/steps/affixes.py` in JavaScript.

const MIN_WORDS = 2;
const MIN_TITLE_WORDS = 4;
const MIN_SENTENCE_WORDS = 4;
const MAX_FREQUENT_ID = 500;
const MAX_FIRST_ID = 2000;
const CAPITAL_FACTOR = 2;
const MANY = 1000000;
const CODE = /[\p{Decimal_Number}<>[\]{}@#$%&*=_/\\|~^+`]|^-/u;
// Python's letters: those of Unicode, and numbers such as \u2167.
const LETTER = /[\p{L}\p{Nl}\p{No}]/u;
const WORD = /(?:[^\s\x1c-\x1f\x85]|\ufeff)+/gu;  // Python's spaces, too
const CORE = new RegExp(`${LETTER.source}(?:.*${LETTER.source})?`, "u");

const lower = (word) => word.toLowerCase();
const isLower = (word) => word === lower(word) && word !== word.toUpperCase();
const isUpper = (word) => word === word.toUpperCase() && word !== lower(word);
const capitalize = (word) => word.replace(LETTER, (one) => one.toUpperCase());
const beginsSmall = (word) => isLower(word.match(LETTER)[0]);
const endsSentence = (text) => /[.!?\u2026]["')\u00bb\u201d\u2019]{0,2}$/u.test(
  text.slice(-3));

// A word as it is, in small letters, and with a first capital.
const spellings = (word) => [word, lower(word), capitalize(lower(word))].map(
  (one) => one.length === word.length ? one : word);

// Restores the usual case of a text in capitals, title case or small letters.
function restoreCase(text, tokenizer) {
  const {hasCapitals: hasAny} = tokenizer;
  const isSentence = hasAny && endsSentence(text.trimEnd());
  const words = (text.match(WORD) ?? []).filter(
    (word) => CORE.test(word) && word.toUpperCase() !== lower(word)
      && !CODE.test(word));
  const [first] = words;
  if (!first || words.some((one) => beginsSmall(one) !== beginsSmall(first))) {
    return text;
  }
  const rank = (spelling) => {
    const [core] = spelling.match(CORE);
    const ids = tokenizer.encode(core).slice(0, -1);
    const unknown = ids.includes(UNKNOWN) ? 1 + tokenizer.countMissing(core) : 0;
    return [ids.length + MANY * unknown, Math.max(0, ...ids)];
  };
  const hasLostCase = () => {
    if (words.every(isLower)) {
      if (!isSentence || words.length < MIN_SENTENCE_WORDS) return false;
      const start = first.match(CORE)[0].split(/['\u2019]/u)[0];
      const ids = tokenizer.encode(capitalize(start));
      return ids.length === 2 && ids[0] <= MAX_FIRST_ID;
    }
    if (!hasAny) return true;
    if (words.every(isUpper)) return words.length >= MIN_WORDS;
    return !beginsSmall(first) && words.length >= MIN_TITLE_WORDS
      && words.slice(1).some((word) => {
        const [count, rarest] = rank(spellings(word)[1]);
        return word.length > 1 && count === 1 && rarest <= MAX_FREQUENT_ID;
      });
  };
  if (!hasLostCase()) return text;
  const isChanged = new Set(words);
  let isStart = true;
  return text.replace(WORD, (word) => {
    if (!isChanged.has(word)) return word;
    let choices = spellings(word);
    if (hasAny && isStart) {
      const others = choices.filter((one) => !isLower(one));
      if (others.length) choices = others;
    }
    isStart = endsSentence(word);
    const costs = choices.map((one) => {
      const [count, rarest] = rank(one);
      return [one, count, (isLower(one) ? 1 : CAPITAL_FACTOR) * rarest];
    });
    return costs.reduce((a, b) =>
      b[1] < a[1] || (b[1] === a[1] && b[2] < a[2]) ? b : a)[0];
  });
}

// The names are those of affixes.py.
const PICTOGRAPH = "\\u2600-\\u27bf\\u{1f000}-\\u{1faff}\\u231a\\u231b"
  + "\\u23e9-\\u23f3\\u25fd\\u25fe\\u2b1b\\u2b1c\\u2b50\\u2b55";
const SIGN = "\\u2190-\\u21ff\\u2300-\\u23ff\\u25a0-\\u25ff\\u2900-\\u297f"
  + "\\u2b00-\\u2bff";
const VARIANT = "[#*0-9]\\ufe0f?\\u20e3|\\S\\ufe0f";
const MARK = "\\u200d\\ufe0e\\ufe0f\\u{e0020}-\\u{e007f}";
const TONES = `[\\u{1f3fb}-\\u{1f3ff}${MARK}]*`;
const EMOJI = new RegExp(`(?:[${PICTOGRAPH}]|${VARIANT})${TONES}`
  + `(?:(?<=\\u200d)[${PICTOGRAPH}${SIGN}]${TONES})*`, "gu");
const RUN = new RegExp(`(?:[\\s${PICTOGRAPH}${SIGN}${MARK}]|${VARIANT})+$`, "u");
const ONLY_MARKS = new RegExp(`^[\\s${MARK}]*$`, "u");

// Takes the emoji from the end of a text, which the model need not read.
function divideEnd(text) {
  const end = text.match(RUN)?.[0] ?? "";
  if (ONLY_MARKS.test(end)) return {body: text, end: ""};
  return {body: text.slice(0, text.length - end.length), end: end.trimEnd()};
}

// Returns the emoji of a source that its translation lacks.
function findMissingEmoji(source, translation) {
  let rest = translation.replaceAll("\ufe0f", "");
  return (source.match(EMOJI) ?? []).filter((one) => {
    const plain = one.replaceAll("\ufe0f", "");
    const isMissing = !rest.includes(plain);
    rest = rest.replace(plain, "");
    return isMissing;
  }).join("");
}
