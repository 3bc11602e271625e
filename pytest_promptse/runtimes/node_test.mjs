// Run the file that the first argument names with node:test, and write a line of JSON for each test
// to descriptor 3. The tests and the program run in a process that node:test starts, which has no
// such descriptor.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";

const file = join(import.meta.dirname, process.argv[2]);
const path = [];
for await (const { type, data } of run({ files: [file] })) {
  if (type === "test:stderr") process.stderr.write(data.message);
  if (type === "test:start") path[data.nesting] = data.name;
  if (type !== "test:pass" && type !== "test:fail") continue;
  const { error, type: kind } = data.details;
  const failed = type === "test:fail";
  if (failed) process.exitCode = 1;
  if (data.name === file) {
    // The process of the file, where it ended without a test.
    writeSync(3, `${JSON.stringify({ error: error?.message ?? "ended without a test" })}\n`);
  } else if (kind !== "suite" && error?.failureType !== "subtestsFailed") {
    const name = [...path.slice(0, data.nesting), data.name].join(" > ");
    const state = failed ? "failed" : data.skip || data.todo ? "skipped" : "passed";
    const message = error?.cause?.message ?? error?.message;
    writeSync(3, `${JSON.stringify({ name, state, error: message })}\n`);
  }
}
