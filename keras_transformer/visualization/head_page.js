
// A click on the title of a score sorts the heads by it.
const body = document.querySelector("tbody");

function sortBy(button) {
  const score = (row) => Number(row.querySelector(
    `[data-score=${button.dataset.score}]`).style.getPropertyValue("--score"));
  body.append(...[...body.rows].sort((a, b) => score(b) - score(a)));
  for (const title of document.querySelectorAll("thead th")) {
    title.removeAttribute("aria-sort");
  }
  button.parentElement.setAttribute("aria-sort", "descending");
}

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sortBy(button));
}
sortBy(document.querySelector("th button"));
