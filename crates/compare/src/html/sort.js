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
