// The page of kt-attention, as high as its content.

import {ask, note, showFrame} from "./dom.js";

export const title = "Attention";
export const showsOneSentence = true;

const EVENTS = ["click", "dblclick", "change", "keydown"];

export function open(context) {
  // What the page shows stands in its address, which becomes part of ours.
  function follow(frame) {
    const {contentWindow: page} = frame;
    for (const name of EVENTS) {
      page.addEventListener(name, () =>
        context.set({attention: page.location.hash.slice(1)}));
    }
  }

  return {
    async update() {
      const results = await context.ask("attention");
      if (!results) return;
      const {attention} = context.state.options;
      // An empty fragment would scroll our page to the top of this one.
      const place = attention ? `#${attention}` : "";
      const frame = results.frame && showFrame(`${results.frame}${place}`,
        "Attention of all layers and heads", follow);
      context.root.replaceChildren(frame ?? note("Type a sentence to see which "
        + "of its words the model attends to."));
    },
    save: async () => (await ask("attention_file", context.sentence)).html,
  };
}
