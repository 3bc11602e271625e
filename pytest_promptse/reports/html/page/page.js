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

// A record of instruments' suites alone has no tasks.
filters?.addEventListener("input", filter);
filters?.addEventListener("submit", (event) => event.preventDefault());

// A task with its variants, decompressed when the first one is opened

let unpacked;
async function tasks() {
  unpacked ??= (async () => {
    const packed = document.getElementById("variants").textContent;
    const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })();
  return unpacked;
}

function difference(stretches) {
  const shown = make("p", { className: "variant" });
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

function opened(variant, task) {
  const parts = [difference(variant.difference)];
  const facts = [];
  if (variant.distance > 0) {
    facts.push(`measured distance ${figure(variant.measured, 3)}`);
    facts.push(`${figure(100 * variant.added, 0)} % of its words added`);
    facts.push(`${figure(variant.length, 2)} times as long`);
  }
  if (variant.score !== null) facts.push(`score ${figure(variant.score, 3)}`);
  if (variant.excess !== null) facts.push(`excess ${signed(variant.excess)}`);
  if (variant.p !== null) facts.push(`p ${variant.p < 0.001 ? "<0.001" : figure(variant.p, 3)}`);
  if (variant.ess !== null) facts.push(`effective samples ${figure(variant.ess, 1)}`);
  if (variant.rewriter) facts.push(`by ${variant.rewriter}`);
  parts.push(make("p", { className: "facts" }, ...facts.map((fact) => make("span", {}, fact))));
  const cues = Object.entries(variant.cues);
  if (cues.length) {
    parts.push(make("p", { className: "muted" },
      `Cues: ${cues.map(([name, text]) => `${name} “${text}”`).join(", ")}`));
  }
  parts.push(...variant.samples.map((one) => sample(one, task, variant.n)));
  const kept = variant.samples.reduce((sum, [n]) => sum + n, 0);
  if (kept < variant.n) {
    parts.push(make("p", { className: "muted" },
      `${variant.n - kept} more of ${variant.n} samples are not kept in this file.`));
    const known = new Set(variant.samples.map(([, cause]) => cause));
    for (const [cause, detail] of Object.entries(variant.details)) {
      if (!known.has(cause)) parts.push(make("pre", { className: "detail" }, `${words(cause)}: ${detail}`));
    }
  }
  return parts;
}

// Change of the pass rate from the original prompt, if that was measured.
function change(variant, task) {
  const [original] = task.variants;
  return original.distance === 0 && variant !== original ? variant.rate - original.rate : null;
}

function row(variant, number, task) {
  const what = variant.distance === 0 ? "Original prompt"
    : [variant.emotion, variant.personality?.replaceAll(".", " · ")].filter(Boolean).join(", ")
      || variant.id;
  const changed = change(variant, task);
  const passed = Math.round(variant.rate * variant.n);
  const summary = make("summary", {},
    make("span", { className: "n distance" }, variant.distance === 0 ? "" : String(variant.distance)),
    make("span", { className: "name" }, what),
    make("span", { className: "n" }, `${passed}/${variant.n}`),
    make("span", { className: changed < 0 ? "n loss" : "n" },
      variant.distance === 0 ? "" : signed(changed)));
  const details = make("details", { id: `variant-${number}` }, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...opened(variant, task));
  });
  return details;
}

const dialog = document.getElementById("task");

async function show(place, number) {
  const task = (await tasks())[place];
  if (!task) return;
  document.getElementById("task-title").textContent = task.id;
  const rows = task.variants.map((variant, index) => row(variant, index, task));
  const where = [task.suite, task.model, task.template].filter(Boolean);
  const list = make("div", { className: "variants" }, ...rows);
  const worstFirst = make("input", { type: "checkbox" });
  worstFirst.addEventListener("change", () => {
    const changed = (index) => change(task.variants[index], task) ?? 0;
    const order = [...rows.keys()];
    if (worstFirst.checked) order.sort((a, b) => changed(a) - changed(b));
    list.append(...order.map((index) => rows[index]));
  });
  document.getElementById("task-body").replaceChildren(
    make("p", { className: "facts" }, ...where.map((part) => make("span", {}, part))),
    make("label", { className: "check" }, worstFirst, " most harmful first"),
    make("div", { className: "heads", ariaHidden: "true" },
      ...["distance", "variant", "passed", "change"].map((head) => make("span", {}, head))),
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
  if (wanted.has("task")) show(Number(wanted.get("task")), Number(wanted.get("variant") ?? NaN));
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
