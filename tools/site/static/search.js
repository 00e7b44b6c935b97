"use strict";
const script = document.currentScript;
const input = document.querySelector("input[type=search]");
const found = document.querySelector("form ol");
const around = 60; // characters of text on each side of a hit

// All pages and their texts, loaded with the first letter.
let pages;

async function search() {
  pages ??= fetch(script.dataset.index).then((response) => response.json());
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = (await pages).filter((page) => words.every((word) => (page.title.toLowerCase() + " " + page.text).includes(word)));
  const rank = (page) => words.filter((word) => page.title.toLowerCase().includes(word)).length;
  found.replaceChildren(...hits.sort((a, b) => rank(b) - rank(a)).slice(0, 10).map((page) => {
    const at = page.text.indexOf(words[0]);
    const link = Object.assign(document.createElement("a"), { href: page.url, textContent: page.title });
    const text = Object.assign(document.createElement("p"), { textContent: at < 0 ? "" : "… " + page.text.slice(Math.max(0, at - around), at + around) + " …" });
    const item = document.createElement("li");
    item.append(link, text);
    return item;
  }));
  found.hidden = words.length === 0;
}

input.addEventListener("input", search);
input.form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
