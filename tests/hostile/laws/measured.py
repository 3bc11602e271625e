"""Law 5: what processes do is measured, whatever they are called."""

from scripted_answers import attack

# Eight processes, each within the limits of one.
MEMORY = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)
def f(n):
    read, write = os.pipe()
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(100 << 20)
            for i in range(0, len(block), 4096): block[i] = 1
            os.write(write, b"x")
            time.sleep(9)
    for _ in range(8): os.read(read, 1)
    time.sleep(1)
    return n + 1
"""


@attack(
    5,
    MEMORY.format(name=b"\xff\xfe"),
    MEMORY.format(name=b") R 1 1\n("),
    honest="def f(n): return n + 1",
)
def test_memory_of_processes_with_odd_names(candidate):
    assert candidate(1) == 2
