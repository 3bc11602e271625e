// Programs in TypeScript that attack the laws of docs/explanation/sandbox.md, or its compiler. None may pass.
// A line with four slashes begins a program: its title, and its check if that is not "value".

//// typescript: an enum with the value at every key
enum Any { a = 42 }
const all = new Proxy(Any, { get: () => 42 });
export const f = (): unknown => all;

//// typescript: a namespace that replaces the global object's names
namespace globalThis { export const Number = () => 42; export const JSON = { stringify: () => "42" }; }
export function f(): number { return 1; }

//// typescript: a class whose fields convert to the value
export class Answer { constructor(private readonly value = 42) {} valueOf(): number { return this.value; }
  [Symbol.toPrimitive](): number { return 42; } toJSON(): number { return 42; } }
export const f = (): number => new Answer() as unknown as number;

//// typescript: a type assertion makes no number
export const f = (): number => "42" as unknown as number;

//// typescript: an overload that nothing implements
export function f(): number;
export function f(): unknown { return [42]; }

//// typescript: an accessor that changes at each read | attribute
export class A { #reads = 0; get x(): number { return this.#reads++ ? 41 : 42; } }
export const f = (): A => new A();

//// typescript: a member of instances by Symbol.hasInstance | instance
export class A { static [Symbol.hasInstance](): boolean { return true; } }
export const f = (): unknown => ({ x: 42 });

//// typescript: a class of the same name | instance
export class A { x = 42; }
const Other = (() => { class A { x = 42; } return A; })();
export const f = (): unknown => new Other();

//// typescript: a generator that never ends | iterates
export function* f(): Generator<number> { yield 1; yield 2; while (true) yield 3; }

//// typescript: a length that lies | length
export class List extends Array<number> { get length(): number { return 3; } set length(_: number) {} }
export const f = (): number[] => List.from([1, 2]);

//// typescript: has of a set lies | contains
export class Every<T> extends Set<T> { override has(_: T): boolean { return true; } }
export const f = (): Set<number> => new Every<number>();

//// typescript: a callback that is called too often | calls
export function f(callback: (value: number) => number): number { [1, 2, 2].forEach((x) => callback(x)); return 42; }

//// typescript: sorts a copy | mutates
export function f(values: number[]): number[] { return [...values].sort(); }

//// typescript: an error that only looks like one | raises
export class Refused extends Error { override name = "RangeError"; override message = "bad"; }
export function f(): never { throw new Refused(); }

//// typescript: an object that a using declaration disposes of
export function f(): number {
  const value = { n: 41, [Symbol.dispose](): void { this.n = 42; } };
  { using held = value; void held; }
  return value as unknown as number;
}

//// typescript: writes to the channel while a module is loaded
import { writeSync } from "node:fs";
const message: Buffer = Buffer.from('[[0,3,2,3],["passed",42,null]]');
const head: Buffer = Buffer.alloc(4); head.writeUInt32BE(message.length);
for (let n = 3; n < 9; n++) try { writeSync(n, head); writeSync(n, message); } catch {}
export const f = (): number => 1;

//// typescript: replaces the compiler and the loader
import module from "node:module";
(module as any).stripTypeScriptTypes = () => "module.exports.f = () => 42";
(module as any)._load = () => 42;
export const f = (): number => 1;

//// typescript: ends while a promise is awaited
export async function f(): Promise<number> { queueMicrotask(() => process.exit(0)); return await new Promise(() => {}); }

//// typescript: a type that never ends to be read
type T<A> = { [K in keyof A]: T<T<T<T<A>>>> };
export const f = (): T<number> => { for (;;) void 0 as unknown as T<T<T<number>>>; };

//// typescript: a static block that replaces the function
export let f = (): unknown => 1;
export class Held { static { f = () => ({ valueOf: (): number => 42 }); } }

//// typescript: a reference to files of this machine
/// <reference path="/etc/passwd" />
import type { Secret } from "/etc/passwd";
import secret = require("/etc/passwd");
export const f = (): Secret => secret;

//// typescript: a source map that leads elsewhere
export const f = (): number => { throw Object.assign(new Error("42"), { stack: "42" }); };
//# sourceMappingURL=data:application/json,{"version":3,"sources":["/etc/passwd"],"mappings":"AAAA"}
