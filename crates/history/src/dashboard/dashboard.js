"use strict";
// Filtering: a row is shown if it has each chosen value and a day within the time.
const choose = document.getElementById("choose");
const rows = [...document.querySelectorAll("tr[data-days]")];
const holds = (spans, at) =>
  spans !== undefined &&
  spans.split(" ").some((span) => {
    const [low, high = low] = span.split("-");
    return Number(low) <= at && at <= Number(high);
  });
const filter = () => {
  const chosen = [...choose.querySelectorAll("select")].filter(({ value }) => value);
  const [from, to] = [choose.elements.from.value, choose.elements.to.value];
  let n = 0;
  for (const row of rows) {
    const [first, last = first] = row.dataset.days.split(" ");
    const isIn =
      chosen.every(({ name, value }) => holds(row.dataset[name], Number(value))) &&
      (!from || (last && from <= last)) &&
      (!to || (first && first <= to));
    row.hidden = !isIn;
    n += isIn;
  }
  for (const table of document.querySelectorAll("main table")) {
    const box = table.closest(".wide");
    box.hidden = !table.querySelector("tbody tr:not([hidden])");
    box.nextElementSibling.hidden = !box.hidden;
  }
  const isFiltered = chosen.length || from || to;
  choose.querySelector("output").textContent = isFiltered ? `${n} of ${rows.length} rows` : "";
};
choose.hidden = false;
choose.addEventListener("input", filter);
choose.addEventListener("reset", () => setTimeout(filter));
choose.addEventListener("submit", (event) => event.preventDefault());
