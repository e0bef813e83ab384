// The menu of other words below a word.

import {make, percent} from "./elements.js";

// Opens the menu. Each of the `others` has a `word` with its `probability`, the
// `text` that it leads to, and a function `choose`.
export function openMenu(button, others) {
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

// Closes the menu that is open in an element, if there is one.
export function closeMenu(output) {
  const list = output.querySelector(".choices");
  const button = output.querySelector("[aria-expanded=true]");
  if (list?.contains(document.activeElement)) button?.focus();
  list?.remove();
  button?.setAttribute("aria-expanded", "false");
}

// Tells whether an event is Escape, or a click outside words and menus.
export const isOutside = (event) => event.key === "Escape"
  || (event.type === "pointerdown" && !event.target.closest(".choices, .word"));
