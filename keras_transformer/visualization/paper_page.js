// Pointing at a word hides the lines of all others.
for (const svg of document.querySelectorAll("svg")) {
  svg.addEventListener("pointerover", (event) => {
    const {query, key} = event.target.closest("text")?.dataset ?? {};
    const side = query === undefined ? "key" : "query";
    const word = query ?? key;
    svg.classList.toggle("isolated", word !== undefined);
    for (const line of svg.querySelectorAll("line")) {
      line.classList.toggle("chosen", line.dataset[side] === word);
    }
  });
  svg.addEventListener("pointerleave",
    () => svg.classList.remove("isolated"));
}
