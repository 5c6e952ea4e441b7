// A table of words that is too wide for a phone becomes a list: each cell below the name of its
// column. A table of rows, with short cells alone, stays a table.
const phone = window.matchMedia("(max-width: 44.98em)");
const tables = [...document.querySelectorAll(".md-typeset table:not([class])")];

for (const table of tables) {
  const heads = [...table.querySelectorAll("th")].map((head) => head.textContent);
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, at) => { cell.dataset.head = heads[at]; });
  }
}

function fit() {
  for (const table of tables) {
    delete table.dataset.list;
    if (!phone.matches) continue;
    const cells = [...table.querySelectorAll("td")];
    const hasWords = cells.some((cell) => cell.textContent.length > 24);
    const isWide = table.scrollWidth > document.querySelector("article").clientWidth;
    const isNarrow = cells.some((cell) => cell.clientHeight > 150);
    if (hasWords && (isWide || isNarrow)) table.dataset.list = "";
  }
}

fit();
phone.addEventListener("change", fit);
