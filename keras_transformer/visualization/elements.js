// Elements of the pages, for files and for kt-studio.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

// A name such as "onclick" is that of an event, and one such as "--colour" that
// of a property of CSS. Children that are strings become text, never markup.
export function fill(element, attributes, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// The start of a text. Its characters may be longer than JavaScript's.
export const shorten = (text, size) => [...text].length > size
  ? `${[...text].slice(0, size - 1).join("")}\u2026` : text;

export const make = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
export const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

// A token as readable text: a dot before a piece that continues a word, the
// text without SentencePiece's mark, and the name of its class.
export function splitToken(token) {
  if (/^\((start|end|word)\)$/.test(token)) return ["", token, "special"];
  const byte = token.match(/^<0x([2-7][0-9A-F])>$/);
  if (byte) return ["\u00b7", String.fromCharCode(parseInt(byte[1], 16)), ""];
  if (token === "\u2581") return ["", "\u2423", "mark"];
  return token.startsWith("\u2581") ? ["", token.slice(1), ""]
    : ["\u00b7", token, ""];
}

export const percent = (number) => number >= 0.0995
  ? `${Math.round(100 * number)}%` : number < 0.0005 ? "<0.1%"
    : `${(100 * number).toFixed(1)}%`;

// Copies a text, or selects the element with it; returns what to say of it.
export async function copyText(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  } catch {  // only pages of this machine or with HTTPS may
    getSelection().selectAllChildren(element);
    return "Selected. Copy it with Control-C.";
  }
}
