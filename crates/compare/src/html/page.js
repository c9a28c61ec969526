"use strict";
// Sorting: the titles of a sortable table become buttons.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((title, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...title.childNodes);
    title.append(button);
    button.addEventListener("click", () => {
      const names = column === 0;
      const was = title.getAttribute("aria-sort");
      const falling = was ? was === "ascending" : !names;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.v;
      const order = (a, b) => {
        const [left, right] = [value(a), value(b)];
        // What has no value stays last, whichever way the others go.
        if (left === undefined || right === undefined)
          return (left === undefined) - (right === undefined);
        const less = names ? left.localeCompare(right, "en", { numeric: true }) : left - right;
        return falling ? -less : less;
      };
      body.append(...[...body.rows].sort(order));
    });
  });
}
// Filtering: ops by a part of their name, in the table and among the attempts.
const filter = document.getElementById("filter");
const rows = [...document.querySelectorAll("table.ops tbody tr")];
const details = [...document.querySelectorAll("details.op")];
filter.hidden = rows.length < 12;
filter.querySelector("input").addEventListener("input", (event) => {
  const part = event.target.value.trim().toLowerCase();
  const holds = (name) => name.toLowerCase().includes(part);
  let n = 0;
  for (const row of rows) n += !(row.hidden = !holds(row.cells[0].dataset.v));
  for (const one of details) one.hidden = !holds(one.dataset.op);
  filter.querySelector("output").textContent = part ? `${n} of ${rows.length}` : "";
});
// Links to an op open it; browsers that do so themselves are not disturbed.
const reveal = () => {
  const target = /^#op-\d+$/.test(location.hash) && document.querySelector(location.hash);
  if (target) target.parentElement.open = true;
};
addEventListener("hashchange", reveal);
reveal();
