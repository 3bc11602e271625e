import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { options } from "./helpers/options.ts";
import { slugify } from "./slug_node.ts";

describe("slugify", () => {
  it("lowers", () => {
    assert.equal(slugify("Hello,  World!", options), "hello-world");
  });
  it.skip("is fast", () => {});
});
test("more", async (t) => {
  await t.test("empty", () => assert.equal(slugify("", options), ""));
  await t.test("mark", () => assert.equal(slugify("x!", options), "x"));
});
