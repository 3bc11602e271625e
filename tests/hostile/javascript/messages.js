// Programs that write messages to the channel themselves. This part is put before each of them:
// `serve` answers all requests by a function of the verb, the request and its number.
const fs = require("node:fs");
function raw(text){ const b=Buffer.from(text); const h=Buffer.alloc(4); h.writeUInt32BE(b.length); let m=Buffer.concat([h,b]); for(let p=0;p<m.length;) p+=fs.writeSync(3,m,p); }
function msg(steps, atoms){ raw(JSON.stringify([steps, atoms])); }
function recv(){ const h=Buffer.alloc(4); let p=0; while(p<4){const n=fs.readSync(3,h,p,4-p); if(!n) process.exit(0); p+=n;} const b=Buffer.alloc(h.readUInt32BE()); p=0; while(p<b.length){const n=fs.readSync(3,b,p,b.length-p); if(!n) process.exit(0); p+=n;} return b.toString(); }
const ATOMS=0,LIST=1,TUPLE=2,SET=3,FROZENSET=4,DICT=5,INT=6,REFERENCE=18,PROXY=19,STANDARD=20,NAMED=21,CLASS=22,EXCEPTION=23,ARRAY=24,SHARED=25,SAME=26;
// serve: take over the channel synchronously; answer gives [steps, atoms] of the value
function serve(answer){ msg([ATOMS,1,ATOMS,1,ATOMS,1,TUPLE,3],["result",null,null]); let n=0; for(;;){ const r=recv(); const verb=JSON.parse(r)[1][0]; if(["release","surroundings","moved","update"].includes(verb)) continue; const [s,a]=answer(verb,r,n++); msg([ATOMS,1,...s,ATOMS,1,TUPLE,3],["result",...a,null]); } }
const cls=(num,name,specials,bases=[[],[]],methods="")=>[[ATOMS,9,...bases[0],TUPLE,bases[0].length?1:0,CLASS,10],[num,name,name,"program",null,specials,"",methods,null,...bases[1]]];
const ref=(num,c)=>[[ATOMS,1,...c[0],REFERENCE,2],[num,...c[1]]];
const named=(m,n)=>[[ATOMS,2,NAMED,2],[m,n]];

//// answers before they are asked for
function f(){ for(let i=0;i<1000;i++) msg([0,3,2,3],["result",9,null]); return 9 }

//// calls of functions that the check has not lent
function f(){ for(let i=0;i<100;i++) msg([0,3,0,1,2,1,0,0,5,0,2,5],["callback",0,"call",9]); return 1 }

//// a call of a function with an unknown number
function f(){ msg([0,3,0,1,2,1,5,0,2,5],["callback",12345,"call",9]); recv(); return 1 }

//// __globals__ of the check's function | calls
function f(cb){ msg([0,3,0,1,2,1,5,0,2,5],["callback",0,"get","__globals__"]); const r=recv(); return r }

//// every verb with the private names of the check's function | calls
function f(cb){ const out=[]; for (const v of ["get","set","delete","operate","call","method","names","find","entry"]) for (const n of ["__globals__","__code__","f_back","gi_frame","__class__","append"]) { msg([0,4,2,4],["callback",0,v,n]); out.push(recv()) } return out.join() }

//// an object with Python's comparisons, which are always true
const c=cls(0,"N","__eq__ __ne__ __hash__ __bool__ __len__ __lt__ __int__ __index__ __float__"); serve((v,r,n)=> v==="call"? ref(1,n?cls(0,"N","").slice(0,2)&&[[0,1,22,1],[0]]:c): v==="operate" ? [[0,1],[true]] : [[0,1],[9]]);
function f(){}

//// an object of a class that extends int
const b=named("builtins","int"); const c=cls(0,"N","__eq__ __hash__",b); serve((v,r,n)=> v==="call"? ref(1,n?[[0,1,22,1],[0]]:c): [[0,1],[true]]);
function f(){}

//// os.system as the value
serve((v)=>named("os","system"));
function f(){}

//// subprocess.Popen as the value
serve((v)=>named("subprocess","Popen"));
function f(){}

//// eval as the value
serve((v)=>named("builtins","eval"));
function f(){}

//// mock.ANY as the value
serve((v)=>named("unittest.mock","ANY"));
function f(){}

//// object as the value
serve((v)=>named("builtins","object"));
function f(){}

//// NotImplemented as the value
serve((v)=>named("builtins","NotImplemented"));
function f(){}

//// an object of the check that it has not lent
serve((v)=>[[0,1,19,1],[0]]);
function f(){}

//// an argument that there is not
serve((v)=>[[0,1,26,1],[7]]);
function f(){}

//// the argument as the result | mutates
serve((v)=>[[0,1,26,1],[0]]);
function f(){}

//// a number that JSON has not
serve((v)=>[[0,1],[NaN]]);
function f(){}

//// a generator of random numbers as the value
serve((v)=>[[0,2,20,2],["Random",9]]);
function f(){}

//// a context manager that suppresses all | attribute
const c=cls(0,"C","__enter__ __exit__ __aenter__ __aexit__ __call__ __getattr__"); let k=0; serve((v,r,n)=> { if(/__exit__|exit/.test(r)) return [[0,1],[true]]; if (v==="call"||/enter/.test(r)) return ref(1,k++?[[0,1,22,1],[0]]:c); return [[0,1],[9]]; });
function f(){}

//// exceptions that end generators, loops and pytest | raises
const names=["GeneratorExit","SystemExit","KeyboardInterrupt","StopIteration","StopAsyncIteration","AssertionError","BaseException"]; msg([0,3,2,3],["result",null,null]); for(let i=0;;i++){ const r=recv(); const verb=JSON.parse(r)[1][0]; if(["release","surroundings","moved","update"].includes(verb)) continue; msg([0,1,0,2,21,2,0,1,0,0,2,0,0,1,5,0,0,3,23,8,0,2,2,4],["raised","builtins",names[i%7],-1,"m",null,null,false,"tb",null]); }
function f(){}

//// pytest's own exceptions | raises
msg([0,3,2,3],["result",null,null]); for(let i=0;;i++){ const r=recv(); const verb=JSON.parse(r)[1][0]; if(["release","surroundings","moved","update"].includes(verb)) continue; msg([0,1,0,2,21,2,0,1,0,0,2,0,0,1,5,0,0,3,23,8,0,2,2,4],["raised","_pytest.outcomes",["Skipped","Exit","Failed"][i%3],-1,"m",null,null,false,"tb",null]); }
function f(){}

//// arguments that have become something else | mutates
msg([0,3,2,3],["result",null,null]); for(;;){ const r=recv(); const verb=JSON.parse(r)[1][0]; if(["release","surroundings","moved","update"].includes(verb)) continue; msg([0,2,0,1,1,1,1,1,5,0,2,2,2,3],["result",9,9]); }
function f(){}

//// a promise that is never done
serve((v)=> v==="start"? ref(5,cls(0,"P","__await__")) : v==="step" ? [[1,0],[]] : ref(6,cls(1,"Q","__await__")));
function f(){}

//// items without end | iterates
serve((v)=> v==="next" ? [[0,1,1,1,0,2,2,3],[1,false,null]] : ref(5,cls(0,"I","__iter__ __next__")));
function f(){}

//// no items without end | iterates
serve((v)=> v==="next" ? [[1,0,0,2,2,3],[false,null]] : ref(5,cls(0,"I","__iter__ __next__")));
function f(){}

//// exec as a name of the module | instance
serve((v)=> v==="names" ? [[0,1,1,1],["f"]] : v==="get"||v==="find" ? named("builtins","exec") : [[0,1],[1]]);
function f(){}

//// a message that says passed
msg([0,3,2,3],["result",null,null]); for(;;){ recv(); msg([0,2,2,2],["passed",true]); }
function f(){}

//// a class that extends type | instance
const b=named("builtins","type"); serve((v,r,n)=> cls(n,"M","__eq__ __call__ __instancecheck__ __subclasscheck__",b));
function f(){}

//// a class that extends BaseExceptionGroup | raises
const b=named("builtins","BaseExceptionGroup"); serve((v,r,n)=> cls(n,"M","",b));
function f(){}

//// characters that cannot be written | text
serve((v)=>[[0,1],["\ud800\u0000\u202e"]]);
function f(){}

//// a key twice
serve((v)=>[[0,4,5,4],["a",1,"a",2]]);
function f(){}

//// ten thousand levels | length
serve((v)=>[[1,0,...Array(10000).fill([1,1]).flat()],[]]);
function f(){}

//// numbers with one hash
serve((v)=>{ const a=[]; const M=2305843009213693951n; const s=[]; for(let i=1n;i<40000n;i++){ s.push(0,1,6,1); a.push("0x"+(M*i).toString(16)); } return [[...s,3,a.length],a]; });
function f(){}

//// escape sequences in a traceback | raises
msg([0,3,2,3],["result",null,null]); recv(); msg([0,1,0,2,21,2,0,1,0,0,2,0,0,1,5,0,0,3,23,8,0,2,2,4],["raised","builtins","ValueError",-1,"::error::m",null,null,false,"::stop-commands::x\u001b[31m",null]); for(;;);
function f(){}

//// a decimal that the check sends back | echo
serve((v)=>[[ATOMS,1,12,1],["1.5"]]);
function f(){}

//// a complex number that the check sends back | echo
serve((v)=>[[ATOMS,2,7,2],[1.5,0.5]]);
function f(){}

//// a duration that the check sends back | echo
serve((v)=>[[ATOMS,3,17,3],[1,0,0]]);
function f(){}

//// a slice that the check sends back | echo
serve((v)=>[[ATOMS,4,STANDARD,4],["builtins.slice",1,2,3]]);
function f(){}

//// a mark in a list that the check sends back | echo
serve((v)=>[[ATOMS,1,SAME,1,LIST,1],[0]]);
function f(){}

//// a shared list that the check sends back | echo
serve((v)=>[[ATOMS,2,LIST,1,ATOMS,1,SHARED,3],[5,1,false]]);
function f(){}

//// a path of the host as the value | text
serve((v)=>[[ATOMS,2,STANDARD,2],["pathlib.PosixPath","/etc/passwd"]]);
function f(){}

//// effects that only Python has
function f(){ msg([ATOMS,1,5,0,TUPLE,2],["effects"]); return 1 }

//// twice that it compiles
function f(){ msg([ATOMS,1,TUPLE,1],["compiled"]); return 1 }

//// KeyboardInterrupt for a function of the check | calls
function f(cb){ msg([ATOMS,3,ATOMS,2,NAMED,2,TUPLE,1,DICT,0,TUPLE,5],["callback",0,"call","builtins","KeyboardInterrupt"]); recv(); return 42 }
