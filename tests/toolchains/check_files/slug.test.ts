import { describe, expect, it } from "vitest";
import { options } from "./helpers/options";
import { slugify } from "./slug";

describe("slugify", () => {
  it("lowers", () => {
    expect(slugify("Hello,  World!", options)).toBe("hello-world");
  });
  it.each([["", ""], ["x!", "x"]])("makes of %j %j", async (title, slug) => {
    expect(await slugify(title, options)).toBe(slug);
  });
  it.skip("is fast", () => {});
  it.todo("is small");
});
