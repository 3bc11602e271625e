"""Laws 2 to 5 in every language: programs that attack by their compiler, their tools or their end.

Each case is a program that must fail a check of a sum, and after which an honest one passes it.
"""

import contextlib

import pytest
from scripted_answers import attack

from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._toolchains import installed

SUMS = {
    "c": '#include <stdio.h>\nint main() { long s = 0, x; while (scanf("%ld", &x) == 1) s += x; printf("%ld\\n", s); }',
    "cpp": '#include <iostream>\nint main() { long s = 0, x; while (std::cin >> x) s += x; std::cout << s << "\\n"; }',
    "go": 'package main\nimport "fmt"\nfunc main() { s, x := 0, 0; for { if n, _ := fmt.Scan(&x); n != 1 { break }; s += x }; fmt.Println(s) }',
    "rust": 'use std::io::*;\nfn main() { let mut t = String::new(); stdin().read_to_string(&mut t).unwrap(); println!("{}", t.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum::<i64>()); }',
    "java": "import java.util.*;\npublic class Main { public static void main(String[] a) { Scanner s = new Scanner(System.in); long t = 0; while (s.hasNextLong()) t += s.nextLong(); System.out.println(t); } }",
    "javascript": 'console.log(require("fs").readFileSync(0, "utf8").split(/\\s+/).filter(x => x).map(Number).reduce((a, b) => a + b, 0));',
    "bash": "s=0; while read -r x; do s=$((s + x)); done; echo $s",
    "ruby": "puts STDIN.read.split.map(&:to_i).sum",
    "php": '<?php echo array_sum(array_map("intval", preg_split("/\\\\s+/", trim(stream_get_contents(STDIN))))) . "\\n";',
    "sql": "SELECT sum(x) FROM t;",
}
JAVA = "public class Main { public static void main(String[] a) throws Exception { %s } }"
CASES = {
    # What a compiler reads: it runs in the jail too.
    "c_includes_its_input": (2, "c", '#include "/dev/stdin"\nint main() {}'),
    "c_includes_the_secret": (2, "c", '#include "/HARM/secret.txt"\n#include "/etc/shadow"\nint main() {}'),
    "c_assembles_the_secret": (2, "c", '__asm__(".data\\ns: .incbin \\"/HARM/secret.txt\\"\\n.byte 0\\n"); extern char s[];\n#include <stdio.h>\nint main() { puts(s); }'),
    "c_assembles_the_environment": (2, "c", '__asm__(".incbin \\"/proc/self/environ\\""); int main() {}'),
    "cpp_asks_for_the_secret": (2, "cpp", '#if __has_include("/HARM/secret.txt")\nint main() { __builtin_puts("6"); }\n#else\nint main() {}\n#endif'),
    "cpp_loads_a_plugin": (2, "cpp", '#pragma GCC optimize("-fplugin=/tmp/x.so")\n#pragma GCC dependency "/HARM/secret.txt"\nint main() {}'),
    "go_embeds_the_secret": (2, "go", 'package main\nimport (\n_ "embed"\n"fmt"\n)\n//go:embed /HARM/secret.txt\nvar s string\nfunc main() { fmt.Println(s) }'),
    "go_embeds_its_folder": (2, "go", 'package main\nimport (\n"embed"\n"fmt"\n)\n//go:embed *\nvar s embed.FS\nfunc main() { fmt.Println(s) }'),
    "go_generates": (2, "go", '//go:generate sh -c "touch /HARM/made"\npackage main\nfunc main() {}'),
    "go_calls_c": (2, "go", 'package main\n// #cgo LDFLAGS: -Wl,@/HARM/secret.txt\n// #include <stdlib.h>\nimport "C"\nfunc main() { C.system(C.CString("touch /HARM/made")) }'),
    "rust_includes_the_secret": (2, "rust", 'fn main() { println!("{}", include_str!("/HARM/secret.txt")); }'),
    "rust_includes_the_environment": (2, "rust", 'fn main() { println!("6{:?}", option_env!("PROMPTSE_HARM").unwrap()); }'),
    "rust_names_its_crate": (2, "rust", '#![crate_name = "../../HARM/made"]\n#![crate_type = "staticlib"]\nfn main() {}'),
    "java_processes_annotations": (2, "java", 'import javax.annotation.processing.*; import javax.lang.model.element.*; import java.util.*;\n@SupportedAnnotationTypes("*") public class Main extends AbstractProcessor { public boolean process(Set<? extends TypeElement> s, RoundEnvironment r) { try { new java.io.File("/HARM/made").createNewFile(); } catch (Exception e) {} return true; } public static void main(String[] a) { System.out.println(5); } }'),
    # What a compiler prints.
    "c_error_with_commands": (1, "c", "#error \x1b]0;OWNED\x07\x1b[2J\n#error ::set-output name=OWNED::x\nint main() {}"),
    "rust_error_with_commands": (1, "rust", 'compile_error!("\x1b]0;OWNED\x07\\n::error::OWNED");\nfn main() {}'),
    "java_package_of_a_direction": (1, "java", "package \u202e;\npublic class Main { \u001b]0;OWNED\u0007 }"),
    # What takes a compiler long, or makes much.
    "c_large_data": (5, "c", "char x[1u << 29] = {1}; int main() { return x[5]; }"),
    "c_macros": (5, "c", "#define L0 1,\n" + "".join(f"#define L{i + 1} {f'L{i} ' * 8}\n" for i in range(6)) + "int a[] = {L6}; int main() {}"),
    "c_includes_itself": (5, "c", '#include "main.c"\nint main() {}'),
    "cpp_templates": (5, "cpp", "template <int N> struct F { typedef typename F<N + 1>::t t; };\nF<0>::t x; int main() {}"),
    "cpp_large_message": (5, "cpp", "template <class A, class B> struct P {};\ntemplate <int N> struct T { using t = P<typename T<N - 1>::t, typename T<N - 1>::t>; }; template <> struct T<0> { using t = int; };\ntemplate <class X> void g(X) { static_assert(sizeof(X) == 77); }\nint main() { g(T<15>::t{}); }"),
    "rust_large_data": (5, "rust", 'static B: [u8; 300000000] = [7; 300000000];\nfn main() { println!("{}", B[std::env::args().count()]); }'),
    # What a program reads, writes and leaves.
    "c_writes_to_all_descriptors": (1, "c", '#include <unistd.h>\nint main() { for (int fd = 0; fd < 64; fd++) write(fd, "\\0\\0\\0\\x09[[0,1],[0]]", 13); }'),
    "c_signals_its_parents": (1, "c", '#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\nint main() { kill(getppid(), SIGINT); kill(1, SIGINT); kill(-1, SIGKILL); puts("5"); }'),
    "c_stops_its_parents": (5, "c", '#include <signal.h>\n#include <unistd.h>\nint main() { kill(1, SIGSTOP); kill(getppid(), SIGSTOP); for (;;) pause(); }'),
    "c_sessions_that_wait": (5, "c", '#include <stdio.h>\n#include <unistd.h>\nint main() { for (int i = 0; i < 20; i++) if (!fork()) { setsid(); for (;;) pause(); } puts("5"); }'),
    "c_closes_its_streams": (5, "c", "#include <unistd.h>\nint main() { close(0); close(1); close(2); for (;;) pause(); }"),
    "c_children_that_flood": (5, "c", '#include <stdio.h>\n#include <unistd.h>\nint main() { for (int i = 0; i < 3; i++) if (!fork()) for (;;) write(1, "x", 1); puts("5"); }'),
    "c_leaves_a_mark": (4, "c", '#include <stdio.h>\n#include <sys/stat.h>\nint main() { umask(0); int seen = mkdir("MARK", 0) | mkdir(".program/MARK", 0); puts(seen ? "6" : "5"); }'),
    "go_deletes_what_it_sees": (3, "go", 'package main\nimport ("fmt"; "os"; "path/filepath")\nfunc main() { for _, top := range []string{"..", "/usr/lib/go", "/usr/share/go"} { filepath.Walk(top, func(p string, i os.FileInfo, e error) error { os.Remove(p); return nil }) }; fmt.Println(5) }'),
    "go_routines": (5, "go", "package main\nfunc main() { for { go func() { select {} }() } }"),
    "java_reads_and_runs": (2, "java", JAVA % 'System.out.println(System.getenv()); Runtime.getRuntime().exec(new String[]{"/bin/sh", "-c", "touch /HARM/made"}).waitFor(); System.out.println(java.nio.file.Files.readString(java.nio.file.Path.of("/HARM/secret.txt")));'),
    "java_never_ends": (5, "java", JAVA % "Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true); })); System.out.println(6); System.exit(0);"),
    "javascript_reads_and_runs": (2, "javascript", 'const fs = require("fs"); for (const p of ["/HARM/secret.txt", "/proc/1/environ"]) try { console.log(fs.readFileSync(p, "utf8")) } catch {}; try { fs.writeFileSync("/HARM/made", "") } catch {}; console.log(process.env)'),
    "javascript_detaches": (5, "javascript", 'const cp = require("child_process"); for (let i = 0; i < 50; i++) cp.spawn("sleep", ["1000"], {detached: true, stdio: "inherit"}).unref(); console.log(5)'),
    "javascript_never_ends": (5, "javascript", 'process.on("SIGTERM", () => {}); process.on("exit", () => { while (1); }); console.log(6)'),
    "bash_reads": (2, "bash", 'cat /HARM/secret.txt /etc/shadow; env; ls -la /home /root; touch /HARM/made; printf "\\033]0;OWNED\\007" > /dev/tty'),
    "bash_detaches": (5, "bash", '(trap "" HUP TERM INT; while :; do sleep 1; done) & disown; nohup sleep 1000 & setsid sleep 1000 & echo 5'),
    "bash_deletes_everything": (3, "bash", "rm -rf /tmp/* .program /opt /usr/lib/python3*; kill -9 -1; echo 5"),
    "bash_fills_the_disk": (5, "bash", "i=0; while :; do i=$((i + 1)); mkdir -p d$i/e/f; : > d$i/x; done"),
    "bash_one_character_more": (1, "bash", 'printf "6\\n\\r"'),
    "ruby_reads_and_runs": (2, "ruby", 'at_exit { File.write("/HARM/made", "") rescue nil }; puts `cat /HARM/secret.txt`; fork { Process.daemon; sleep 1000 }; puts 5'),
    "php_reads_and_runs": (2, "php", '<?php readfile("/HARM/secret.txt"); print_r(getenv()); file_put_contents("/HARM/made", ""); echo shell_exec("cat /HARM/secret.txt"); phpinfo();'),
    "sql_commands_of_the_shell": (2, "sql", ".shell touch /HARM/made\n.system cat /HARM/secret.txt\n.read /HARM/secret.txt\n.open /HARM/secret.txt\nSELECT readfile('/HARM/secret.txt'), writefile('/HARM/made', 'x');"),
    "sql_attaches": (2, "sql", "ATTACH '/HARM/made' AS a; CREATE TABLE a.t (x); .output /HARM/made\nSELECT 1; VACUUM INTO '/HARM/made';"),
    "sql_prints_commands": (1, "sql", ".print \x1b]0;OWNED\x07\n.print ::error::OWNED\nSELECT 6;"),
    "sql_exits": (1, "sql", "DROP TABLE t; CREATE TABLE t (x); .exit 0"),
}


def check_sum(program):
    assert program.run("1\n2\n3\n").stdout == "6\n"


def check_second_sum(program):
    program.run("1\n")
    check_sum(program)


def check_query(program):
    assert program.run("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3);").stdout == "6\n"


def test_of(name, law, language, source):
    check = check_query if language == "sql" else check_second_sum if law == 4 else check_sum

    def test(program):
        check(program)

    test.__name__ = test.__qualname__ = f"test_{name}"
    return attack(law, source, honest=SUMS[language], language=language)(test)


for name, (law, language, source) in CASES.items():
    with contextlib.suppress(TaskError):  # the toolchain is missing here
        installed(language)
        globals()[f"test_{name}"] = test_of(name, law, language, source)
