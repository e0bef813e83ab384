// Translates while the sentence is typed.

import {cut, make, percent, round} from "./dom.js";

export const title = "Translate";

const PAUSE = 150;  // milliseconds before the words are shaded

export function open(context) {
  const {root} = context;
  const output = make("div", {class: "panel output", dir: "auto",
    "aria-live": "polite", "aria-label": "Translation"});
  const legend = make("span", {class: "legend"}, make("small", {}, "sure"),
    make("i"), make("small", {}, "unsure"));
  const hint = make("small", {}, "Click a word to see others.");
  const free = make("button", {type: "button", hidden: true,
    onclick: () => translate("")}, "Translate freely again");
  const others = make("ul", {class: "others",
    "aria-label": "Other translations"});
  root.append(output, make("div", {class: "below"}, legend, hint, free),
    others);
  let prefix = "";  // which the translation has to begin with
  let hypotheses = [];

  async function translate(beginning) {
    prefix = beginning;
    close();
    output.classList.add("waiting");
    const results = await context.ask("translate", {prefix});
    if (!results) return;
    hypotheses = results.hypotheses;
    show(0);
  }

  async function show(chosen) {
    output.classList.remove("waiting");
    free.hidden = !prefix;
    hint.hidden = legend.hidden = !hypotheses.length;
    const text = hypotheses[chosen]?.text ?? "";
    output.replaceChildren(text);
    others.replaceChildren(...hypotheses.map((one, i) => i !== chosen
      && make("li", {}, make("button", {type: "button",
        onclick: () => show(i)}, make("span", {dir: "auto"}, one.text),
      make("small", {title: "log-probability divided by the length penalty"},
        round(one.score))))).filter(Boolean));
    if (!text) return;
    // The next translation does not wait for shades that nobody would see.
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    if (output.textContent !== text) return;
    const rated = await context.ask("words", {translation: text});
    if (rated && output.textContent === text) {
      output.replaceChildren(...shaded(rated.text ?? text, rated.words));
    }
  }

  // Each word is a button whose shade is the doubt of the model.
  function shaded(text, words) {
    const parts = [];
    let place = 0;
    for (const {start, stop, log_prob: logProb} of words) {
      const probability = Math.exp(logProb);
      const word = cut(text, start, stop);
      const button = make("button", {type: "button",
        class: stop <= [...prefix].length ? "word fixed" : "word",
        "--share": ((1 - probability) ** 1.5).toFixed(3), "aria-expanded": "false",
        title: `probability ${percent(probability)}`,
        onclick: () => offer(button, cut(text, 0, start))}, word);
      parts.push(cut(text, place, start), make("span", {class: "place"},
        button));
      place = stop;
    }
    return [...parts, cut(text, place)];
  }

  async function offer(button, beginning) {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    close();
    if (isOpen) return;
    button.setAttribute("aria-expanded", "true");
    const results = await context.ask("alternatives", {prefix: beginning});
    if (!results || !button.isConnected) return;
    const list = make("ul", {class: "choices", "aria-label": "Other words",
      onkeydown: move}, ...results.alternatives.map((one) => make("li", {},
      make("button", {type: "button", title: one.text, onclick: () =>
        translate(cut(one.text, 0, one.start + [...one.word].length))},
      one.word, make("small", {}, percent(one.probability))))));
    button.after(list);
    const {right} = list.getBoundingClientRect();
    const over = right - document.documentElement.clientWidth + 8;
    if (over > 0) list.style.setProperty("left", `${-over}px`);
    list.querySelector("button")?.focus();
  }

  function move(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    const place = buttons.indexOf(document.activeElement) + step;
    buttons[(place + buttons.length) % buttons.length].focus();
  }

  function close() {
    const list = output.querySelector(".choices");
    const button = output.querySelector("[aria-expanded=true]");
    if (list?.contains(document.activeElement)) button?.focus();
    list?.remove();
    button?.setAttribute("aria-expanded", "false");
  }

  const closeOutside = (event) => {
    if (event.key === "Escape" || (event.type === "pointerdown"
        && !event.target.closest(".choices, .word"))) close();
  };
  addEventListener("keydown", closeOutside);
  addEventListener("pointerdown", closeOutside);
  return {
    update: () => translate(""),
    close() {
      removeEventListener("keydown", closeOutside);
      removeEventListener("pointerdown", closeOutside);
    },
  };
}
