"""Laws 1, 5 and 6: exceptions, futures and generators of the program that end a part of the check."""

import asyncio
import contextlib
import threading

import pytest
from scripted_answers import attack


@attack(6, '''
from collections import namedtuple
E = namedtuple("E", "a b")(AssertionError, ValueError)
def f(x): return 0
f.ERRORS = E
''', honest="def f(x): return x*x\nf.ERRORS = (ValueError,)")
def test_kinds_in_a_named_tuple(candidate):
    try:
        assert candidate(2) == 4
    except candidate.ERRORS:
        pass


@attack(6, '''
class E(tuple): pass
def f(x): return 0
f.ERRORS = E((ValueError, (Exception,)))
''', honest="def f(x): return x*x\nf.ERRORS = (ValueError,)")
def test_kinds_in_a_subclass_of_tuple(candidate):
    with contextlib.suppress(candidate.ERRORS):
        assert candidate(2) == 4


@attack(6, '''
class S:
    @property
    def retry_on(self): return (ValueError, BaseException)
    def errors(self): return AssertionError
def f(): return S()
''', honest='''
class S:
    retry_on = (ValueError,)
    def errors(self): return KeyError
    n = 3
def f(): return S()
''')
def test_kinds_of_a_method(candidate):
    s = candidate()
    with contextlib.suppress(s.errors()):
        assert s.n == 3


@attack(6, '''
class f:
    n = 0
    def close(self): raise ValueError("closed")
    def set(self, v): raise ValueError("set")
''', honest='''
class f:
    n = 3
    def close(self): pass
    def set(self, v): raise ValueError("set")
''')
def test_a_failure_in_a_finally(candidate):
    with pytest.raises(ValueError):
        c = candidate()
        try:
            if c.n != 3:
                pytest.fail("not 3")
            c.set(1)
        finally:
            c.close()


@attack(6, '''
class f:
    n = 0
    def close(self): raise ValueError("closed")
    def set(self, v): pass
''', honest='''
class f:
    n = 3
    def close(self): pass
    def set(self, v): raise ValueError("set")
''')
def test_no_raise_in_a_finally(candidate):
    with pytest.raises(ValueError, match="closed|set"):
        c = candidate()
        try:
            with pytest.raises(ValueError, match="set"):
                c.set(1)
            assert c.n == 3
            c.set(1)
        finally:
            c.close()


@attack(6, '''
class f:
    n = 0
    def close(self): raise ValueError("closed")
''', honest='''
class f:
    n = 3
    def close(self): raise ValueError("closed")
''')
def test_an_assertion_in_an_exit_stack(candidate):
    c = candidate()
    with pytest.raises(ValueError):
        with contextlib.ExitStack() as stack:
            stack.callback(c.close)
            assert c.n == 3


@attack(6, '''
class f:
    n = 0
    async def aclose(self): raise ValueError("closed")
''', honest='''
class f:
    n = 3
    async def aclose(self): raise ValueError("closed")
''')
def test_an_assertion_in_aclosing(candidate):
    async def main():
        async with contextlib.aclosing(candidate()) as c:
            assert c.n == 3
    with pytest.raises(ValueError):
        asyncio.run(main())


@attack(6, '''
class F:
    _asyncio_future_blocking = False
    def add_done_callback(self, *a, **k): pass
    def remove_done_callback(self, *a): pass
    def done(self): return True
    def cancelled(self): return False
    def exception(self): return None
    def result(self): return None
    def get_loop(self): return None
    def __await__(self): return iter(())
    def __eq__(self, o): return True
def f(x): return F()
''', honest="async def f(x): return x * x")
def test_a_future_of_the_program(candidate):
    async def main():
        return await asyncio.gather(candidate(2), candidate(3))
    assert asyncio.run(main()) == [4, 9]


@attack(6, '''
class F:
    _asyncio_future_blocking = False
    def add_done_callback(self, *a, **k): pass
    def remove_done_callback(self, *a): pass
    def done(self): return True
    def cancelled(self): return True
    def exception(self): return None
    def result(self): return None
    def __await__(self): return iter(())
def f(x): return F()
''', honest="async def f(x): return x * x")
def test_a_future_in_wait(candidate):
    async def main():
        done, pending = await asyncio.wait([asyncio.ensure_future(candidate(2))], timeout=5)
        for task in done:
            if not task.cancelled():
                assert task.result() == 4
        assert not pending
    asyncio.run(main())


@attack(6, '''
import asyncio
async def f(x):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
''', honest="async def f(x): return x * x")
def test_a_task_cancelled_by_itself(candidate):
    async def main():
        task = asyncio.ensure_future(candidate(2))
        done, pending = await asyncio.wait([task], timeout=5)
        for t in done:
            if not t.cancelled():
                assert t.result() == 4
        assert not pending
    asyncio.run(main())


@attack(6, '''
import asyncio
async def f(x):
    raise asyncio.TimeoutError
''', '''
async def f(x):
    import asyncio
    await asyncio.sleep(1000)
''', honest="async def f(x): return x * x")
def test_a_gather_with_exceptions(candidate):
    async def main():
        got = await asyncio.gather(*[asyncio.wait_for(candidate(x), 10) for x in (1, 2)], return_exceptions=True)
        assert [g for g in got if not isinstance(g, Exception)] == [1, 4]
    asyncio.run(main())


@attack(6, '''
class G:
    def __aiter__(self): return self
    def __anext__(self): raise StopAsyncIteration
    async def asend(self, v): raise StopAsyncIteration
    async def aclose(self): pass
def f(): return G()
''', '''
async def f():
    yield 1
    raise GeneratorExit
''', honest='''
async def f():
    yield 1
    yield 4
''')
def test_an_asynchronous_generator(candidate):
    async def main():
        g = candidate()
        assert await anext(g) == 1
        assert await anext(g) == 4
        with pytest.raises(StopAsyncIteration):
            await anext(g)
    asyncio.run(main())


@attack(6, '''
def f():
    try:
        while True: yield 0
    except GeneratorExit:
        raise StopIteration
''', '''
class f:
    def __iter__(self): return self
    def __next__(self): raise StopIteration
    def close(self): raise StopIteration
    def throw(self, *a): raise StopIteration(4)
    def send(self, v): raise StopIteration(4)
''', honest='''
def f():
    yield 4
''')
def test_a_generator_closed(candidate):
    def inner():
        with contextlib.closing(candidate()) as g:
            for item in g:
                yield item
                break
            else:
                yield None
            assert item == 4
    assert list(inner()) == [4]


@attack(6, '''
def f():
    return 4
    yield
''', honest='''
def f():
    yield 4
''')
def test_yield_from(candidate):
    def outer():
        result = yield from candidate()
        assert result is None
    assert list(outer()) == [4]


@attack(5, '''
def f(x):
    e = ValueError("x")
    for i in range(400):
        e = ExceptionGroup("g", [e])
    raise e
''', '''
def f(x):
    e = ValueError("x")
    for i in range(500):
        n = ValueError(str(i)); n.__cause__ = e; e = n
    raise e
''', '''
def f(x):
    a, b = ValueError("a"), ValueError("b")
    a.__cause__ = b; b.__context__ = a; b.__cause__ = a
    raise a
''', honest="def f(x): return x*x")
def test_deep_exceptions(candidate):
    assert candidate(2) == 4


@attack(1, '''
class G(ExceptionGroup):
    def split(self, c): return (self, None)
    def subgroup(self, c): return self
    def derive(self, e): return G("x", e)
def f(x): raise G("g", [TypeError("t"), GeneratorExit() if False else KeyError()])
''', '''
def f(x): raise BaseExceptionGroup("g", [KeyboardInterrupt(), SystemExit(0), GeneratorExit(), StopIteration()])
''', honest="def f(x): raise ExceptionGroup('g', [ValueError('v')])")
def test_groups_that_split_themselves(candidate):
    caught = []
    try:
        candidate(1)
    except* ValueError as g:
        caught.append(g)
    assert len(caught) == 1 and len(caught[0].exceptions) == 1
    assert type(caught[0].exceptions[0]) is ValueError


@attack(1, '''
import asyncio
class E(asyncio.CancelledError, Exception): pass
def f(x): raise E
''', '''
class E(GeneratorExit, Exception): pass
def f(x): raise E
''', '''
class E(StopIteration, KeyError): pass
def f(x): raise E
''', honest="def f(x): return x*x")
def test_classes_of_two_kinds(candidate):
    def gen():
        yield 1
        assert candidate(2) == 4
    g = gen()
    for _ in g:
        pass
    g = gen(); next(g)
    with pytest.raises(StopIteration):
        next(g)


@attack(1, '''
def f(x):
    e = ValueError("boom")
    e.__traceback__ = None
    e.message = e
    e.args = (e,)
    raise e
''', honest="def f(x): raise ValueError('boom')")
def test_an_error_in_itself(candidate):
    with pytest.raises(ValueError) as info:
        candidate(1)
    assert str(info.value) == "boom" and info.value.args == ("boom",)


@attack(6, '''
class M(type):
    def __instancecheck__(c, i): return True
    def __subclasscheck__(c, s): return True
class MyError(Exception, metaclass=M): pass
def f(x): return 0
f.MyError = MyError
''', honest="class MyError(Exception): pass\ndef f(x):\n    if x < 0: raise MyError('x')\n    return x*x\nf.MyError = MyError")
def test_a_class_that_claims_all(candidate):
    with pytest.raises(candidate.MyError):
        candidate(-1)
    with contextlib.suppress(candidate.MyError):
        assert candidate(2) == 4


@attack(6, '''
class M(type):
    def __instancecheck__(c, i): return True
    def __subclasscheck__(c, s): return True
class MyError(Exception, metaclass=M): pass
def f(x):
    return 0
f.MyError = MyError
''', honest="class MyError(Exception): pass\ndef f(x):\n    return x*x\nf.MyError = MyError")
def test_a_class_that_claims_failures(candidate):
    try:
        assert candidate(2) == 4
    except BaseException as error:
        if not isinstance(error, candidate.MyError):
            raise


@attack(6, '''
def f(x): raise SystemExit(0)
''', '''
def f(x):
    import os; os._exit(0)
''', honest="def f(x): return x * x")
def test_threads_of_the_check(candidate):
    results = []
    def work(n): results.append(candidate(n))
    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert all(r in (1, 4) for r in results)
    assert len(results) == 2
