"""Law 6: what a call does to the containers in its arguments, and which of them it returns."""

from collections import deque

from scripted_answers import attack


@attack(
    6,
    "def f(m):\n    m[0] = [9, 9]\n    return 10",
    "def f(m):\n    m[:] = [[0, 0], [0, 0]]\n    return 10",
    "def f(m):\n    m.reverse()\n    return 10",
    honest="def f(m): return sum(map(sum, m))",
)
def test_a_replaced_row_is_not_the_row_that_the_check_has(candidate):
    m = [[1, 2], [3, 4]]
    before = list(m)
    assert candidate(m) == 10
    assert m == before


@attack(
    6,
    "def f(xs):\n    xs[0] = {'id': 0}\n    return xs[0]",
    "def f(xs):\n    xs[:] = [{}] * len(xs)\n    return {}",
    "def f(xs): return max(xs, key=lambda x: x['age'])",
    honest="def f(xs): return min(xs, key=lambda x: x['age'])",
)
def test_a_container_of_an_argument_is_the_result(candidate):
    ada, bob = {"age": 30, "id": 1}, {"age": 20, "id": 2}
    youngest = candidate([ada, bob])
    assert youngest == bob
    assert youngest is bob


@attack(
    6,
    "def f(base, extra):\n    base['db'] = {'host': 'evil'}\n    return base",
    "def f(base, extra):\n    base['db'].clear()\n    return base",
    wrong="def f(base, extra): return base",
    honest="def f(base, extra): return {**base, **extra}",
)
def test_a_dict_in_an_argument(candidate):
    base = {"db": {"host": "h"}}
    kept = dict(base)
    assert candidate(base, {"x": 1}) == {"db": {"host": "h"}, "x": 1}
    assert base == kept
    assert base["db"] == {"host": "h"}


@attack(
    6,
    "def f(rows):\n    rows[:] = [list(r) for r in sorted(rows)]",
    "def f(rows):\n    first, *rest = sorted(rows)\n    rows[0][:] = first",
    wrong="def f(rows): pass",
    honest="def f(rows): rows.sort()",
)
def test_rows_are_sorted_in_place(candidate):
    rows = [[3], [1], [2]]
    expected = sorted(rows)
    candidate(rows)
    assert rows == expected
    assert all(ours is theirs for ours, theirs in zip(rows, expected, strict=True))
    assert expected == [[1], [2], [3]]


@attack(
    6,
    "def f(a, i, j): a[i], a[j] = list(a[j]), list(a[i])",
    "def f(a, i, j): a[i][:], a[j][:] = [*a[j]], [*a[i]]",
    wrong="def f(a, i, j): pass",
    honest="def f(a, i, j): a[i], a[j] = a[j], a[i]",
)
def test_two_equal_items_are_swapped(candidate):
    x, y = [1], [1]
    a = [x, y]
    candidate(a, 0, 1)
    assert a[0] is y
    assert a[1] is x
    x.append(2)
    assert a == [[1], [1, 2]]


@attack(
    6,
    "def f(xs, ys): xs.extend([1, 2])",
    "def f(xs, ys): ys.append(xs[-1])",
    wrong="def f(xs, ys): pass",
    honest="def f(xs, ys): xs.append(3); ys.append(4)",
)
def test_one_list_passed_twice(candidate):
    xs = [1, 2]
    candidate(xs, ys=xs)
    assert xs == [1, 2, 3, 4]


@attack(
    6,
    "def f(graph): graph['b'] = list(graph['b'])",
    "def f(graph): graph['a'].append(graph['b'][0])",
    wrong="def f(graph): pass",
    honest="def f(graph):\n    graph['a'].append(graph); graph['b'].append(4); graph['c'] = graph['d'] = []\n    graph['c'].append(1)",
)
def test_one_list_twice_in_an_argument_that_is_put_into_itself(candidate):
    row = [1]
    graph = {"a": row, "b": row}
    candidate(graph)
    assert row[0] == 1
    assert row[1] is graph
    assert row[2] == 4
    assert graph["a"] is row
    assert graph["b"] is row
    assert graph["c"] == [1]
    assert graph["c"] is graph["d"]


@attack(
    6,
    "def f(jobs): return {'id': 1}",
    "def f(jobs):\n    jobs.popleft()\n    return {'id': 1, 'done': True}",
    wrong="def f(jobs): return jobs[0]",
    honest="def f(jobs):\n    job = jobs.popleft()\n    job['done'] = True\n    return job",
)
def test_what_is_taken_out_of_an_argument_is_changed(candidate):
    first, second = {"id": 1}, {"id": 2}
    jobs = deque([first, second])
    assert candidate(jobs) is first
    assert first == {"id": 1, "done": True}
    assert list(jobs) == [second]


@attack(
    6,
    "def f(handlers, request): return {'user': 'bob', 'log': ['bob']}",
    "def f(handlers, request):\n    for h in handlers: h(dict(request))\n    return request",
    wrong="def f(handlers, request): return request",
    honest="def f(handlers, request):\n    for h in handlers: h(request)\n    return request",
)
def test_a_function_of_the_check_changes_its_argument(candidate):
    def authenticate(request):
        request["user"] = "bob"

    def log(request):
        request["log"].append(request["user"])

    request = {"log": []}
    assert candidate([authenticate, log], request) is request
    assert request == {"user": "bob", "log": ["bob"]}


STORE = """
class f:
    def __init__(self): self.rows = [[1], [2]]
    def turn(self): {}
"""


@attack(
    6,
    STORE.format("self.rows[:] = [[2], [9]]; return None"),
    STORE.format("self.rows[0], self.rows[1] = [2], [1]"),
    wrong=STORE.format("pass"),
    honest=STORE.format("self.rows.reverse(); self.rows[0].append(3)"),
)
def test_rows_of_an_object_move(candidate):
    store = candidate()
    rows = store.rows
    one, two = rows
    store.turn()
    assert rows[0] is two
    assert rows[1] is one
    assert rows == [[2, 3], [1]]
    rows.append(one)
    one.append(5)
    store.rows[2].append(6)
    assert store.rows == [[2, 3], [1, 5, 6], [1, 5, 6]]


@attack(
    6,
    "def f(n):\n    row = [0] * n\n    return [list(row) for _ in range(n)]",
    "def f(n): return [[1] + [0] * (n - 1)] * n",
    wrong="def f(n): return []",
    honest="def f(n): return [[0] * n] * n",
)
def test_one_row_of_a_result_several_times(candidate):
    grid = candidate(2)
    assert grid == [[0, 0], [0, 0]]
    grid[0][0] = 1
    assert grid == [[1, 0], [1, 0]]
