// The page of kt-attention.

import {ask, make, note} from "./dom.js";

export const title = "Attention";

export function open(context) {
  return {
    async update() {
      const results = await context.ask("attention");
      if (!results) return;
      context.root.replaceChildren(results.frame
        ? make("iframe", {src: `frame/${results.frame}`,
          title: "Attention of all layers and heads"})
        : note("Type a sentence to see which of its words the model attends "
          + "to."));
    },
    save: async () => (await ask("attention_file", context.sentence)).html,
  };
}
