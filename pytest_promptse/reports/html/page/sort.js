"use strict";

// Foreign text reaches the page through textContent alone, never as markup.
function make(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Tables that sort

function sortBy(column, header, table) {
  const body = table.tBodies[0];
  const isNumber = header.dataset.sort === "number";
  const order = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  const sign = order === "ascending" ? 1 : -1;
  const value = (row) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent.trim();
    return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    // What was not measured comes last either way.
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
    if (isNumber) return sign * (a.value - b.value);
    return sign * a.value.localeCompare(b.value, undefined, { numeric: true });
  };
  const rows = [...body.rows].map((row) => ({ row, value: value(row) }));
  body.append(...rows.sort(compare).map(({ row }) => row));
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", order);
}

for (const table of document.querySelectorAll("table")) {
  for (const [column, header] of [...table.tHead?.rows[0].cells ?? []].entries()) {
    if (!header.dataset.sort) continue;
    const button = make("button", { type: "button" }, ...header.childNodes);
    button.addEventListener("click", () => sortBy(column, header, table));
    header.append(button);
  }
}
