// The words of a translation, and the menu of other words below one.

import {make, percent} from "./elements.js";

// A word whose shade is the doubt of the model. It is no `button`, whose text
// cannot be selected. The function `offer` returns others for its menu: each has
// a `word`, its `probability`, the `text` that it leads to, and a function
// `choose`.
export function makeWord(word, logProb, offer, attributes = {}) {
  const probability = Math.exp(logProb);
  const button = make("span", {class: "word", role: "button", tabindex: 0,
    "aria-expanded": "false", "--share": ((1 - probability) ** 1.5).toFixed(3),
    title: `probability ${percent(probability)}`, ...attributes,
    onclick: () => getSelection().isCollapsed && toggleMenu(button, offer),
    onkeydown: (event) => {
      if (!["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      toggleMenu(button, offer);
    }}, word);
  return make("span", {class: "place"}, button);
}

const isOpen = (button) => button.getAttribute("aria-expanded") === "true";

async function toggleMenu(button, offer) {
  const wasOpen = isOpen(button);
  closeMenu();
  if (wasOpen) return;
  button.setAttribute("aria-expanded", "true");
  const others = await offer();
  if (!others || !isOpen(button)) return;
  const list = make("ul", {class: "choices live", "aria-label": "Other words",
    onkeydown: moveFocus}, ...others.map(
    ({word, probability, text, choose}) => make("li", {}, make("button",
      {type: "button", title: text, onclick: choose}, word,
      make("small", {}, percent(probability))))));
  button.after(list);
  const {right} = list.getBoundingClientRect();
  const over = right - document.documentElement.clientWidth + 8;
  if (over > 0) list.style.setProperty("left", `${-over}px`);
  list.querySelector("button")?.focus();
}

function moveFocus(event) {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (!step) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const place = buttons.indexOf(document.activeElement) + step;
  buttons[(place + buttons.length) % buttons.length].focus();
}

// Closes the menu that is open, if there is one.
export function closeMenu() {
  const list = document.querySelector(".choices");
  const button = document.querySelector(".word[aria-expanded=true]");
  if (list?.contains(document.activeElement)) button?.focus();
  list?.remove();
  button?.setAttribute("aria-expanded", "false");
}

addEventListener("keydown", ({key}) => key === "Escape" && closeMenu());
addEventListener("pointerdown", ({target}) =>
  target.closest(".choices, .word") || closeMenu());
