"""LLVM text of a kernel: one formula over arrays of float32 or float64, called as Python calls a C function.

A kernel takes what it can read at a glance and hands everything else to Python: arrays of one dtype, aligned, of which
the one with most axes gives the shape; the others have its shape, or are a row of it, or a single element. A matrix
may lie in a wider one, as a column of gates does; with more axes all must be contiguous. The result is contiguous,
which for such operands is NumPy's layout too. Every operation is rounded by itself, so the numbers are NumPy's, bit
for bit.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

__all__ = ["FIELDS", "MOST", "NEW_ARRAY", "Formula", "module_of", "plan_name", "plan_of"]

# ("x", i) is an operand, an int or float a number, (name, *parts) an operation on parts.
Formula = Any

MOST = 1 << 16  # elements: NumPy's loops are as fast where there are more
_VECTOR_BYTES = 64
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags
# Where NumPy keeps what it says of an array: PyArrayObject_fields, unchanged since 1.7. The package looks if it is so.
FIELDS = {"type": 8, "data": 16, "rank": 24, "shape": 32, "strides": 40, "descr": 56, "flags": 64}

NEW_ARRAY = "PyArray_NewFromDescr"
_PTR, _I64, _I32, _BIT, _NOTHING = ir.PointerType(), ir.IntType(64), ir.IntType(32), ir.IntType(1), ir.VoidType()
_FLOATS = {1: ir.FloatType(), 2: ir.DoubleType()}  # by kind, the number that `plan` finds for the dtype
_SIZES = {1: 4, 2: 8}
_OPERATIONS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "true_divide": "fdiv", "negative": "fneg"}

_COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


def _int(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


class _Writer(ir.IRBuilder):  # type: ignore[misc]
    """A builder with the few words that kernels are made of."""

    def field(self, array: Any, name: str, type_: Any = _PTR) -> Any:
        return self.load(self.gep(array, [_int(FIELDS[name])], source_etype=ir.IntType(8)), typ=type_)

    def entry(self, table: Any, index: Any, type_: Any = _I64) -> Any:
        index = _int(index) if isinstance(index, int) else index
        return self.load(self.gep(table, [index], source_etype=type_), typ=type_)

    def moved(self, pointer: Any, count: Any) -> Any:
        return self.gep(pointer, [count], source_etype=ir.IntType(8))

    def address(self, value: int) -> Any:
        return _int(value).inttoptr(_PTR)

    def unless(self, condition: Any, otherwise: ir.Block) -> None:
        """Go on where the condition holds."""
        following = self.append_basic_block()
        self.cbranch(condition, following, otherwise)
        self.position_at_end(following)

    def counted(self, count: Any, body: Any, *carried: Any) -> list[Any]:
        """A loop of `count` rounds: `body(round, *carried)` returns what the next round is given."""
        before, head, inside, after = self.block, *[self.append_basic_block() for _ in range(3)]
        self.branch(head)
        self.position_at_end(head)
        at = self.phi(_I64)
        held = [self.phi(value.type) for value in carried]
        for phi, value in zip([at, *held], [_int(0), *carried]):
            phi.add_incoming(value, before)
        self.cbranch(self.icmp_unsigned("<", at, count), inside, after)
        self.position_at_end(inside)
        given = body(at, *held) or []
        for phi, value in zip([at, *held], [self.add(at, _int(1)), *given]):
            phi.add_incoming(value, self.block)
        self.branch(head)
        self.position_at_end(after)
        return held


def plan_of(arity: int, known: dict[str, int], writes_first: bool = False) -> str:
    """The text of the module that looks at the operands of all kernels of one arity: `plan_name(arity)`."""
    module = ir.Module()
    _plan(module, arity, known, writes_first)
    return str(module)


def module_of(name: str, formula: Formula, arity: int, known: dict[str, int], writes_first: bool = False) -> str:
    """The text of a module with one kernel; `known`: addresses of what Python and NumPy bring.

    `writes_first`: the result goes into the first operand, whose shape it has.
    """
    module = ir.Module(name)
    loops = {kind: _loop(module, formula, arity, kind) for kind in _FLOATS}
    _entry(module, name, arity, known, loops, writes_first)
    return str(module)


def plan_name(arity: int, writes_first: bool) -> str:
    return f"chainrule_plan{arity}{'_into' if writes_first else ''}"


# What `plan` finds out, as a table of 64-bit words: rows, columns, the rank and shape of the result, its descr; then
# of each operand its memory, the bytes from row to row, and 1 or 0, is there more than a single element in a row?
_ROWS, _COLUMNS, _RANK, _SHAPE, _DESCR, _OPERANDS = range(6)
_WORDS = 3


def _slot(operand: int, what: int) -> int:
    return _OPERANDS + _WORDS * operand + what


def _plan(module: ir.Module, arity: int, known: dict[str, int], writes_first: bool) -> ir.Function:
    """`plan(operands, words)`: the kind of the elements, or 0 where Python must see to the call."""
    function = ir.Function(module, ir.FunctionType(_I64, [_PTR, _PTR]), plan_name(arity, writes_first))
    w = _Writer(function.append_basic_block())
    refused = function.append_basic_block()
    operands, words = function.args
    arrays = [w.entry(operands, at, _PTR) for at in range(arity)]
    for array in arrays:
        w.unless(w.icmp_unsigned("==", w.field(array, "type"), w.address(known["ndarray"])), refused)
    kind = _kind_of(w, arrays, known, refused, writes_first)
    size = w.select(w.icmp_unsigned("==", kind, _int(1)), _int(4), _int(8))
    lead = arrays[0]
    for array in arrays[1:] if not writes_first else ():
        more = w.icmp_signed(">", w.field(array, "rank", _I32), w.field(lead, "rank", _I32))
        lead = w.select(more, array, lead)
    rank, shape = w.zext(w.field(lead, "rank", _I32), _I64), w.field(lead, "shape")
    total = _total(w, rank, shape, refused)
    scalar = w.icmp_unsigned("==", rank, _int(0))
    columns = w.alloca(_I64)
    w.store(_int(1), columns)
    with w.if_then(w.not_(scalar)):
        w.store(w.entry(shape, w.sub(rank, _int(1))), columns)
    width = w.load(columns, typ=_I64)
    row_bytes, whole = w.mul(width, size), ir.Constant(_BIT, 1)
    for at, array in enumerate(arrays):
        flat = _operand(w, array, at, rank, shape, width, size, row_bytes, words, refused)
        whole = w.and_(whole, flat)
    rows = w.select(whole, _int(1), w.udiv(total, width))
    found = {_ROWS: rows, _COLUMNS: w.select(whole, total, width), _RANK: rank}
    for at, value in found.items():
        w.store(value, w.gep(words, [_int(at)], source_etype=_I64))
    for at, pointer in {_SHAPE: shape, _DESCR: w.field(arrays[0], "descr")}.items():
        w.store(pointer, w.gep(words, [_int(at)], source_etype=_I64))
    w.ret(kind)
    w.position_at_end(refused)
    w.ret(_int(0))
    return function


def _kind_of(w: _Writer, arrays: list[Any], known: dict[str, int], refused: ir.Block, writes_first: bool) -> Any:
    """1 or 2 where all are float32 or float64, and aligned."""
    descr = w.field(arrays[0], "descr")
    narrow = w.icmp_unsigned("==", descr, w.address(known["float32"]))
    w.unless(w.or_(narrow, w.icmp_unsigned("==", descr, w.address(known["float64"]))), refused)
    for at, array in enumerate(arrays):
        if at:
            w.unless(w.icmp_unsigned("==", w.field(array, "descr"), descr), refused)
        wanted = _ALIGNED | (_WRITEABLE | _CONTIGUOUS if writes_first and not at else 0)
        mask = ir.Constant(_I32, wanted)
        w.unless(w.icmp_unsigned("==", w.and_(w.field(array, "flags", _I32), mask), mask), refused)
    return w.select(narrow, _int(1), _int(2))


def _total(w: _Writer, rank: Any, shape: Any, refused: ir.Block) -> Any:
    """The number of elements, which is neither 0 nor large."""

    def times(at: Any, count: Any) -> list[Any]:
        count = w.mul(count, w.entry(shape, at))
        w.unless(w.icmp_unsigned("<", w.sub(count, _int(1)), _int(MOST)), refused)
        return [count]

    return w.counted(rank, times, _int(1))[0]


def _operand(
    w: _Writer, array: Any, at: int, rank: Any, shape: Any, width: Any, size: Any, row_bytes: Any, words: Any,
    refused: ir.Block,
) -> Any:  # fmt: skip
    """How an operand is walked through: of the full shape, a row, or one element. Returns, can it be taken as flat?"""
    own = w.zext(w.field(array, "rank", _I32), _I64)
    flag = w.and_(w.field(array, "flags", _I32), ir.Constant(_I32, _CONTIGUOUS))
    contiguous = w.icmp_unsigned("!=", flag, ir.Constant(_I32, 0))
    full, wide, other, row, single, met = [w.append_basic_block() for _ in range(6)]
    w.cbranch(w.icmp_unsigned("==", own, rank), full, other)

    w.position_at_end(full)
    lengths, strides = w.field(array, "shape"), w.field(array, "strides")
    w.counted(rank, lambda i: w.unless(w.icmp_unsigned("==", w.entry(lengths, i), w.entry(shape, i)), refused))
    whole = w.block
    w.cbranch(contiguous, met, wide)

    w.position_at_end(wide)  # a matrix cut out of a wider one
    w.unless(w.icmp_unsigned("==", rank, _int(2)), refused)
    step = w.entry(strides, 0)
    w.unless(w.icmp_unsigned("==", w.entry(strides, 1), size), refused)
    w.unless(w.icmp_signed(">=", step, row_bytes), refused)
    cut = w.block
    w.branch(met)

    w.position_at_end(other)
    w.cbranch(w.icmp_unsigned("==", own, _int(0)), single, row)

    w.position_at_end(row)
    w.unless(w.and_(w.icmp_unsigned("==", own, _int(1)), w.icmp_unsigned("<", own, rank)), refused)
    w.unless(w.and_(contiguous, w.icmp_unsigned("==", w.entry(w.field(array, "shape"), 0), width)), refused)
    lone = w.block
    w.branch(met)

    w.position_at_end(single)
    w.branch(met)

    w.position_at_end(met)
    yes, no = (ir.Constant(_BIT, bit) for bit in (1, 0))
    ways = {whole: (row_bytes, _int(1), yes), cut: (step, _int(1), no), lone: (_int(0), _int(1), no),
            single: (_int(0), _int(0), yes)}  # fmt: skip
    phis = [w.phi(_I64), w.phi(_I64), w.phi(_BIT)]
    for block, values in ways.items():
        for phi, value in zip(phis, values):
            phi.add_incoming(value, block)
    for what, value in enumerate((w.field(array, "data"), *phis[:2])):
        w.store(value, w.gep(words, [_int(_slot(at, what))], source_etype=_I64))
    return phis[2]


def _loop(module: ir.Module, formula: Formula, arity: int, kind: int) -> ir.Function:
    """`loop(words, result)`: the formula, row by row, in vectors and then what is left of the row one by one."""
    function = ir.Function(module, ir.FunctionType(_NOTHING, [_PTR, _PTR]), f"loop{kind}")
    function.linkage = "internal"
    words, result = function.args
    element, size = _FLOATS[kind], _SIZES[kind]
    lanes = _VECTOR_BYTES // size
    vector = ir.VectorType(element, lanes)
    w = _Writer(function.append_basic_block())
    rows, columns = w.entry(words, _ROWS), w.entry(words, _COLUMNS)
    starts, leaps, steps = [], [], []
    for at in range(arity):
        memory, leap, moves = (w.entry(words, _slot(at, what), t) for what, t in enumerate((_PTR, _I64, _I64)))
        steps.append(w.mul(moves, _int(size)))
        starts.append(_or_copies(w, memory, w.icmp_unsigned("==", moves, _int(0)), element, vector, lanes))
        leaps.append(leap)

    def along(type_: Any, count: int) -> Any:
        def body(at: Any, to: Any, *operands: Any) -> list[Any]:
            values = [w.load(p, typ=type_, align=size) for p in operands]
            w.store(_computed(w, formula, values, type_), to, align=size)
            strides = [w.mul(step, _int(count)) for step in steps]
            return [w.moved(to, _int(size * count)), *(w.moved(p, s) for p, s in zip(operands, strides))]

        return body

    def one_row(at: Any, to: Any) -> list[Any]:
        heads = [w.moved(start, w.mul(at, leap)) for start, leap in zip(starts, leaps)]
        rest = w.counted(w.udiv(columns, _int(lanes)), along(vector, lanes), to, *heads)
        return w.counted(w.urem(columns, _int(lanes)), along(element, 1), *rest)[:1]

    w.counted(rows, one_row, result)
    w.ret_void()
    return function


def _or_copies(w: _Writer, memory: Any, single: Any, element: Any, vector: Any, lanes: int) -> Any:
    """Where an operand lies; of a single element, a vector of copies."""
    copies = w.alloca(vector)
    with w.if_then(single):
        first = w.insert_element(ir.Constant(vector, ir.Undefined), w.load(memory, typ=element), ir.Constant(_I32, 0))
        filled = w.shuffle_vector(first, first, ir.Constant(ir.VectorType(_I32, lanes), None))
        w.store(filled, copies)
    return w.select(single, copies, memory)


def _computed(w: _Writer, formula: Formula, values: list[Any], type_: Any) -> Any:
    if not isinstance(formula, tuple):
        number = float(formula)
        return ir.Constant(type_, [number] * type_.count if isinstance(type_, ir.VectorType) else number)
    name, *parts = formula
    if name == "x":
        return values[parts[0]]
    found = [_computed(w, part, values, type_) for part in parts]
    if name in _COMPARISONS:
        how = w.fcmp_unordered if name == "not_equal" else w.fcmp_ordered
        return how(_COMPARISONS[name], *found)
    if name == "keep":
        return w.select(found[1], found[0], ir.Constant(type_, None))
    return w.select(*found) if name == "choose" else getattr(w, _OPERATIONS[name])(*found)


def _entry(
    module: ir.Module, name: str, arity: int, known: dict[str, int], loops: dict[int, Any], writes_first: bool
) -> None:
    """The function that Python calls: `name(python, operands, count)`, a METH_FASTCALL whose `self` is what is called
    with operands that the kernel does not take."""
    function = ir.Function(module, ir.FunctionType(_PTR, [_PTR, _PTR, _I64]), name)
    w = _Writer(function.append_basic_block())
    slow, failed, run = [function.append_basic_block() for _ in range(3)]
    python, operands, count = function.args
    words = w.alloca(_I64, _int(_slot(arity, 0)))
    w.unless(w.icmp_unsigned("==", count, _int(arity)), slow)
    plan = _external(module, plan_name(arity, writes_first), _I64, [_PTR, _PTR])
    kind = w.call(plan, [operands, words])
    w.unless(w.icmp_unsigned("!=", kind, _int(0)), slow)
    result = w.entry(operands, 0, _PTR)
    owned = result if writes_first else w.entry(words, _DESCR, _PTR)
    w.call(_external(module, "Py_IncRef", _NOTHING, [_PTR]), [owned])
    if not writes_first:  # which takes the reference to the descr
        none, zero = ir.Constant(_PTR, None), ir.Constant(_I32, 0)
        make = _external(module, NEW_ARRAY, _PTR, [_PTR, _PTR, _I32, _PTR, _PTR, _PTR, _I32, _PTR])
        rank, shape = w.trunc(w.entry(words, _RANK), _I32), w.entry(words, _SHAPE, _PTR)
        result = w.call(make, [w.address(known["ndarray"]), owned, rank, shape, none, none, zero, none])
    w.cbranch(w.icmp_unsigned("==", result, ir.Constant(_PTR, None)), failed, run)
    w.position_at_end(run)
    to = w.field(result, "data")
    with w.if_else(w.icmp_unsigned("==", kind, _int(1))) as (narrow, wide):
        with narrow:
            w.call(loops[1], [words, to])
        with wide:
            w.call(loops[2], [words, to])
    w.ret(result)
    w.position_at_end(failed)
    w.ret(ir.Constant(_PTR, None))
    w.position_at_end(slow)
    call = _external(module, "PyObject_Vectorcall", _PTR, [_PTR, _PTR, _I64, _PTR])
    w.ret(w.call(call, [python, operands, count, ir.Constant(_PTR, None)]))


def _external(module: ir.Module, name: str, gives: Any, takes: list[Any]) -> ir.Function:
    """A function that Python or NumPy brings."""
    return ir.Function(module, ir.FunctionType(gives, takes), name)
