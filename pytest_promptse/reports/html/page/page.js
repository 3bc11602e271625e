const words = (name) => name.replaceAll("_", " ");
const figure = (value, digits = 2) => (value === null ? "·" : value.toFixed(digits));
const signed = (value) => {
  if (value === null) return "·";
  const size = Math.abs(value).toFixed(2);
  return size === "0.00" ? size : (value < 0 ? "\u2212" : "+") + size;
};

// The filter

const filters = document.querySelector(".filters");
const taskRows = [...document.querySelectorAll("#task-table tbody tr")];
const searched = new Map(taskRows.map((row) => [
  row, [row.cells[0].textContent, row.dataset.suite, row.dataset.model].join("\n").toLowerCase(),
]));

function filter() {
  const wanted = (id) => document.getElementById(id)?.value ?? "";
  const parts = wanted("find").toLowerCase().split(/\s+/);
  const [model, suite] = [wanted("model"), wanted("suite")];
  const onlyLosses = document.getElementById("changed").checked;
  let shown = 0;
  for (const row of taskRows) {
    const fits = parts.every((part) => searched.get(row).includes(part))
      && (!model || row.dataset.model === model)
      && (!suite || row.dataset.suite === suite)
      && (!onlyLosses || "loss" in row.dataset);
    row.hidden = !fits;
    shown += fits;
  }
  document.getElementById("shown").textContent = shown === taskRows.length
    ? `${shown} tasks` : `${shown} of ${taskRows.length} tasks`;
}

// A record of psychometric suites alone has no tasks.
filters?.addEventListener("input", filter);
filters?.addEventListener("submit", (event) => event.preventDefault());

// A task with its variants, decompressed when the first one is opened

let unpacked;
async function tasks() {
  unpacked ??= (async () => {
    const packed = document.getElementById("wordings").textContent;
    const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })();
  return unpacked;
}

function difference(stretches) {
  const shown = make("p", { className: "wording" });
  for (const [kind, text] of stretches) {
    shown.append(kind === 0 ? text : make(kind === 1 ? "del" : "ins", {}, text));
  }
  return shown;
}

function sample([n, cause, detail, key], task, total) {
  const verdict = make("span", { className: `badge ${cause ? "fail" : "pass"}` },
    cause ? words(cause) : "pass");
  const shown = make("div", { className: "sample" },
    make("p", {}, verdict, ` ${n} of ${total} samples`));
  if (detail) shown.append(make("pre", { className: "detail" }, detail));
  if (task.texts[key]) shown.append(make("pre", { className: "program" }, task.texts[key]));
  return shown;
}

function opened(wording, task) {
  const parts = [difference(wording.difference)];
  const facts = [];
  if (wording.measured !== null) facts.push(`measured distance ${figure(wording.measured, 3)}`);
  if (wording.added !== null) facts.push(`${figure(100 * wording.added, 0)} % of its words added`);
  if (wording.length !== null) facts.push(`${figure(wording.length, 2)} times as long`);
  if (wording.score !== null) facts.push(`score ${figure(wording.score, 3)}`);
  if (wording.excess !== null) facts.push(`excess ${signed(wording.excess)}`);
  if (wording.p !== null) facts.push(`p ${figure(wording.p, 3)}`);
  if (wording.ess !== null) facts.push(`effective samples ${figure(wording.ess, 1)}`);
  if (wording.rewriter) facts.push(`by ${wording.rewriter}`);
  parts.push(make("p", { className: "facts" }, ...facts.map((fact) => make("span", {}, fact))));
  const cues = Object.entries(wording.cues);
  if (cues.length) {
    parts.push(make("p", { className: "muted" },
      `Cues: ${cues.map(([name, text]) => `${name} “${text}”`).join(", ")}`));
  }
  parts.push(...wording.samples.map((one) => sample(one, task, wording.n)));
  const told = wording.samples.reduce((sum, [n]) => sum + n, 0);
  if (told < wording.n) {
    parts.push(make("p", { className: "muted" },
      `${wording.n - told} more of ${wording.n} samples are not kept in this file.`));
    const known = new Set(wording.samples.map(([, cause]) => cause));
    for (const [cause, detail] of Object.entries(wording.details)) {
      if (!known.has(cause)) parts.push(make("pre", { className: "detail" }, `${words(cause)}: ${detail}`));
    }
  }
  return parts;
}

// Change of the pass rate from the original prompt, if that was measured.
function change(wording, task) {
  const [original] = task.wordings;
  return original.id === null && wording !== original ? wording.rate - original.rate : null;
}

function row(wording, number, task) {
  const what = wording.id === null ? "Original prompt"
    : [wording.emotion, wording.personality?.replaceAll(".", " · ")].filter(Boolean).join(", ")
      || wording.id;
  const changed = change(wording, task);
  const passed = Math.round(wording.rate * wording.n);
  const summary = make("summary", {},
    make("span", { className: "n distance" }, wording.distance === null ? "" : String(wording.distance)),
    make("span", { className: "voice" }, what),
    make("span", { className: "n" }, `${passed}/${wording.n}`),
    make("span", { className: changed < 0 ? "n loss" : "n" },
      wording.id === null ? "" : signed(changed)));
  const details = make("details", { id: `wording-${number}` }, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...opened(wording, task));
  });
  return details;
}

const dialog = document.getElementById("task");

async function show(place, number) {
  const task = (await tasks())[place];
  if (!task) return;
  document.getElementById("task-title").textContent = task.id;
  const rows = task.wordings.map((wording, index) => row(wording, index, task));
  const where = [task.suite, task.model, task.template].filter(Boolean);
  const list = make("div", { className: "wordings" }, ...rows);
  const worstFirst = make("input", { type: "checkbox" });
  worstFirst.addEventListener("change", () => {
    const changed = (index) => change(task.wordings[index], task) ?? 0;
    const order = [...rows.keys()];
    if (worstFirst.checked) order.sort((a, b) => changed(a) - changed(b));
    list.append(...order.map((index) => rows[index]));
  });
  document.getElementById("task-body").replaceChildren(
    make("p", { className: "facts" }, ...where.map((part) => make("span", {}, part))),
    make("label", { className: "check" }, worstFirst, " most harmful first"),
    make("div", { className: "heads", ariaHidden: "true" },
      ...["distance", "voice", "passed", "change"].map((head) => make("span", {}, head))),
    list);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  if (rows[number]) {
    rows[number].open = true;
    rows[number].firstElementChild.focus();
    rows[number].scrollIntoView({ block: "start" });
  }
}

// The address says what is open, so that it can be linked and "back" closes it.

function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("task")) show(Number(wanted.get("task")), Number(wanted.get("wording") ?? NaN));
  else if (dialog.open) dialog.close();
}

dialog.addEventListener("close", () => {
  if (location.hash.startsWith("#task=")) {
    history.replaceState(null, "", location.pathname + location.search);
  }
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
document.getElementById("close").addEventListener("click", () => dialog.close());
window.addEventListener("hashchange", follow);
follow();
