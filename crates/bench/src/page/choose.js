"use strict";
// Choosing: an element is shown where each select either names it or does not concern it.
for (const form of document.querySelectorAll("form.choose")) {
  const section = form.closest("section");
  const elements = [...section.querySelectorAll("[data-is]")].map((element) => [
    element,
    element.dataset.is.split(" "),
  ]);
  const groups = [...section.querySelectorAll(".group-of")];
  const output = form.querySelector("output");
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    const chosen = [...form.querySelectorAll("select")].filter((select) => select.value);
    const fits = (tokens, select) => {
      const own = tokens.filter((token) => token.startsWith(select.name + "-"));
      return own.length === 0 || own.includes(select.value);
    };
    let n = 0;
    for (const [element, tokens] of elements)
      n += !(element.hidden = !chosen.every((select) => fits(tokens, select)));
    for (const group of groups) group.hidden = !group.querySelector("[data-is]:not([hidden])");
    output.textContent = `${n} ${form.dataset.counted}`;
  });
}
