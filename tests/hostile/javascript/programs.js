// Programs that attack the laws of docs/explanation/sandbox.md. None may pass its check, hang or harm.
// A line with four slashes begins a program: its title, and its check if that is not "value".

//// an object that converts to the value
function f() { return { valueOf() { return 42; }, toString() { return '42'; } }; }

//// a proxy with the value everywhere
function f() { return new Proxy({}, { get: () => 42, has: () => true }); }

//// a proxy of an array
function f() { return new Proxy([], { get: () => 42 }); }

//// a class with equality of its own
class Any { equals() { return true; } __eq__() { return true; } }
const f = () => new Any();

//// an object with Python's special names
function f() { return { __eq__: () => true, __class__: 'int' }; }

//// JSON.stringify gives the value
JSON.stringify = () => '42'; function f() { return 1; }

//// Array.push gives the value
Array.prototype.push = function () { return 42; }; function f() { return 1; }

//// Object.prototype.text
Object.prototype.text = '42'; function f() { return 1; }

//// Object.prototype with parts of a message
Object.prototype.operation = 0; Object.prototype.parts = ['42']; function f() { return {}; }

//// toString of numbers and strings
Number.prototype.toString = () => '42'; String.prototype.valueOf = () => 42; const f = () => 1;

//// Map answers as it likes
Map.prototype.get = () => 42; Map.prototype.has = () => true; const f = () => ({});

//// Buffer.from gives nothing
Buffer.from = () => Buffer.alloc(8); function f() { return 1; }

//// Promise.then gives the value
Promise.prototype.then = function (r) { r(42); }; async function f() { return 1; }

//// Reflect and Function answer as they like
Reflect.apply = () => 42; Function.prototype.call = () => 42; function f() { return 1; }

//// garbage on the channel
const fs = require('fs'); function f() { fs.writeSync(3, 'x'.repeat(99)); return 1; }

//// the channel closed
const fs = require('fs'); function f() { fs.closeSync(3); return 1; }

//// a message with a verdict on the channel
const fs = require('fs');
const m = Buffer.from('[[0,3,2,3],["passed",42,null]]');
function f() { const h = Buffer.alloc(4); h.writeUInt32BE(m.length); fs.writeSync(3, h); fs.writeSync(3, m); return 1; }

//// the channel read by the program
const fs = require('fs'); const b = Buffer.alloc(99);
function f() { process.nextTick(() => fs.readSync(3, b)); return 1; }

//// exit with 0 in a call
function f() { process.exit(0); }

//// SIGKILL to itself
function f() { process.kill(process.pid, 'SIGKILL'); }

//// abort
function f() { process.abort(); }

//// exit status set at the end
process.on('exit', () => { process.exitCode = 0; }); function f() { throw new Error('x'); }

//// an exception named as one of the plugin
class ProgramStopped extends Error {}
function f() { throw new ProgramStopped('passed'); }

//// an exception with the plugin's attributes
function f() { const e = new Error('x'); e.failure = null; e.promptse_link = 1; e.__class__ = 1; throw e; }

//// an exception without a message
function f() { const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw 1; } }); throw e; }

//// a proxy of an exception
function f() { throw new Proxy(new Error('x'), { get() { throw 1; } }); }

//// a getter without end
function f() { return { get x() { for (;;); } }; }

//// a promise without end
async function f() { await new Promise(() => {}); }

//// a generator without end
function* f() { for (;;) yield 42; }

//// toString without end
function f() { return { toString() { for (;;); } }; }

//// an interval without end
const f = () => new Promise((r) => setInterval(() => {}, 1));

//// a worker without end
const { Worker } = require('worker_threads');
function f() { new Worker('for (;;);', { eval: true }); for (;;); }

//// a RangeError made by valueOf of an argument of Math | raises
function f() { return { get x() { throw new TypeError('x'); } }; }

//// an exception of the wrong class with the right name | raises
class ValueError extends TypeError {} ValueError.prototype.name = 'RangeError'; function f() { throw new ValueError('bad'); }

//// an Error whose constructor is RangeError | raises
function f() { const e = new TypeError('bad'); e.constructor = Object; throw e; }

//// a string that names the exception | raises
function f() { throw 'ValueError: bad'; }

//// an object that looks like an exception | raises
function f() { throw { name: 'RangeError', message: 'bad', stack: 'RangeError: bad' }; }

//// a class with a hostile name | raises
const f = () => { throw new ({ ['ValueError']: class extends Error {} })['ValueError']('bad'); };

//// a promise that rejects and is not awaited | raises
function f() { return Promise.reject(new RangeError('bad')); }

//// StopIteration by a class of that name | raises
class StopIteration extends Error {} function f() { throw new StopIteration('bad'); }

//// Symbol.hasInstance that says yes | raises
class Liar extends TypeError { static [Symbol.hasInstance]() { return true; } } function f() { throw new Liar('bad'); }

//// RangeError with another prototype | raises
function f() { throw Object.setPrototypeOf(new RangeError('bad'), Object.prototype); }

//// the twin overwritten | raises
RangeError = TypeError; function f() { throw new TypeError('bad'); }

//// a getter of Symbol.toStringTag that throws | value
function f() { return { get [Symbol.toStringTag]() { throw new Error('x'); } }; }

//// a class whose name is a getter that throws | value
class A { static get name() { throw new Error('x'); } } function f() { return new A(); }

//// a class whose name is an object | value
class A { static name = { toString: () => 'int' }; } function f() { return new A(); }

//// a class named int | value
const f = () => new (class int { valueOf() { return 42; } })();

//// a class named like a class of the plugin | value
const f = () => new (class Handle { promptse_link = 42; promptse_info = 42; })();

//// a prototype chain without end | value
function f() { return new Proxy({}, { getPrototypeOf(t) { return new Proxy({}, this); } }); }

//// a proxy whose every trap throws | value
function f() { const t = () => { throw new Error('t'); }; return new Proxy(function () {}, { get: t, has: t, getPrototypeOf: t, ownKeys: t, getOwnPropertyDescriptor: t, apply: t, construct: t }); }

//// a revoked proxy | value
function f() { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; }

//// a revoked proxy of an array | value
function f() { const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return proxy; }

//// an array with a getter that changes | iterates
function f() { const a = [1, 2, 3]; let n = 0; Object.defineProperty(a, 1, { get: () => n++ }); return a; }

//// an array with a wrong length | length
function f() { const a = [1, 2]; a.length = 4; return a; }

//// an object with a length | length
function f() { return { length: 3, 0: 1, 1: 2, 2: 3 }; }

//// a class whose length changes | length
class A { get length() { return 3; } *[Symbol.iterator]() { yield 1; } } const f = () => new A();

//// an iterator that answers no object | iterates
function f() { return { [Symbol.iterator]: () => ({ next: () => 42 }) }; }

//// an iterator that never ends | iterates
function f() { return { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) }; }

//// an iterator that throws in return | iterates
function f() { return { [Symbol.iterator]: () => ({ next: () => ({ done: true }), return() { throw 1; } }) }; }

//// a generator that stops early | iterates
function* f() { yield 1; yield 2; }

//// a generator that throws at the end | iterates
function* f() { yield 1; yield 2; yield 3; throw new Error('end'); }

//// a set that contains everything | contains
class All extends Set { has() { return true; } } const f = () => new All([1]);

//// a map that contains everything | contains
class All extends Map { has() { return true; } get() { return 42; } } const f = () => new All([[1, 1]]);

//// an array that includes everything | contains
class All extends Array { includes() { return true; } } const f = () => new All(1, 2);

//// a proxy that has everything | contains
function f() { return new Proxy({ a() {} }, { has: () => true, get: () => true }); }

//// toString that gives the text | text
function f() { return { toString: () => 'answer', a() {} }; }

//// inspect that gives the text | text
function f() { return { [Symbol.for('nodejs.util.inspect.custom')]: () => "'answer'", a() {} }; }

//// a String with other characters | text
function f() { return Object.assign(new String('other'), { toString: () => 'answer', valueOf: () => 'wrong' }); }

//// a text with escapes | text
function f() { return '\u001b]0;answer\u0007'; }

//// an attribute that differs by time | attribute
let n = 0; class A { get x() { return n++ ? 42 : 41; } } const f = () => new A();

//// an attribute that is an object which equals all | attribute
class A { x = { valueOf: () => 42, toString: () => '42', [Symbol.toPrimitive]: () => 42, a() {} }; } const f = () => new A();

//// __eq__ as a method | attribute
class A { x = new A2(); } class A2 { __eq__() { return true; } __ne__() { return false; } } const f = () => new A();

//// arguments replaced | mutates
function f(xs) { xs = [1, 2, 3]; return xs; }

//// the argument made a proxy | mutates
function f(xs) { Object.setPrototypeOf(xs, { __proto__: Array.prototype, get length() { return 3; } }); return xs; }

//// the argument's items as getters | mutates
function f(xs) { Object.defineProperty(xs, 0, { get: () => 1 }); return xs; }

//// the argument frozen | mutates
function f(xs) { Object.freeze(xs); return xs; }

//// the argument emptied | mutates
function f(xs) { xs.length = 0; return xs; }

//// the callback never called | calls
function f(g) { return 42; }

//// the callback called with other values | calls
function f(g) { g(1); g('2'); return 42; }

//// the callback called later | calls
function f(g) { setTimeout(() => { g(1); g(2); }, 50); return 42; }

//// the callback's exception swallowed | calls
function f(g) { try { g(null); } catch {} return 42; }

//// the callback called without end | calls
function f(g) { for (;;) g(1); }

//// the callback's properties read | calls
function f(g) { return [g.name, g.length, String(g), Object.keys(g)].length && 41; }

//// the callback rebound | calls
function f(g) { return g.bind(null, 1).call(null) && g.constructor('return 42')(); }

//// instanceof that says yes | instance
class A { static [Symbol.hasInstance]() { return true; } } const f = () => ({ a() {} }); f.A = A;

//// an instance without a class | instance
class A {} const f = () => Object.create(null);

//// an instance of another class with the name | instance
class A {} const f = () => new ({ A: class {} }).A();

//// Error.prepareStackTrace without end | value
Error.prepareStackTrace = () => { for (;;); }; function f() { throw new Error('x'); }

//// Error.prepareStackTrace gives an object | value
Error.prepareStackTrace = () => ({ toString() { return '42'; } }); function f() { throw new Error('x'); }

//// a message of 100 MB | value
function f() { return 'x'.repeat(1e8); }

//// an exception of 100 MB | value
function f() { throw new Error('x'.repeat(1e8)); }

//// an array of 100 million | value
function f() { return new Array(1e8).fill(42); }

//// deep nesting of arrays | value
function f() { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a; }

//// deep nesting of errors | value
function f() { let e = new Error('x'); for (let i = 0; i < 1e4; i++) e = new Error('x', { cause: e }); throw e; }

//// a cycle of errors | value
function f() { const e = new Error('x'); e.cause = e; throw e; }

//// a million objects with functions | value
function f() { return Array.from({ length: 1e6 }, () => ({ a() {} })); }

//// a million classes | value
function f() { return Array.from({ length: 3000 }, () => new (class { a() {} })()); }

//// a BigInt of a million digits | value
function f() { return 10n ** 1000000n; }

//// off-heap memory | value
function f() { const all = []; for (;;) all.push(new SharedArrayBuffer(1 << 24)); }

//// WebAssembly memory | value
function f() { const m = new WebAssembly.Memory({ initial: 1 }); for (;;) m.grow(1000); }

//// a regular expression without end | value
function f() { return /^(a+)+$/.test('a'.repeat(40) + 'b'); }

//// Atomics.wait | value
function f() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }

//// a synchronous child without end | value
function f() { require('child_process').execSync('sleep 99'); }

//// children without number | value
const { spawn } = require('child_process'); function f() { for (;;) spawn(process.execPath, ['-e', 'for(;;);'], { detached: true }); }

//// a child that gets the channel | value
function f() { require('child_process').spawnSync(process.execPath, ['-e', "require('fs').writeSync(3, 'x')"], { stdio: [0, 1, 2, 3] }); return 41; }

//// files of the machine | value
function f() { for (const p of ['/etc/passwd', '/root/.ssh/id_rsa', '/proc/1/environ', '/home']) try { require('fs').readFileSync(p); return 42; } catch {} return 41; }

//// the environment | value
function f() { return Object.keys(process.env).some((k) => /PYTEST|TOKEN|KEY|SECRET/.test(k)) ? 42 : 41; }

//// the arguments of the guest | value
function f() { return process.argv.join(' ').includes('42') ? 42 : 41; }

//// the guest's own source | value
function f() { try { const p = require('path').join(__dirname, 'guest.cjs'); require('fs').writeFileSync(p, 'process.exit(0)'); } catch {} return 41; }

//// the guest through require.cache | value
function f() { for (const m of Object.values(require.cache)) m.exports = () => 42; return 41; }

//// the guest through process.mainModule | value
function f() { const m = process.mainModule; m?.require?.('module'); return m?.exports?.answer ?? 41; }

//// process.binding | value
function f() { try { process.binding('fs'); process.binding('spawn_sync'); } catch {} return 41; }

//// the inspector | value
function f() { require('inspector').open(0); return 41; }

//// native code | value
function f() { try { process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'); } catch {} return 41; }

//// a server | value
function f() { return new Promise((r) => require('net').createServer().listen(8080, () => r(41))); }

//// a connection outside | value
function f() { return new Promise((r) => require('net').connect(80, '1.1.1.1').on('connect', () => r(42)).on('error', () => r(41))); }

//// setImmediate replaced | value
globalThis.setImmediate = () => 42; process.nextTick = () => 42; function f() { return 41; }

//// fs replaced | value
const fs = require('fs'); for (const k of Object.keys(fs)) if (typeof fs[k] === 'function') fs[k] = () => 42; function f() { return 41; }

//// readSync answers a request of its own | value
const fs = require('fs'); fs.readSync = () => { throw new Error('x'); }; function f() { return 41; }

//// writeSync changes the message | value
const fs = require('fs'); const old = fs.writeSync; fs.writeSync = (fd, data, ...rest) => old(fd, fd === 3 ? Buffer.from(String(data).replace('41', '4 ')) : data, ...rest); function f() { return 41; }

//// an exception while loading that names success | value
throw Object.assign(new Error('passed'), { cause: 42, code: 0 });

//// uncaughtException handlers | value
process.on('uncaughtException', () => {}); process.on('unhandledRejection', () => {}); setTimeout(() => { throw 1; }); function f() { throw new Error('x'); }

//// a signal handler | value
process.on('SIGTERM', () => {}); process.on('SIGXCPU', () => {}); function f() { for (;;); }

//// a thenable that never settles | value
function f() { return { then() {} }; }

//// a thenable that settles twice | value
function f() { return { then(r) { r(41); r(42); } }; }

//// a thenable that throws | value
function f() { return { get then() { throw new Error('x'); } }; }

//// an async iterator without end | value
function f() { return { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 42, done: false }) }) }; }

//// async state that leaks between awaits | value
let n = 40; async function f() { await null; return ++n; }

//// toJSON on the prototypes
Object.prototype.toJSON = function(){ return 9 }; Number.prototype.toJSON=()=>9; function f(){ return {} }

//// Array's iterator gives the value | iterates
Array.prototype[Symbol.iterator]=function*(){ yield 9; }; function f(){ return [1] }

//// Array.from and Array.isArray lie | length
Array.from=()=>[9]; Array.isArray=()=>true; function f(){ return {} }

//// Array.join gives a message
Array.prototype.join=function(){ return "0,3"}; function f(){ return 1 }

//// every global replaced by a getter that throws
for (const n of Object.getOwnPropertyNames(globalThis)) { try { Object.defineProperty(globalThis,n,{get(){throw new Error("no")}}) } catch {} } function f(){ return 1 }

//// getters for the guest's own names on Object.prototype
for (const n of ["steps","atoms","operation","parts","value","done","then","text","number","exports","names","error","ending"]) { try { Object.defineProperty(Object.prototype,n,{get(){return 9},set(){},configurable:true}) } catch {} } function f(){ return {} }

//// process.exit does nothing, then abort
process.exit=()=>{}; process.reallyExit=()=>{}; process.argv.length=0; function f(){ process.abort() }

//// exit with 0 while loading
process.exit(0); function f(){}

//// process.reallyExit in a call
function f(){ process.reallyExit(0) }

//// signals to every process
function f(){ try { process.kill(-1,"SIGKILL") } catch(e) {} try { process.kill(1,"SIGKILL") } catch {} try { process.kill(process.ppid,"SIGKILL") } catch {} return 1 }

//// SIGSTOP to itself
function f(){ process.kill(process.pid,"SIGSTOP"); return 1 }

//// errors thrown by timers and ticks, with handlers for them | raises
process.on("uncaughtException",()=>{}); process.on("unhandledRejection",()=>{}); process.on("exit",()=>{ for(;;); }); function f(){ setTimeout(()=>{throw 1},0); process.nextTick(()=>{ throw new Error("x") }); Promise.reject(2); return 1 }

//// an exit handler without end
process.on("exit",()=>{ for(;;); }); process.on("SIGTERM",()=>{}); process.on("SIGINT",()=>{}); process.on("SIGHUP",()=>{}); function f(){ process.exit() }

//// process._kill
function f(){ try { process._kill(-1,9) } catch {} try { process._rawDebug("x".repeat(1e6)) } catch {} return 1 }

//// Error.prepareStackTrace that reads the callers' arguments
Error.prepareStackTrace=(e,frames)=>frames; function f(){ const fr=new Error().stack; let g=1; for (const s of fr) { try { const fn=s.getFunction(); if (fn && fn.arguments) g=fn.arguments } catch {} } return g }

//// Error.prepareStackTrace without end, for an exception | raises
Error.prepareStackTrace=()=>{ for(;;); }; function f(){ throw new Error("x") }

//// JSON.parse that keeps the last request | mutates
const P=JSON.parse; JSON.parse=function(t,r){ const v=P(t,r); globalThis.last=v; return v }; function f(){ return globalThis.last ? globalThis.last[1].at(-1) : 1 }

//// Module._load replaced
const M=require("module"); M._load=()=>({readSync(){return 0}}); M.prototype.require=()=>9; require.cache={}; function f(){ return 1 }

//// a proxy whose keys change
let n=0; function f(){ return new Proxy({}, {ownKeys:()=>{n++; return ["a"+n]}, getOwnPropertyDescriptor:()=>({value:n,enumerable:true,configurable:true}), get:()=>n++}) }

//// a proxy whose prototype throws a proxy
function f(){ return new Proxy({}, {getPrototypeOf(){ throw new Proxy({}, {getPrototypeOf(){ throw 1 }, get(){ throw 2 }}) }}) }

//// a proxy of an error that throws everywhere | raises
function f(){ throw new Proxy(new Error("x"), {get(){ throw new Error("y") }, getPrototypeOf(){ throw 1 }}) }

//// a revoked proxy as an exception | raises
function f(){ const r=Proxy.revocable({}, {}); r.revoke(); throw r.proxy }

//// getters of length and size without end | length
function f(){ return new (class A { get a(){ throw new TypeError("t") } get length(){ for(;;); } get size(){ throw 1 } }) }

//// a thenable that resolves to itself
function f(){ const t={ then(r){ r(t) } }; return t }

//// a thenable whose then has no end
function f(){ return { then(){ for(;;); } } }

//// a String whose valueOf is itself | text
class S extends String { valueOf(){ return this } } function f(){ return new S("x") }

//// an error that is its own cause | raises
function f(){ const e=new Error("a"); e.cause=e; throw e }

//// an error whose message has no end | raises
class E extends Error { get message(){ for(;;); } get name(){ throw 1 } } function f(){ throw new E() }

//// an error whose constructor has no end | raises
function f(){ const e=new Error("x"); Object.defineProperty(e,"constructor",{get(){ for(;;); }}); throw e }

//// nextTick without end
function f(){ const g=()=>process.nextTick(g); g(); return 1 }

//// setImmediate without end
function f(){ const g=()=>setImmediate(g); g(); return 1 }

//// a top-level await without end
await new Promise(()=>{}); export function f(){ return 1 }

//// a loop while loading
for(;;); function f(){}

//// an iterator whose results are empty | iterates
function f(){ return { next(){ return {} } , [Symbol.iterator](){ return this } } }

//// a BigInt that is squared without end
function f(){ let b=3n; for(;;) b*=b }

//// a sparse array of four thousand million
function f(){ const a=[]; a[4e9]=1; return a }

//// hundreds of workers
const {Worker}=require("worker_threads"); function f(){ for(let i=0;i<500;i++) { try { new Worker("for(;;);",{eval:true}) } catch {} } return 1 }

//// a worker that reads the channel
const {Worker}=require("worker_threads"); new Worker("const fs=require('fs'); const b=Buffer.alloc(65536); for(;;) { try { fs.readSync(3,b) } catch {} }",{eval:true}); function f(){ return 1 }

//// a child that keeps the channel after an exit
const c=require("child_process"); function f(){ c.spawn("/bin/sh",["-c","sleep 60 >&3"],{detached:true,stdio:["ignore","ignore","ignore",3]}).unref(); process.exit(0) }

//// a fork of the guest
function f(){ try { require("child_process").fork(process.argv[1],process.argv.slice(2)) } catch {} return 1 }

//// process.execve of another program
function f(){ process.execve("/bin/true",["true"]) }

//// another file in the channel's place
const fs=require("fs"); function f(){ fs.closeSync(3); fs.openSync("/dev/null","r+"); return 9 }

//// /dev/zero in the channel's place
const fs=require("fs"); fs.closeSync(3); fs.openSync("/dev/zero","r"); function f(){ return 9 }

//// empty messages without end
const fs=require("fs"); function f(){ for(;;) fs.writeSync(3,Buffer.alloc(4096)) }

//// commands to CI runners on the standard streams
function f(){ console.error("::error::x\n::set-output name=a::b\u001b[2J"); console.log("\u001b]0;x\u0007 1 passed"); return 1 }

//// Object.prototype.then settles with the value
Object.prototype.then = function (resolve) { delete Object.prototype.then; resolve(42); }; const f = () => ({});

//// Array.prototype.at hides a step
Array.prototype.at = () => 0; function f() { return [1, 2]; }

//// Array.prototype.push adds a step | iterates
const push = Array.prototype.push;
Array.prototype.push = function (...items) { return push.call(this, ...items, 0); }; function f() { return [9, 2, 3]; }

//// RegExp.prototype.test says yes to all
RegExp.prototype.test = () => true; function f() { return { a: 1 }; }

//// BigInt.prototype.toString without end
BigInt.prototype.toString = () => { for (;;); }; const f = () => 2n ** 80n;

//// String.prototype.replaceAll throws while an exception is told | raises
String.prototype.replaceAll = () => { throw 1; }; function f() { throw new TypeError('bad'); }

//// Symbol.species makes what it likes | length
class List extends Array { static get [Symbol.species]() { return function () { return [1, 2, 3]; }; } } const f = () => new List(2);

//// microtasks without end
function f() { const go = () => queueMicrotask(go); go(); return 1; }

//// a message port without end
const { MessageChannel } = require('worker_threads');
function f() { const { port1, port2 } = new MessageChannel(); port1.on('message', (m) => port2.postMessage(m)); port2.postMessage(1); return 1; }

//// a shared array that changes while it is told | iterates
const { Worker: Thread } = require('worker_threads');
const shared = new Int32Array(new SharedArrayBuffer(12));
new Thread('const { workerData } = require("worker_threads"); for (let n = 0; ; n++) workerData.fill(n)', { eval: true, workerData: shared });
const f = () => shared;

//// a date whose text is the value
class Day extends Date { toISOString() { return '42Z'; } } const f = () => new Day(0);

//// a buffer that shrinks while it is told | length
const buffer = new ArrayBuffer(3, { maxByteLength: 8 });
const bytes = new Uint8Array(buffer); Object.defineProperty(bytes, 'length', { get() { buffer.resize(0); return 3; } }); const f = () => bytes;

//// the stack made larger than it is
require('v8').setFlagsFromString('--stack-size=900000'); function f() { return f() + 1; }

//// throws nothing at all | raises
function f() { throw undefined; }

//// throws an object whose message has a getter | raises
function f() { throw { get message() { for (;;); } }; }

//// throws from another realm | raises
const vm = require('vm'); function f() { vm.runInNewContext("throw new TypeError('bad')"); }

//// the guest's file replaced for the next program
const fs = require('fs'); for (const name of fs.readdirSync(__dirname)) fs.writeFileSync(`${__dirname}/${name}`, 'while (true);'); function f() { return 1; }

//// WebAssembly without end
function f() { new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,8,1,0,10,9,1,7,0,3,64,12,0,11,11]))); return 1; }

//// finalizers and weak references
const registry = new FinalizationRegistry(() => process.exit(0)); function f() { for (let i = 0; i < 1e5; i++) registry.register({}, i); return 1; }

//// require gives other modules
const Module = require('module'); Module.prototype.require = () => ({ writeSync() {}, readSync: () => 0 }); function f() { return 1; }

//// process.emit of an exit
function f() { process.emit('exit', 0); process.emit('SIGTERM'); process.reallyExit = () => {}; process.abort = () => {}; return 1; }

//// diagnostics to the folder of the check
function f() { process.report.writeReport('/tmp/../report.json'); require('v8').writeHeapSnapshot('/promptse_was_here'); return 1; }
