// Run the file that the first argument names with vitest, and write a line of JSON for each test
// to descriptor 3. The tests and the program run in a process that vitest starts, which has no such
// descriptor.
import { writeSync } from "node:fs";
import { startVitest } from "vitest/node";

const report = (line) => writeSync(3, `${JSON.stringify(line)}\n`);
const root = import.meta.dirname;
// The processes of tests inherit it. Node reads its memory from /proc, which the sandbox does not
// have, and vitest 3 asks for it at the end of each file.
process.env.NODE_OPTIONS =
  "--import=data:text/javascript,process.memoryUsage=()=>({rss:0,heapTotal:0,heapUsed:0,external:0})";
const vitest = await startVitest(
  "test",
  [process.argv[2]],
  {
    root,
    config: false,
    watch: false,
    cache: false,
    globals: true,
    pool: "forks",
    fileParallelism: false,
    reporters: [{}],
    printConsoleTrace: false,
  },
  { cacheDir: `${root}/cache`, configFile: false },
);
for (const module of vitest.state.getTestModules()) {
  for (const { message } of module.errors()) report({ error: message });
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    report({ name: test.fullName, state, error: errors?.[0]?.message });
  }
}
for (const error of vitest.state.getUnhandledErrors()) report({ error: error.message });
await vitest.close();
