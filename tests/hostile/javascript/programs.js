// Programs that attack the laws of docs/explanation/sandbox.md. None may pass a check for 42, and none
// may hang or harm. A line with four slashes begins a program.

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
