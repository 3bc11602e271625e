"""Hostile programs of every language: none passes, hangs, or does or learns anything outside.

A program that tried what it should not prints ``tried``, so that a program which only fails to
start does not count as held.
"""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

import pytest

SECRET = "the expected value 8f2c"
SECONDS = 1.0
# A run takes a few times its limit if the machine is busy.
MOST_SECONDS = 60
LIMITS_END_IT = ("fork bomb", "endless output", "endless loop", "memory")
_CLIKE = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
int main() {{ {body} }}
"""
_C = {
    "fork bomb": "for (;;) fork();",
    "endless output": 'for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");',
    "endless loop": "volatile int i = 0; for (;;) i++;",
    "memory": "for (;;) { char *p = (char *) malloc(1 << 20); if (p) memset(p, 1, 1 << 20); }",
    "read": 'FILE *f = fopen("{path}", "r"); char b[99] = ""; if (f) fgets(b, 99, f);'
    ' printf("tried %s", b);',
    "write": 'FILE *f = fopen("{path}", "w"); if (f) fputs("x", f); puts("tried");',
    "network": "struct sockaddr_in a; memset(&a, 0, sizeof a); a.sin_family = AF_INET;"
    ' a.sin_port = htons({port}); a.sin_addr.s_addr = inet_addr("127.0.0.1");'
    " int s = socket(AF_INET, SOCK_STREAM, 0); connect(s, (struct sockaddr *) &a, sizeof a);"
    ' puts("tried");',
    "child": 'if (fork() == 0) { setsid(); if (fork() == 0) for (;;) pause(); } puts("tried");',
}
_NODE = {
    "fork bomb": 'const {{ spawn }} = require("child_process");'
    "for (;;) spawn(process.execPath, [__filename]);",
    "endless output": 'for (;;) require("fs").writeSync(1, "x".repeat(9999));',
    "endless loop": "for (;;);",
    "memory": "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));",
    "read": 'let t; try {{ t = require("fs").readFileSync("{path}", "utf8"); }} catch {{}}'
    ' console.log("tried", t, JSON.stringify(process.env));',
    "write": 'try {{ require("fs").writeFileSync("{path}", "x"); }} catch {{}}'
    ' console.log("tried");',
    "network": 'require("net").connect({port}, "127.0.0.1").on("error", () => {{}});'
    ' console.log("tried");',
    "child": 'require("child_process").spawn("sleep", ["99"],'
    ' {{ detached: true, stdio: "ignore" }}).unref();'
    ' console.log("tried");',
}
_RUST = "use std::io::Write;\nuse std::process::Command;\nfn main() {{ {body} }}\n"
_GO = """\
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
)

var _, _, _, _ = fmt.Println, net.Dial, os.Args, exec.Command

func main() {{ {body} }}
"""
_JAVA = """\
import java.nio.file.*;
import java.util.*;
public class Main {{ public static void main(String[] args) throws Exception {{ {body} }} }}
"""
PROGRAMS = {
    "python": {
        "fork bomb": "import os\nwhile True: os.fork()",
        "endless output": "while True: print('x' * 9999)",
        "endless loop": "while True: pass",
        "memory": "all = []\nwhile True: all.append(bytearray(b'1' * (1 << 20)))",
        "read": "import os\ntry: text = open('{path}').read()\nexcept OSError: text = ''\n"
        "print('tried', text, dict(os.environ))",
        "write": "try: open('{path}', 'w').write('x')\nexcept OSError: pass\nprint('tried')",
        "network": "import socket\ntry: socket.create_connection(('127.0.0.1', {port}))\n"
        "except OSError: pass\nprint('tried')",
        "child": "import subprocess\nsubprocess.Popen(['sleep', '99'], start_new_session=True)\n"
        "print('tried')",
    },
    "javascript": _NODE,
    "typescript": _NODE,
    "c": {name: _CLIKE.replace("{body}", body) for name, body in _C.items()},
    "cpp": {name: _CLIKE.replace("{body}", body) for name, body in _C.items()},
    "go": {
        name: _GO.replace("{body}", body)
        for name, body in {
            "fork bomb": "for {{ exec.Command(os.Args[0]).Start() }}",
            "endless output": 'for {{ fmt.Println("xxxxxxxxxxxxxxxxxxxxxxxxxxxx") }}',
            "endless loop": 'i := 0; for {{ i++; if i < 0 {{ fmt.Print("") }} }}',
            "memory": "all := [][]byte{{}}; for {{ b := make([]byte, 1<<20);"
            " for i := range b {{ b[i] = 1 }}; all = append(all, b); _ = all }}",
            "read": 't, _ := os.ReadFile("{path}"); fmt.Println("tried", string(t), os.Environ())',
            "write": 'os.WriteFile("{path}", []byte("x"), 0o644); fmt.Println("tried")',
            "network": 'net.Dial("tcp", "127.0.0.1:{port}"); fmt.Println("tried")',
            "child": 'exec.Command("sleep", "99").Start(); fmt.Println("tried")',
        }.items()
    },
    "rust": {
        name: _RUST.replace("{body}", body)
        for name, body in {
            "fork bomb": "loop {{ let _ = Command::new(std::env::args().next().unwrap())"
            ".spawn(); }}",
            "endless output": "loop {{ let _ = std::io::stdout().write_all(&[120u8; 9999]); }}",
            "endless loop": "let mut i = 0u64; loop {{ i = std::hint::black_box(i + 1); }}",
            "memory": "let mut all = vec![];"
            " loop {{ all.push(std::hint::black_box(vec![1u8; 1 << 20])); }}",
            "read": 'println!("tried {{:?}} {{:?}}", std::fs::read_to_string("{path}"),'
            " std::env::vars().collect::<Vec<_>>());",
            "write": 'let _ = std::fs::write("{path}", "x"); println!("tried");',
            "network": 'let _ = std::net::TcpStream::connect("127.0.0.1:{port}");'
            ' println!("tried");',
            "child": 'let _ = Command::new("sleep").arg("99").spawn(); println!("tried");',
        }.items()
    },
    "java": {
        name: _JAVA.replace("{body}", body)
        for name, body in {
            "fork bomb": 'while (true) try {{ new ProcessBuilder("sh", "-c", "sleep 99 & sleep 99")'
            ".start(); }} catch (Throwable e) {{}}",
            "endless output": 'while (true) System.out.println("xxxxxxxxxxxxxxxxxxxxxxxxxxxx");',
            "endless loop": "while (true) {{}}",
            "memory": "List<byte[]> all = new ArrayList<>(); while (true) try"
            " {{ all.add(new byte[1 << 20]); }} catch (OutOfMemoryError e) {{}}",
            "read": 'String t = ""; try {{ t = Files.readString(Path.of("{path}")); }}'
            ' catch (Exception e) {{}} System.out.println("tried " + t + System.getenv());',
            "write": 'try {{ Files.writeString(Path.of("{path}"), "x"); }} catch (Exception e) {{}}'
            ' System.out.println("tried");',
            "network": 'try {{ new java.net.Socket("127.0.0.1", {port}); }}'
            " catch (Exception e) {{}}"
            ' System.out.println("tried");',
            "child": 'new ProcessBuilder("sleep", "99").start(); System.out.println("tried");',
        }.items()
    },
    "bash": {
        "fork bomb": "f() {{ f | f & }}\nf\nwhile :; do :; done",
        "endless output": "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
        "endless loop": "while :; do :; done",
        "memory": 'x=xxxxxxxxxxxxxxxx; while :; do x="$x$x"; done',
        "read": 'echo "tried $(cat {path} 2>&1)"; env; cat /proc/*/environ 2>&1',
        "write": "echo x 2>&1 > {path}\necho tried",
        "network": "exec 2>&1; (: > /dev/tcp/127.0.0.1/{port}); echo tried",
        "child": "setsid sleep 99 & disown; echo tried",
    },
    "ruby": {
        "fork bomb": "loop {{ fork rescue nil }}",
        "endless output": 'loop {{ puts "x" * 9999 }}',
        "endless loop": "loop {{}}",
        "memory": "all = []; loop {{ all << ('1' * (1 << 20)) }}",
        "read": 'puts "tried", (File.read("{path}") rescue ""), ENV.to_h',
        "write": 'File.write("{path}", "x") rescue nil; puts "tried"',
        "network": 'require "socket"; TCPSocket.new("127.0.0.1", {port}) rescue nil; puts "tried"',
        "child": 'Process.detach(spawn("sleep 99", pgroup: true)); puts "tried"',
    },
    "php": {
        "fork bomb": "<?php while (true) popen('sleep 99', 'r');",
        "endless output": "<?php while (true) echo str_repeat('x', 9999);",
        "endless loop": "<?php while (true);",
        "memory": "<?php ini_set('memory_limit', -1); $all = [];"
        " while (true) $all[] = str_repeat('1', 1 << 20);",
        "read": "<?php echo 'tried', @file_get_contents('{path}'), json_encode(getenv());",
        "write": "<?php @file_put_contents('{path}', 'x'); echo 'tried';",
        "network": "<?php @fsockopen('127.0.0.1', {port}); echo 'tried';",
        "child": "<?php exec('setsid sleep 99 > /dev/null 2>&1 &'); echo 'tried';",
    },
    "sql": {
        "fork bomb": ".shell bash -c 'f() {{ f | f & }}; f; while :; do :; done'",
        "endless output": "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x FROM t)"
        " SELECT 'xxxxxxxxxxxxxxxxxxxxxxxx' FROM t;",
        "endless loop": "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x FROM t)"
        " SELECT sum(x) FROM t;",
        "memory": "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t)"
        " SELECT group_concat(hex(randomblob(100000))) FROM t;",
        "read": "SELECT 'tried';\nSELECT readfile('{path}');\n.shell env\n.read {path}",
        "write": "SELECT 'tried';\n.output {path}\nSELECT 1;",
        "network": "SELECT 'tried';\n.shell bash -c ': > /dev/tcp/127.0.0.1/{port}'",
        "child": "SELECT 'tried';\n.shell setsid sleep 99 &",
    },
}
CASES = [(language, attack) for language, attacks in PROGRAMS.items() for attack in attacks]


AT_BUILD = {
    "c": '#include "{path}"\nint main() {{ return 0; }}',
    "cpp": 'template <int n> struct T {{ T<n + 1> t; T<n + 2> u; }};\n#include "{path}"\n'
    "int main() {{ T<0> t; }}",
    "go": 'package main\n\nimport _ "embed"\n\n//go:embed {path}\nvar s string\n\n'
    "func main() {{ println(s) }}",
    "rust": 'fn main() {{ println!("{{}}", include_str!("{path}")); }}',
    "java": "class Main {{ static int[] a = new int[1]; {path} }}",
}


@pytest.fixture
def listener():
    """A server of the host that no program may reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def left_processes(sandbox, monkeypatch):
    """Return the processes that the last program left in the jail."""
    monkeypatch.setenv("PROMPTSE_TEST_SECRET", SECRET)

    def left() -> list[str]:
        [worker] = sandbox._all
        listing = Path(f"/proc/{worker.zygote}/task/{worker.zygote}/children").read_text().split()
        return [
            state
            for child in listing
            if not re.search(r"State:\s+Z", state := Path(f"/proc/{child}/status").read_text())
        ]

    return left


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case).replace(" ", "-"))
def test_hostile_program_neither_passes_nor_hangs_nor_harms(
    run, listener, left_processes, tmp_path, case
):
    language, attack = case
    path = tmp_path / "expected.txt"
    if attack == "read":
        path.write_text(SECRET)
    program = PROGRAMS[language][attack].replace("{path}", str(path))
    program = program.replace("{port}", str(listener.getsockname()[1]))
    if "{{" in program:
        program = program.replace("{{", "{").replace("}}", "}")
    start = time.monotonic()
    result = run(language, program + "\n", wall=SECONDS if attack in LIMITS_END_IT else 10.0)
    assert time.monotonic() - start < MOST_SECONDS
    if attack in LIMITS_END_IT:
        assert getattr(result, "cause", "") in ("timeout", "resource") or result.returncode != 0
    else:
        assert "tried" in result.stdout, result
        assert SECRET not in result.stdout + result.stderr
    assert path.exists() is (attack == "read")
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert left_processes() == []
    # The sandbox still works.
    assert run("bash", "echo fine").stdout == "fine\n"


@pytest.mark.parametrize("language", AT_BUILD)
def test_compiler_reads_nothing_of_the_host(run, left_processes, tmp_path, language):
    path = tmp_path / "expected.txt"
    path.write_text(SECRET)
    source = AT_BUILD[language].replace("{path}", str(path))
    failure = run(language, source.replace("{{", "{").replace("}}", "}"))
    assert failure.cause == "build"
    assert SECRET not in failure.detail
    assert left_processes() == []
