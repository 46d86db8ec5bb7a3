"use strict";
(() => {
  const form = document.querySelector("#filters");
  if (!form) return;
  const list = document.querySelector("#sentences");
  const items = Array.from(list.children);
  const count = document.querySelector("#count");
  const field = (name) => form.elements[name];
  const has = (item, name, value) => !value || item.dataset[name].split("\n").includes(value);

  function filter() {
    const text = field("text").value.trim().toLowerCase();
    const sure = Number(field("confidence").value);
    document.querySelector("#sure").textContent = sure.toFixed(2);
    let shown = 0;
    for (const item of items) {
      const keep = item.dataset.text.includes(text) && has(item, "types", field("type").value) &&
        has(item, "kinds", field("kind").value) && has(item, "pairs", field("pair").value) &&
        Number(item.dataset.confidence) <= sure;
      item.hidden = !keep;
      shown += keep;
    }
    count.textContent = `${shown} of ${items.length} sentences shown`;
  }

  function sort() {
    const [key, sign] = { worst: ["", 1], unsure: ["confidence", 1], sure: ["confidence", -1], order: ["number", 1] }[field("sort").value];
    const place = (item) => (key ? sign * Number(item.dataset[key]) : items.indexOf(item));
    list.append(...items.slice().sort((a, b) => place(a) - place(b)));
  }

  form.addEventListener("input", filter);
  form.addEventListener("change", () => { sort(); filter(); });
  form.addEventListener("reset", () => setTimeout(() => { sort(); filter(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("button[data-pair]"))
    button.addEventListener("click", () => {
      form.reset();
      field("pair").value = button.dataset.pair;
      sort();
      filter();
      document.querySelector("#mistakes").scrollIntoView();
    });
  filter();
})();
