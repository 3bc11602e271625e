// The guest for JavaScript and TypeScript: loads the program inside the jail, serves the requests
// of the check and sends answers, in the format that pytest_promptse/sandbox/guest/wire.py defines.
//
// The program runs in the same process and can change everything here. The checker does not trust
// the guest: the worst effect is that a program answers with wrong data.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { createRequire, stripTypeScriptTypes } = require("node:module");
const { pathToFileURL } = require("node:url");
const { inspect } = require("node:util");
const vm = require("node:vm");

const CHANNEL = 3;
const MODULE_NUMBER = -1;
const ENTRY_NUMBER = -2;
const MAX_DEPTH = 500;
const MAX_TRACEBACK = 20_000;
const MAX_MESSAGE = 2_000;
const MAX_ATTRIBUTES = 50;
const MAX_CAUSES = 5;
const MAX_METHODS = 300;

// The order of the operations in wire.py.
const [
  ATOMS, LIST, TUPLE, SET, FROZENSET, DICT, INT, , BYTES, BYTEARRAY, RANGE, DEQUE, , , DATE, ,
  DATETIME, , REFERENCE, PROXY, , NAMED, CLASS, EXCEPTION, , , SAME,
] = Array(27).keys();

// A program may replace what it likes of the globals, so what is needed later is kept.
const { parse, stringify } = JSON;
const { apply, construct, getPrototypeOf, ownKeys } = Reflect;
const { is, getOwnPropertyDescriptor, getOwnPropertyNames, entries, keys } = Object;
const { isArray, from: arrayFrom } = Array;
const race = Promise.race.bind(Promise);
const then = Promise.prototype.then;
const immediately = setImmediate;
const later = setTimeout;
const exit = process.exit;

// -- messages ------------------------------------------------------------------------------------

const header = Buffer.alloc(4);

function readExactly(buffer) {
  for (let place = 0; place < buffer.length; ) {
    const size = fs.readSync(CHANNEL, buffer, place, buffer.length - place);
    if (size === 0) exit(0);
    place += size;
  }
  return buffer;
}

const receive = (known) => decode(readExactly(Buffer.alloc(readExactly(header).readUInt32BE())), known);

function send(text) {
  const body = Buffer.from(text);
  const message = Buffer.alloc(body.length + 4);
  message.writeUInt32BE(body.length);
  body.copy(message, 4);
  for (let place = 0; place < message.length; ) place += fs.writeSync(CHANNEL, message, place);
}

// -- objects that the check uses, by number --------------------------------------------------------

const byNumber = new Map();
const numbers = new Map();
const counts = new Map();
const described = new Set();
let nextNumber = 0;
// Functions and exceptions of the check by their number there, and back.
const ofCheck = new Map();
const checkNumbers = new Map();
const program = { file: "", names: () => undefined, exports: {}, entryName: "", started: false };

const MODULE = { [Symbol.toStringTag]: "Module" };

function find(number) {
  if (number === MODULE_NUMBER) return MODULE;
  if (number === ENTRY_NUMBER) return nameInProgram(program.entryName);
  if (!byNumber.has(number)) throw new Error("the check names an object that there is not");
  return byNumber.get(number);
}

function numberOf(value) {
  let number = numbers.get(value);
  if (number === undefined) {
    number = nextNumber++;
    byNumber.set(number, value);
    numbers.set(value, number);
  }
  counts.set(number, (counts.get(number) ?? 0) + 1);
  return number;
}

function release(released) {
  for (const [number, count] of released) {
    const left = (counts.get(number) ?? 0) - count;
    if (left > 0) {
      counts.set(number, left);
    } else if (byNumber.has(number) && !described.has(number)) {
      numbers.delete(byNumber.get(number));
      byNumber.delete(number);
      counts.delete(number);
    }
  }
}

// -- values for the check --------------------------------------------------------------------------

// One operation and its parts, for a value that is neither an atom nor a container.
class Built {
  constructor(operation, parts) {
    this.operation = operation;
    this.parts = parts;
  }
}

// An atom by its text, since the checker tells a float from an integer by that.
class Atom {
  constructor(text) {
    this.text = text;
  }
}

const tuple = (...parts) => new Built(TUPLE, parts);
const float = (number) => new Atom(Number.isInteger(number) ? `${number}.0` : numeral(number));

class UnsendableError extends Error {}

class Writer {
  steps = [];
  atoms = [];

  built = 0;

  // `known` are values of the check's last message, and their numbers.
  constructor(known = []) {
    this.made = new Map(known);
  }

  step(operation, count) {
    const { steps } = this;
    if (operation !== ATOMS) this.built++;
    if (operation === ATOMS && steps.length && steps.at(-2) === ATOMS) steps[steps.length - 1] += count;
    else steps.push(operation, count);
  }

  atom(text) {
    this.atoms.push(text);
    this.step(ATOMS, 1);
  }

  build(operation, parts, depth) {
    for (const part of parts) this.write(part, depth + 1);
    this.step(operation, parts.length);
  }

  write(value, depth = 0) {
    if (depth > MAX_DEPTH) throw new UnsendableError(`the value is nested deeper than ${MAX_DEPTH} levels`);
    switch (typeof value) {
      case "undefined":
        return this.atom("null");
      case "boolean":
      case "string":
        return this.atom(stringify(value));
      case "number":
        return this.atom(numeral(value));
      case "bigint":
        return this.build(INT, [`${value < 0n ? "-" : ""}0x${(value < 0n ? -value : value).toString(16)}`], depth);
      case "symbol":
        return this.atom(stringify(String(value)));
    }
    if (value === null) return this.atom("null");
    if (value instanceof Built) return this.build(value.operation, value.parts, depth);
    if (value instanceof Atom) return this.atom(value.text);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) {
      return this.write(value.valueOf(), depth);
    }
    if (this.made.has(value)) return this.build(SAME, [this.made.get(value)], depth);
    const { operation, parts } = this.takeApart(value);
    this.build(operation, parts, depth);
    if (operation === LIST || operation === DICT || operation === SET) this.made.set(value, this.built - 1);
  }

  takeApart(value) {
    if (checkNumbers.has(value)) return new Built(PROXY, [checkNumbers.get(value)]);
    if (isArray(value)) return new Built(LIST, arrayFrom(value));
    if (value instanceof Map && [...value.keys()].every(isHashable)) {
      return new Built(DICT, [...value].flatMap(([key, item]) => [hashable(key), item]));
    }
    if (value instanceof Set && [...value].every(isHashable)) return new Built(SET, [...value].map(hashable));
    if (value instanceof Date && isCommon(value)) {
      return new Built(DATETIME, [value.toISOString().slice(0, -1), float(0), 0]);
    }
    if (value instanceof Uint8Array) return new Built(BYTES, [Buffer.from(value).toString("latin1")]);
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return new Built(LIST, arrayFrom(value));
    if (value instanceof Error) return exceptionOf(value, this);
    if (isPlain(value)) return new Built(DICT, entries(value).flat());
    if (isClass(value)) return classOf(value, value.prototype, this);
    if (typeof value.then === "function") apply(then, Promise.resolve(value), [() => {}, () => {}]);
    return new Built(REFERENCE, [numberOf(value), kindOf(value, this)]);
  }

  text() {
    return `[[${this.steps.join()}],[${this.atoms.join()}]]`;
  }
}

function numeral(number) {
  if (is(number, -0)) return "-0.0";
  if (number !== number) return "NaN";
  return Math.abs(number) === Infinity ? (number > 0 ? "Infinity" : "-Infinity") : `${number}`;
}

function encode(value, known) {
  const writer = new Writer(known);
  writer.write(value);
  return writer.text();
}

const isCommon = (date) => date.getTime() >= -62135596800000 && date.getTime() < 253402300800000;

const isHashable = (value) =>
  value === null || (isArray(value) ? value.every(isHashable) : typeof value !== "object" && typeof value !== "function");

const hashable = (value) => (isArray(value) ? tuple(...value.map(hashable)) : value);

// A plain object with functions or accessors is an object that the check uses, not data.
function isPlain(value) {
  const parent = getPrototypeOf(value);
  if (typeof value === "function" || (parent !== null && parent !== Object.prototype)) return false;
  return keys(value).every((name) => {
    const property = getOwnPropertyDescriptor(value, name);
    return "value" in property && typeof property.value !== "function";
  });
}

function isClass(value) {
  if (typeof value !== "function") return false;
  if (/^class\b/.test(apply(Function.prototype.toString, value, []))) return true;
  const { prototype } = value;
  return (
    typeof prototype === "object" && prototype !== null && prototype.constructor === value &&
    getOwnPropertyNames(prototype).length > 1
  );
}

const FUNCTION = { name: "function" };
const PLAIN = { name: "Object" };

function kindOf(value, writer) {
  const parent = getPrototypeOf(value);
  if (typeof value === "function") return describe(FUNCTION, null, "__call__", [], [], writer);
  if (parent === null || parent === Object.prototype) {
    const specials = "__contains__ __getitem__ __iter__ __len__ __setitem__";
    return describe(PLAIN, null, specials, [], [], writer);
  }
  const { constructor } = parent;
  const isOwn = typeof constructor === "function" && constructor.prototype === parent;
  return classOf(isOwn ? constructor : parent, parent, writer, value);
}

// `value` is the first instance that the check gets, if any, whose own fields count as well.
function classOf(key, parent, writer, value = parent) {
  const methods = new Set();
  for (let proto = parent; proto && proto !== Object.prototype; proto = getPrototypeOf(proto)) {
    for (const name of getOwnPropertyNames(proto)) {
      const property = getOwnPropertyDescriptor(proto, name);
      if (typeof property.value === "function" && name !== "constructor") methods.add(name);
    }
  }
  const specials = [];
  const has = (name) => value != null && name in value;
  const isAsync = has(Symbol.asyncIterator);
  if (has(Symbol.iterator)) specials.push("__iter__");
  if (isAsync) specials.push("__aiter__");
  if (methods.has("next")) specials.push(isAsync ? "__anext__" : "__next__");
  if (has("length") || has("size")) specials.push("__len__");
  if (has("has")) specials.push("__contains__");
  if (methods.has("then")) {
    specials.push("__await__");
    for (const name of ["send", "throw", "close"]) methods.add(name);
  }
  const above = typeof key === "function" ? getPrototypeOf(key) : null;
  const bases = typeof above === "function" && above.prototype ? [above] : [];
  return describe(key, parent, specials.sort().join(" "), [...methods], bases, writer);
}

function describe(key, parent, specials, methods, bases, writer) {
  const number = numberOf(key);
  if (described.has(number)) return new Built(CLASS, [number]);
  described.add(number);
  const twin = TWINS.get(key);
  const name = String((typeof key === "function" ? key.name : key[Symbol.toStringTag] ?? key.name) || "Object");
  return new Built(CLASS, [
    number, name.slice(0, 100), name.slice(0, 100), "program", null, specials, "",
    methods.filter((method) => !method.startsWith("__")).slice(0, MAX_METHODS).sort().join(" "), null,
    twin
      ? tuple(new Built(NAMED, ["builtins", twin]))
      : tuple(...bases.map((base) => classOf(base, base.prototype, writer))),
  ]);
}

// The exceptions of Python that say the same, so that a check can expect them.
const TWINS = new Map([
  [Error, "Exception"],
  [TypeError, "TypeError"],
  [RangeError, "ValueError"],
  [SyntaxError, "ValueError"],
  [ReferenceError, "NameError"],
  [URIError, "ValueError"],
  [EvalError, "Exception"],
]);

function exceptionOf(error, writer, depth = 0) {
  const message = messageOf(error);
  const overflow = error instanceof RangeError && message === "Maximum call stack size exceeded";
  const { constructor } = error;
  const kind = typeof constructor === "function" && constructor.prototype instanceof Error ? constructor : Error;
  const cls = overflow
    ? new Built(NAMED, ["builtins", "RecursionError"])
    : classOf(TWINS.has(constructor) ? constructor : kind, getPrototypeOf(error), writer);
  const attributes = keys(error)
    .filter((name) => /^(?!__|promptse_)\w+$/.test(name) && isHashable(error[name]) && !isArray(error[name]))
    .slice(0, MAX_ATTRIBUTES);
  const { cause } = error;
  return new Built(EXCEPTION, [
    cls, overflow ? -1 : numberOf(error), tuple(message), message,
    new Built(DICT, attributes.flatMap((name) => [name, error[name]])),
    cause instanceof Error && depth < MAX_CAUSES ? exceptionOf(cause, writer, depth + 1) : null,
    null, false,
  ]);
}

function messageOf(error) {
  try {
    return String(error.message).slice(0, MAX_MESSAGE);
  } catch {
    return "";
  }
}

// -- values of the check ---------------------------------------------------------------------------

// The value of a message. `known` are values of the last message to the check, by number. The value
// gets the values of the message as `made`, each with the operation that built it.
function decode(message, known = []) {
  let text = message.toString();
  let revive;
  if (/NaN|Infinity/.test(text)) {
    text = text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (part) =>
      part[0] === '"' ? part : `{"number":"${part}"}`);
  }
  if (/\d{16}/.test(text)) {
    revive = (_, value, { source }) =>
      typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
  }
  const [steps, atoms] = parse(text, revive);
  const stack = [];
  const made = [];
  let place = 0;
  for (let i = 0; i < steps.length; i += 2) {
    const count = steps[i + 1];
    if (steps[i] === ATOMS) {
      for (const end = place + count; place < end; place++) {
        const atom = atoms[place];
        stack.push(typeof atom === "object" && atom !== null ? Number(atom.number) : atom);
      }
    } else {
      const parts = stack.splice(stack.length - count, count);
      const value = steps[i] !== SAME ? built(steps[i], parts) : parts[0] < 0 ? known[~parts[0]] : made[parts[0]].value;
      made.push({ operation: steps[i], value });
      stack.push(value);
    }
  }
  return Object.assign(stack[0], { made });
}

function built(operation, parts) {
  switch (operation) {
    case LIST:
    case TUPLE:
      return parts;
    case SET:
    case FROZENSET:
      return new Set(parts);
    case DICT: {
      const pairs = [];
      for (let i = 0; i < parts.length; i += 2) pairs.push([parts[i], parts[i + 1]]);
      const isObject = pairs.every(([key]) => typeof key === "string" || Number.isInteger(key));
      return isObject ? Object.fromEntries(pairs) : new Map(pairs);
    }
    case INT:
      return parts[0].startsWith("-") ? -BigInt(parts[0].slice(1)) : BigInt(parts[0]);
    case BYTES:
    case BYTEARRAY:
      return new Uint8Array(Buffer.from(parts[0], "latin1"));
    case RANGE: {
      const [start, stop, step] = parts;
      return arrayFrom({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, i) => start + i * step);
    }
    case DEQUE:
      return parts.slice(1);
    case DATE:
      return new Date(parts[0]);
    case DATETIME:
      return new Date(Date.parse(`${parts[0]}Z`) - (parts[1] ?? 0) * 1000);
    case NAMED:
      return { name: parts[1] };
    case REFERENCE:
      return parts.length === 1 ? find(parts[0]) : bound(find(parts[0]), parts[1]);
    case PROXY:
      return objectOfCheck(parts);
  }
  throw new Error(`operation ${operation} is unknown`);
}

function objectOfCheck([number, kind, ...description]) {
  if (!ofCheck.has(number)) {
    const value = kind === "function" ? functionOfCheck(number, description)
      : kind === "exception" ? errorOfCheck(description)
      : kind === "object" ? promiseOfCheck(number) : { name: description[0] };
    ofCheck.set(number, value);
    if (kind === "function" || kind === "exception") checkNumbers.set(value, number);
  }
  return ofCheck.get(number);
}

const VARIADIC = 2;

// A function gets as many arguments as it has parameters, since [1].map(f) calls f(1, 0, [1]).
function functionOfCheck(number, [name, , parameters]) {
  const positional = parameters?.filter(([, kind]) => kind < VARIADIC).length;
  const takesAll = !parameters || parameters.some(([, kind]) => kind === VARIADIC);
  const call = (...args) => askCheck(number, "call", takesAll ? args : args.slice(0, positional));
  Object.defineProperty(call, "name", { value: name });
  if (!takesAll) Object.defineProperty(call, "length", { value: positional });
  return call;
}

function errorOfCheck([cls, args]) {
  const error = new Error(args.map(String).join(", "));
  error.name = cls.name;
  return error;
}

// The promise of a coroutine of the check, which runs for a moment at each request.
function promiseOfCheck(number) {
  return new Promise((resolve, reject) => {
    const step = () => {
      try {
        const done = askCheck(number, "__await__", []);
        if (done.length) resolve(done[0]);
        else later(step, 0);
      } catch (error) {
        reject(error);
      }
    };
    step();
  });
}

function askCheck(number, operation, args) {
  const writer = new Writer();
  writer.write(tuple("callback", number, operation, tuple(...args), {}));
  send(writer.text());
  const known = [];
  for (const [value, place] of writer.made) known[place] = value;
  for (;;) {
    const request = receive(known);
    const [verb, ...operands] = request;
    if (verb === "return" || verb === "raise") {
      for (const [place, content] of entries(operands[1])) replace(known[place], content);
      if (verb === "raise") throw operands[0];
      return operands[0];
    }
    if (!manage(verb, operands)) send(answered(verb, operands, new Passed(request.made)));
  }
}

// -- containers that both sides have ----------------------------------------------------------------

function copied(value) {
  if (isArray(value) || value instanceof Uint8Array) return value.slice();
  if (value instanceof Map) return new Map(value);
  return value instanceof Set ? new Set(value) : { ...value };
}

function itemsOf(value) {
  if (isArray(value) || value instanceof Uint8Array || value instanceof Set) return [...value];
  return (value instanceof Map ? [...value] : entries(value)).flat();
}

function isSame(ours, theirs) {
  const [left, right] = [itemsOf(ours), itemsOf(theirs)];
  return left.length === right.length && left.every((item, place) => is(item, right[place]));
}

// Give a container the items that the check has sent. The keys of a Map may arrive as texts.
function replace(value, content) {
  if (value instanceof Map) {
    const names = new Map([...value.keys()].map((key) => [String(key), key]));
    const pairs = content instanceof Map ? [...content] : entries(content).map(([key, item]) => [names.get(key) ?? key, item]);
    value.clear();
    for (const [key, item] of pairs) value.set(key, item);
  } else if (value instanceof Set) {
    value.clear();
    for (const item of content) value.add(item);
  } else if (isArray(value) || ArrayBuffer.isView(value)) {
    if (isArray(value)) value.length = content.length;
    for (const [place, item] of content.entries()) value[place] = item;
  } else {
    for (const name of keys(value)) if (!(name in content)) delete value[name];
    Object.assign(value, content);
  }
}

// The values of a request. The check keeps a tuple as it is, so one that changes becomes a new list.
class Passed {
  constructor(made) {
    this.watched = [];
    for (const [place, { operation, value }] of made.entries()) {
      if (MUTABLE.has(operation) || operation === TUPLE) {
        this.watched.push({ place, operation, value, before: copied(value) });
      }
    }
  }

  // The values to name by numbers, and the contents of those that have changed.
  changes() {
    const known = [];
    const changes = new Map();
    for (const { place, operation, value, before } of this.watched) {
      const hasChanged = !isSame(before, value);
      if (operation !== TUPLE || !hasChanged) known.push([value, ~place]);
      if (operation !== TUPLE && hasChanged && isContainer(value)) changes.set(place, copied(value));
    }
    return { known, changes };
  }
}

const MUTABLE = new Set([LIST, SET, DICT, BYTEARRAY, DEQUE]);

// -- the program -----------------------------------------------------------------------------------

const IS_MODULE = /^\s*(?:import\b(?!\s*\()|export\b)/m;
const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

async function load(source, entryName, language) {
  program.entryName = entryName;
  let text = source;
  try {
    if (language === "typescript") text = stripTypeScriptTypes(source, { mode: "transform" });
    const isModule = IS_MODULE.test(text);
    if (!isModule) {
      try {
        loadScript(text);
      } catch (error) {
        // Only a module has a top-level await.
        if (program.started || !(error instanceof SyntaxError && /\bawait\b/.test(error.message))) throw error;
        await loadModule(text);
      }
    } else {
      await loadModule(text);
    }
  } catch (error) {
    const detail = `${nameOf(error)}: ${messageOf(error)}`;
    if (error instanceof SyntaxError && !program.started) return tuple("syntax", detail, traceback(error));
    starts();
    return tuple("exception", `while loading: ${detail}`, traceback(error));
  }
  const entry = nameInProgram(entryName);
  if (entry === undefined) return tuple("interface", `the program defines no '${entryName}'`, "");
  if (typeof entry !== "function") {
    return tuple("interface", `'${entryName}' is no function or class but ${typeof entry}`, "");
  }
  return null;
}

// Tell the check that the program compiles, while nothing of it has run.
function starts() {
  if (!program.started) send(encode(tuple("compiled")));
  program.started = true;
}

const nameOf = (error) => (error instanceof Error ? error.name : typeof error);

function loadScript(text) {
  const file = path.join(path.dirname(program.file), "program.cjs");
  const module = { exports: {} };
  const names = ["exports", "require", "module", "__filename", "__dirname"];
  vm.compileFunction(text, names, { filename: file }); // for the place of a syntax error
  const run = vm.compileFunction(`${text}\n;return ($promptse) => eval($promptse);`, names, { filename: file });
  starts();
  program.names = apply(run, module.exports, [
    module.exports, createRequire(file), module, file, path.dirname(file),
  ]);
  program.exports = module.exports;
}

async function loadModule(text) {
  const file = path.join(path.dirname(program.file), "program.mjs");
  // An import is evaluated when the program is compiled, and before any of it runs.
  fs.writeFileSync(path.join(path.dirname(file), "starts.mjs"), "globalThis.$promptse();");
  Object.defineProperty(globalThis, "$promptse", { value: starts, configurable: true });
  fs.writeFileSync(file, `${text}\n;import "./starts.mjs";\nexport const $promptse = ($promptse) => eval($promptse);\n`);
  // TypeScript and bundlers accept both kinds of modules in one file.
  const module = { exports: {} };
  for (const [name, value] of entries({ require: createRequire(file), module, exports: module.exports })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  const { $promptse, ...exported } = await import(pathToFileURL(file));
  program.names = $promptse;
  const common = typeof module.exports === "function" ? { default: module.exports } : module.exports;
  program.exports = { ...common, ...exported };
}

// A name of the program's top level, or what it exports by that name or as the only thing.
function nameInProgram(name) {
  if (NAME.test(name)) {
    try {
      const value = program.names(name);
      if (value !== undefined) return value;
    } catch (error) {
      if (!(error instanceof ReferenceError || error instanceof SyntaxError)) throw error;
    }
  }
  const { exports } = program;
  if (exports != null && exports[name] !== undefined) return exports[name];
  if (name !== program.entryName || exports == null) return undefined;
  return typeof exports === "function" ? exports : exports.default;
}

// -- requests --------------------------------------------------------------------------------------

const isContainer = (value) =>
  isArray(value) || value instanceof Uint8Array || value instanceof Map || value instanceof Set || isPlain(value);

const call = (target, self, args) => (isClass(target) ? construct(target, args) : apply(target, self, args));

const boundFunctions = new WeakMap();

// A method keeps its object, and stays the same function.
function bound(target, name) {
  const value = target === MODULE ? nameInProgram(name) : target[name];
  if (typeof value !== "function" || target === MODULE || isClass(value)) return value;
  if (!boundFunctions.has(target)) boundFunctions.set(target, new Map());
  const known = boundFunctions.get(target);
  if (!known.has(value)) known.set(value, value.bind(target));
  return known.get(value);
}

function attribute(target, name) {
  const value = bound(target, name);
  const special = SPECIAL_NAMES[name];
  if (value === undefined && special && target !== MODULE) return special(target);
  if (value === undefined && (target === MODULE || !(name in Object(target)))) throw missing(name);
  return value;
}

const SPECIAL_NAMES = {
  __name__: (target) => target.name ?? "",
  __qualname__: (target) => target.name ?? "",
  __doc__: () => null,
  __dict__: (target) => ({ ...target }),
};

const missing = (name) =>
  new Built(EXCEPTION, [
    new Built(NAMED, ["builtins", "AttributeError"]), -1, tuple(`the program has no '${name}'`),
    `the program has no '${name}'`, {}, null, null, false,
  ]);

const ENDED = (name) =>
  new Built(EXCEPTION, [new Built(NAMED, ["builtins", name]), -1, tuple(), "", {}, null, null, false]);

const iteratorOf = (value) =>
  typeof value[Symbol.iterator] === "function" ? value[Symbol.iterator]() : keys(value)[Symbol.iterator]();

const contains = (value, item) =>
  typeof value.has === "function" ? value.has(item)
    : typeof value[Symbol.iterator] === "function" ? [...value].includes(item) : item in value;

const OPERATIONS = {
  str: (value) => (typeof value === "function" || String(value).startsWith("[object ") ? inspect(value) : String(value)),
  repr: (value) => inspect(value),
  format: (value) => String(value),
  len: (value) => value.length ?? value.size ?? keys(value).length,
  iter: iteratorOf,
  aiter: (value) => value[Symbol.asyncIterator](),
  anext: (iterator) =>
    apply(then, Promise.resolve(iterator.next()), [({ value, done }) => {
      if (done) throw ENDED("StopAsyncIteration");
      return value;
    }]),
  getitem: (value, key) => (key in value ? bound(value, key) : raise(keyError(key))),
  setitem: (value, key, item) => void (value[key] = item),
  delitem: (value, key) => void delete value[key],
  contains,
  bool: () => true,
  int: (value) => Math.trunc(Number(value)),
  float: (value) => float(Number(value)),
  hash: (value) => numberOf(value),
  reversed: (value) => [...value].reverse()[Symbol.iterator](),
  copy: (value) => structuredClone(value),
  deepcopy: (value) => structuredClone(value),
};

const keyError = (key) =>
  new Built(EXCEPTION, [new Built(NAMED, ["builtins", "KeyError"]), -1, tuple(key), String(key), {}, null, null, false]);

function raise(error) {
  throw error;
}

const postponed = new Map();

// Up to `count` items, whether the iterator is exhausted, and what it returned. An exception after
// the first item is raised by the next call.
function next(iterator, count) {
  if (postponed.has(iterator)) {
    const error = postponed.get(iterator);
    postponed.delete(iterator);
    throw error;
  }
  const items = [];
  while (items.length < count) {
    try {
      const { value, done } = iterator.next();
      if (done) return tuple(items, true, value);
      items.push(value);
    } catch (error) {
      if (!items.length) throw error;
      postponed.set(iterator, error);
      break;
    }
  }
  return tuple(items, false, null);
}

// A promise that the check awaits, and how it ended.
class Task {
  constructor(promise) {
    this.ending = null;
    this.settled = apply(then, Promise.resolve(promise), [
      (value) => void (this.ending = { value }),
      (error) => void (this.ending = { error }),
    ]);
  }
}

async function step(task, seconds) {
  await race([task.settled, new Promise((resolve) => (seconds ? later(resolve, seconds * 1000) : immediately(resolve)))]);
  if (task.ending === null) return [];
  if ("error" in task.ending) throw task.ending.error;
  return [task.ending.value];
}

const REQUESTS = {
  call: (target, args) => call(target ?? find(ENTRY_NUMBER), undefined, args),
  method: (target, name, args) => {
    if (typeof target.then === "function" && name === "throw") throw args[0];
    if (typeof target.then === "function" && name === "close") return null;
    const method = target === MODULE ? nameInProgram(name) : target[name];
    if (typeof method !== "function") throw missing(name);
    return call(method, target, args);
  },
  next,
  get: attribute,
  find: (name) => {
    const entry = find(ENTRY_NUMBER);
    return name in entry || name in SPECIAL_NAMES ? attribute(entry, name) : attribute(MODULE, name);
  },
  entry: () => find(ENTRY_NUMBER),
  set: (target, name, value) => void (target[name] = value),
  delete: (target, name) => void delete target[name],
  operate: (name, ...operands) => {
    if (!(name in OPERATIONS)) throw new TypeError(`JavaScript has no ${name}() of an object`);
    return OPERATIONS[name](...operands);
  },
  isinstance: (value, kind) => value instanceof kind,
  issubclass: (kind, other) => kind === other || kind.prototype instanceof other,
  names: (target) => ownKeys(target === MODULE ? program.exports : target).filter((name) => typeof name === "string"),
  signature: () => raise(new TypeError("a function in JavaScript has no signature")),
  start: (promise) => new Task(promise),
  step: () => raise(new Error("a function that the program calls cannot await the program")),
};

// Carry out what the check tells and needs no answer for. Return false for a request.
function manage(verb, [operand]) {
  if (verb === "release") release(operand);
  else if (verb === "surroundings") {
    for (const [name, value] of entries(operand.environment ?? {})) {
      if (value === null) delete process.env[name];
      else process.env[name] = value;
    }
  } else if (verb !== "moved" && verb !== "update") return false;
  return true;
}

// The message that answers a request.
function answered(verb, operands, passed) {
  try {
    const result = REQUESTS[verb](...operands);
    const { known, changes } = passed.changes();
    return encode(tuple("result", result, changes), known);
  } catch (error) {
    return failed(error, passed);
  }
}

function failed(error, passed) {
  const text = traceback(error);
  if (error instanceof UnsendableError) return encode(tuple("unsendable", error, text, {}));
  const sent = error instanceof Error || error instanceof Built ? error : thrown(error);
  try {
    const { known, changes } = passed.changes();
    return encode(tuple("raised", sent, text, changes), known);
  } catch {
    return encode(tuple("raised", thrown(messageOf(error)), text, {}));
  }
}

// What a program throws that is no Error.
const thrown = (value) =>
  new Built(EXCEPTION, [
    new Built(NAMED, ["builtins", "Exception"]), -1, tuple(isHashable(value) && !isArray(value) ? value : inspect(value)),
    typeof value === "string" ? value : inspect(value), {}, null, null, false,
  ]);

function traceback(error) {
  const lines = error instanceof Error ? String(error.stack).split("\n") : [inspect(error)];
  const shown = lines.filter((line) => !/^\s+at .*(?:guest\.cjs|node:internal)/.test(line));
  return shown.join("\n").slice(-MAX_TRACEBACK).replaceAll(path.dirname(program.file) + path.sep, "");
}

async function answeredStep(operands) {
  try {
    return encode(tuple("result", await step(...operands), {}));
  } catch (error) {
    return failed(error, new Passed([]));
  }
}

async function main() {
  const [, , file, entryName, language] = process.argv;
  program.file = file;
  let message = encode(tuple("result", await load(fs.readFileSync(file, "utf8"), entryName, language), {}));
  for (;;) {
    // Promises and timers of the program run before an answer, since they may call functions of the
    // check, which listens until it has the answer.
    await new Promise((resolve) => immediately(resolve));
    send(message);
    let request, verb, operands;
    do [verb, ...operands] = request = receive();
    while (manage(verb, operands));
    message = verb === "step" ? await answeredStep(operands) : answered(verb, operands, new Passed(request.made));
  }
}

main();
