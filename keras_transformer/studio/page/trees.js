// The tree of a sentence, and of the text in brackets above it.

import {ask, draw, make, note} from "./dom.js";

export const title = "Trees";
export const showsOneSentence = true;

const LEVEL = 52;
const GAP = 18;

export function open(context) {
  const brackets = make("textarea", {class: "brackets", rows: 2,
    spellcheck: "false", "aria-label": "Tree in brackets",
    oninput: () => redraw()});
  const picture = make("div", {class: "panel scroll", tabindex: 0,
    role: "region", "aria-label": "Tree"});
  context.root.append(brackets, picture);

  const show = ({steps}) => picture.replaceChildren(steps.length
    ? drawTree(steps)
    : note("Type a sentence to see its tree. The text in brackets can be "
      + "changed, too."));

  async function redraw() {
    const tree = await context.work(ask("tree", {brackets: brackets.value}));
    if (tree) show(tree);
  }

  return {
    async update() {
      const tree = await context.ask("parse");
      if (!tree) return;
      brackets.value = tree.brackets;
      show(tree);
    },
  };
}

// Leaves stand side by side, and a constituent above the middle of its
// children. All words share the lowest line.
function drawTree(steps) {
  const measure = make("canvas").getContext("2d");
  measure.font = "14px system-ui";
  const [open, nodes, root] = [[], [], {children: []}];
  open.push(root);
  let right = GAP;
  for (const [step, label, word] of steps) {
    const parent = open[open.length - 1];
    if (step === "close") {
      const node = open.pop();
      const [first, last] = [node.children[0], node.children.at(-1)];
      node.x = (first.x + last.x) / 2;
      continue;
    }
    const node = {label, word, depth: open.length - 1, children: []};
    parent.children.push(node);
    nodes.push(node);
    if (step === "open") open.push(node);
    else {
      const width = Math.max(measure.measureText(word).width,
        measure.measureText(label).width);
      node.x = right + width / 2;
      right += width + GAP;
    }
  }
  const bottom = 30 + LEVEL * Math.max(...nodes.map((node) => node.depth)) + 44;
  const svg = draw("svg", {width: right, height: bottom + 24, role: "img",
    "aria-label": "Tree of the sentence"});
  for (const node of root.children) svg.append(drawNode(node, bottom));
  return svg;
}

function drawNode(node, bottom) {
  const y = 30 + LEVEL * node.depth;
  if (node.word !== null) {
    return draw("g", {class: "constituent"},
      draw("path", {class: "branch leaf", d: `M${node.x},${y + 6}V${bottom - 14}`}),
      draw("text", {x: node.x, y, class: "tag", "text-anchor": "middle"},
        node.label),
      draw("text", {x: node.x, y: bottom, "text-anchor": "middle"}, node.word));
  }
  const group = draw("g", {class: "constituent", onpointerover: (event) => {
    event.stopPropagation();
    choose(group);
  }, onpointerleave: () => choose(null)});
  for (const child of node.children) {
    const below = 30 + LEVEL * child.depth - 14;
    group.append(draw("path", {class: "branch",
      d: `M${node.x},${y + 6}L${child.x},${below}`}), drawNode(child, bottom));
  }
  group.append(draw("text", {x: node.x, y, class: "label",
    "text-anchor": "middle"}, node.label));
  return group;
}

// The label and the words of a constituent stand out.
function choose(group) {
  const svg = document.querySelector("#view svg");
  svg.querySelectorAll(".chosen").forEach((each) =>
    each.classList.remove("chosen"));
  group?.classList.add("chosen");
  group?.querySelectorAll(".constituent").forEach((each) =>
    each.classList.add("chosen"));
}
