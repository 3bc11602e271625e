"""After a call, the arguments are as if the program had run in the process of the check."""

import copy
import json
from collections import Counter, OrderedDict, defaultdict, deque
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.decode import decode
from pytest_promptse.sandbox.guest.encode import encode

# Changes containers as the numbers say: which one, how, and with which other one.
PROGRAM = """
def containers(values):
    found = {}
    pending = list(values)
    for value in pending:
        if isinstance(value, (list, dict)) and id(value) not in found:
            found[id(value)] = value
            pending.extend(value if isinstance(value, list) else value.values())
        elif isinstance(value, tuple):
            pending.extend(value)
    return list(found.values())

def f(changes, *args):
    there = containers(args)
    for target, how, source, place in changes:
        target, source = there[target % len(there)], there[source % len(there)]
        new = [source, place, source, (source,)][how % 4] if how < 4 else [place, source]
        if isinstance(target, dict):
            if how == 6:
                target.clear()
            target[str(place)] = new
        elif how == 6 and target:
            target.pop(place % len(target))
        elif how == 7:
            target.reverse()
        elif how % 2:
            target.insert(place, new)
        elif target:
            target[place % len(target)] = new
    there = containers(args)
    return there[place % len(there)] if changes else None
"""
FUNCTIONS = {}
exec(PROGRAM, FUNCTIONS)  # the same program in this process


def form(values):
    """The values without their identities, but with the number of each container."""
    numbers = {}

    def one(value):
        if isinstance(value, tuple):
            return ["tuple", *map(one, value)]
        if not isinstance(value, (list, dict)):
            return value
        if id(value) in numbers:
            return f"container {numbers[id(value)]}"
        numbers[id(value)] = len(numbers)
        if isinstance(value, list):
            return [type(value).__name__, *map(one, value)]
        return [type(value).__name__, [[key, one(item)] for key, item in value.items()]]

    return one(list(values))


@st.composite
def arguments(draw):
    """Lists and dicts that may contain those before them, also several times."""
    made = []
    for _ in range(draw(st.integers(1, 6))):
        inner = st.integers(0, 3) | (st.sampled_from(made) if made else st.integers())
        items = draw(st.lists(inner | st.tuples(inner), max_size=4))
        made.append(
            items if draw(st.booleans()) else {str(key): item for key, item in enumerate(items)}
        )
    return draw(st.lists(st.sampled_from(made), min_size=1, max_size=3)), made


changes = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 7), st.integers(0, 9), st.integers(0, 3)),
    min_size=1,
    max_size=5,
)


@pytest.fixture
def candidate(load):
    return load(PROGRAM)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arguments(), changes)
def test_containers_are_as_after_a_call_in_one_process(candidate, built, changes):
    args, made = built
    args_here, made_here = copy.deepcopy((args, made))
    result_here = FUNCTIONS["f"](changes, *args_here)
    result = candidate(changes, *args)
    assert form([result, args, made]) == form([result_here, args_here, made_here])


@pytest.mark.parametrize(
    ("value", "program", "changed"),
    [
        ([[1], [2]], "x.reverse()", [[2], [1]]),
        (deque([[1], [2]], maxlen=2), "x.append([3])", deque([[2], [3]])),
        ({"a": [1], "b": [2]}, "x['a'], x['b'] = x['b'], x['a']", {"a": [2], "b": [1]}),
        (OrderedDict(a=[1], b=[2]), "x.move_to_end('a')", OrderedDict(b=[2], a=[1])),
        (defaultdict(list, a=[1]), "x['b'].append(x['a'])", {"a": [1], "b": [[1]]}),
        (Counter("ab"), "x['a'] += 1", {"a": 2, "b": 1}),
        ({1, 2}, "x.add(3)", {1, 2, 3}),
        (bytearray(b"ab"), "x[:1] = b'xyz'", b"xyzb"),
        (([1], [2]), "x[0].append(x[1])", ([1, [2]], [2])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_container_is_changed_in_place(load, value, program, changed):
    value = copy.deepcopy(value)
    inner = [item for item in getattr(value, "values", lambda: value)() if type(item) is list]
    candidate = load(f"def f(x):\n    {program}\n    return x")
    assert candidate(value) is value
    assert value == changed
    assert type(value) is not deque or value.maxlen == 2
    left = [item for item in getattr(value, "values", lambda: value)() if type(item) is list]
    assert all(any(item is other for other in inner) for item in left if item in inner)


def test_arrays_of_numpy_move(load):
    np = pytest.importorskip("numpy")
    candidate = load("def f(x):\n    x.reverse()\n    x[0][0] = 9")
    one, two = np.array([1, 2]), np.array([3, 4])
    arrays = [one, two]
    candidate(arrays)
    assert arrays[0] is two
    assert arrays[1] is one
    assert two.tolist() == [9, 4]


def test_what_has_not_changed_is_not_touched(load):
    candidate = load("def f(x): x['new'].append(1)")
    nan = float("nan")
    values = {"old": [nan, 2**70], "new": []}
    for _ in values["old"]:
        candidate(values)
    assert values["old"][0] is nan
    assert values["new"] == [1, 1]


def test_a_container_is_sent_once():
    row = [0] * 1000
    assert len(encode([row] * 1000)) < 2 * len(encode(row)) + 20_000
    grid = decode(encode([row] * 3))
    assert grid[0] is grid[1] is grid[2]


@pytest.mark.parametrize(
    "forged",
    [
        [[wire.ATOMS, 1, wire.SAME, 1], [-1]],
        [[wire.ATOMS, 1, wire.SAME, 1], [0]],
        [[wire.ATOMS, 1, wire.SAME, 1], [True]],
        [[wire.ATOMS, 1, wire.SAME, 1], ["a"]],
        [[wire.LIST, 0, wire.ATOMS, 1, wire.SAME, 1, wire.LIST, 2], [1]],
        [[wire.LIST, 0, wire.ATOMS, 1, wire.SAME, 1, wire.LIST, 2], [-(10**30)]],
        # A tuple in itself many times would take too long to hash.
        [[wire.TUPLE, 0, wire.ATOMS, 1, wire.SAME, 1, wire.TUPLE, 2], [0]],
    ],
)
def test_only_a_container_of_the_message_can_be_named(forged):
    with pytest.raises(wire.WireError):
        decode(json.dumps(forged).encode())


# An attribute that contains itself cannot be read.
STORE = (
    PROGRAM.replace(
        "        new = [source",
        "        source = 7 if any(c is target for c in containers([source])) else source\n"
        "        new = [source",
    )
    + """
class Store:
    def __init__(self, data):
        self.data = data

    def change(self, changes):
        f(changes, *self.data)
"""
)


@settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arguments(), st.lists(changes, min_size=2, max_size=4))
def test_containers_of_an_object_are_as_in_one_process(load_store, built, rounds):
    here = {}
    exec(STORE, here)
    stores = load_store(copy.deepcopy(built[0])), here["Store"](copy.deepcopy(built[0]))
    shared = [store.data for store in stores]
    inner = [here["containers"](data) for data in shared]
    for number, one in enumerate(rounds):
        for store, data in zip(stores, shared, strict=True):
            if number % 2:
                here["f"](one, *data)
            else:
                store.change(one)
        forms = [form([data, *inside]) for data, inside in zip(shared, inner, strict=True)]
        assert forms[0] == forms[1]
        assert stores[0].data is shared[0]


@pytest.fixture
def load_store(load):
    return load(STORE, "Store", wall=20, cpu=20)


def test_containers_of_a_namespace_move(load):
    candidate = load(
        "def f(x):\n    x.rows.reverse()\n    x.rows[0].append(x.one)\n    x.one = [5]"
    )
    one, two = [1], [2]
    space = SimpleNamespace(rows=[one, two], one=one)
    rows = space.rows
    candidate(space)
    assert space.rows is rows
    assert rows[0] is two
    assert two[1] is one
    assert space.one == [5]
    one.append(6)
    candidate(space)
    assert rows == [[1, 6, [5]], [2, [1, 6, [5]]]]
    assert one == [1, 6, [5]]


@pytest.mark.parametrize(
    ("program", "shared"),
    [
        ("x.append(1); y.clear()", 0),
        ("global kept; kept = x", 1),
        ("global kept; kept = [x, y]", 2),
    ],
)
def test_only_what_a_program_keeps_is_shared_from_then_on(load, program, shared):
    candidate = load(f"def f(x, y):\n    {program}\n    return x")
    values, other = [1], {"a": [2]}
    candidate(values, y=other)
    assert len(candidate._check_objects.twins.numbers_of_program()) == shared
