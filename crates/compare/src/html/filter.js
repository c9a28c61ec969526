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
