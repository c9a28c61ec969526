"use strict";
// Filtering: rows whose values are those chosen. The other script hides by name.
const choose = document.getElementById("choose");
const choices = [...choose.querySelectorAll("select")];
choose.hidden = false;
choose.addEventListener("change", () => {
  let n = 0;
  for (const row of document.querySelectorAll("table.ops tbody tr")) {
    const isOut = choices.some(({ name, value }) => value && row.dataset[name] !== value);
    row.classList.toggle("out", isOut);
    n += !isOut;
  }
  choose.querySelector("output").textContent = choices.some(({ value }) => value) ? `${n} rows` : "";
});
