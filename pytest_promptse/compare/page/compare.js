// The search through the tasks

const find = document.getElementById("find");
const taskRows = [...document.querySelectorAll("#task-table tbody tr")];
const searched = new Map(taskRows.map((row) => [
  row, [...row.cells].map((cell) => cell.textContent).join("\n").toLowerCase(),
]));

function search() {
  const parts = find.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const row of taskRows) {
    const fits = parts.every((part) => searched.get(row).includes(part));
    row.hidden = !fits;
    shown += fits;
  }
  const all = `${taskRows.length} row${taskRows.length === 1 ? "" : "s"}`;
  document.getElementById("shown").textContent = shown === taskRows.length
    ? all : `${shown} of ${all}`;
}

if (find) {
  find.addEventListener("input", search);
  find.form.addEventListener("submit", (event) => event.preventDefault());
}
