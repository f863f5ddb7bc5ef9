// Sort tables. The page is complete without.
"use strict";
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  const key = (row, at) => row.cells[at].dataset.value;
  const sort = (head) => {
    const now = head.getAttribute("aria-sort");
    const falls = now ? now === "ascending" : head.matches(".number");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const at = head.cellIndex, numbers = head.matches(".number"), sign = falls ? -1 : 1;
    const rows = [...body.rows].sort((one, two) => {
      const a = key(one, at), b = key(two, at);
      if (a === "" || b === "") return (a === "") - (b === "");  // missing values last
      return sign * (numbers ? a - b : a.localeCompare(b));
    });
    body.append(...rows);
  };
  for (const head of table.tHead.rows[0].cells) {
    head.tabIndex = 0;
    head.title = "sort by this column";
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(head); });
  }
}
