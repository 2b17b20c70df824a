"""Storages and the memory of tensors, beside live PyTorch: each expression gives the same text or the same refusal."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

UNTYPED = """
U("a"); U([1, 300]); U([1.5]); U(3, 4); U(foo=1); U(torch.ones(2)); U(3, device="meta"); U(3, device="meta")[0]
str(U()); u[10]; u[-5]; u[-1]; u["a"]; u[1:3:2]; u[1:3]; u[1.5]; u.resize_(8).nbytes(); u.fill_(7).tolist()
u.cpu() is u; u.copy_(U([1, 2, 3, 4])); u.copy_(U(3)); u.copy_(x); u.copy_(f); u.new(); u.type(); u.clone()
u.is_cuda; u.get_device(); u.filename; u.element_size(); u.resizable(); u.size(); len(u); u.is_pinned()
u.is_shared(); u.double(); u.bool(); u.complex_float(); u == u; u == U(4); list(u)
u.byteswap(torch.int16), u.tolist(); u.byteswap(torch.int32), u.tolist(); U([1, 2, 3]).byteswap(torch.int16)
u.to(device="cpu") is u; u.__setitem__(0, 300), u[0]; u.__setitem__(0, 1.5)
u.__setitem__(slice(0, 2), 5), u.tolist(); u.__setitem__(slice(0, 2), [1]); u.__setitem__(9, 1)
u.__setitem__("a", 1); copy.copy(u) is u; copy.copy(u); copy.deepcopy(u); u.untyped() is u; torch.is_storage(u)
u.resize_("a"); u.fill_(1.5); u.device; 5 in u; x.untyped_storage() is x.untyped_storage()
x.untyped_storage() is x[1:].untyped_storage(); x.untyped_storage() is x.data.untyped_storage()
x.untyped_storage() is x.detach().untyped_storage(); u.share_memory_()
x.untyped_storage() is x.clone().untyped_storage(); U(0).data_ptr(); u.pin_memory()
u.resize_(2), u.nbytes(), u.tolist(); m; m.tolist(); m.copy_(u); m.clone(); m.cpu(); m.fill_(1)
m.resize_(100).nbytes(); m.data_ptr(); m.is_shared(); m.float(); m.share_memory_(); m._share_fd_cpu_()
m.__setitem__(0, 1); m.device; copy.deepcopy(m); pickle.dumps(m); m == m
torch.empty(3, 4, device="meta")[1:].storage().size(); torch.empty(3, 4, device="meta").untyped_storage().nbytes()
"""
TYPED = """
f; f[0]; f[1:3]; f[10]; f[-1]; f["a"]; f[1.0]; f.tolist(); f.size(); len(f); f.nbytes(); f.element_size(); f.dtype
f.is_cuda; f.device; f.data_ptr() == x.data_ptr(); f.untyped(); f.int(); f.half(); f.bool(); f.byte()
f.complex_float(); f.double().type(); f.bfloat16().dtype; f.clone(); f.fill_(2); (f.fill_(2), x)[1]
f.copy_(torch.IntStorage([1, 2, 3])); (f.copy_(torch.IntStorage([0, 0, 1, 0])), x.view(torch.int32))[1]
f.__setitem__(0, 9), x; f.__setitem__(slice(1, 3), 7), x; f.__setitem__(slice(0, 2), [1, 2]); f.__setitem__(10, 1)
f.resizable(); f.is_shared(); f.is_pinned(); f.get_device(); f.filename; f.cpu() is f; f == f; f == x.storage()
copy.copy(f) is f; copy.deepcopy(f); pickle.loads(pickle.dumps(f)); f._pickle_storage_type()
f.pickle_storage_type(); f._cdata == x.storage()._cdata; isinstance(f, torch.FloatStorage)
isinstance(f, torch.IntStorage); issubclass(torch.FloatStorage, T); isinstance(torch.IntStorage(2), T); f.type()
type(torch.IntStorage(2)); torch.IntStorage(2).dtype; torch.IntStorage.dtype; torch.FloatStorage([1, 2]).type()
torch.FloatStorage(x); torch.FloatStorage(f); torch.FloatStorage("a"); torch.FloatStorage(1, 2)
torch.FloatStorage(1.5); torch.FloatStorage(device="cpu"); torch.FloatStorage(dtype=torch.int)
torch.FloatStorage(foo=1); torch.FloatStorage([[1]]); torch.FloatStorage(wrap_storage=u)
torch.FloatStorage(wrap_storage=f); torch.FloatStorage(0, wrap_storage=u); T(); torch.FloatStorage(())
T(dtype=torch.float); T(3, dtype=torch.float, device="meta"); T([1, 2], dtype=torch.float)
T(wrap_storage=u, dtype=torch.float); T(wrap_storage=u); T(wrap_storage=u, dtype=0)
T(wrap_storage=f, dtype=torch.float); T(wrap_storage=u, dtype=torch.float, device="cpu")
T(dtype=torch.float, device="xla"); T(torch.ones(1), dtype=torch.float); T(0, 0, dtype=torch.float)
T(0, wrap_storage=u, dtype=torch.float); T(dtype=torch.quint8); torch.storage._LegacyStorage()
torch.storage._dtype_to_storage_type_map(); torch.storage._storage_type_to_dtype_map(); torch.FloatStorage._dtype
torch.FloatStorage.__module__; T.__module__, U.__module__; torch.Storage; x.storage_type()
x.type(torch.float64).storage_type(); torch.FloatStorage.from_buffer(b"abcd", "little")
torch.FloatStorage.from_buffer(b"a"); torch.FloatStorage.from_buffer(b"abcde", "big")
torch.ByteStorage.from_buffer(b"abcde", offset=1, count=2); torch.FloatStorage.from_buffer("abc", "big")
torch.FloatStorage.from_buffer(b"abcdabcd", "foo"); T.from_buffer(b"abcd", "big", dtype=torch.int32)
U.from_buffer(b"abcd", dtype=torch.uint8); torch.ByteStorage.from_buffer(b"abcde", offset=10)
torch.ByteStorage.from_buffer(b"abcde", count=10); torch.FloatTensor(f); torch.Tensor(f); torch.IntTensor(f)
x.new(f); torch.tensor(f); torch.tensor(f).data_ptr() == f.data_ptr(); torch.as_tensor(f).data_ptr() == f.data_ptr()
torch.as_tensor(u, dtype=torch.float); torch.asarray(f); torch.asarray(u, dtype=torch.int16); x.new_tensor(f)
torch.tensor(f, dtype=torch.int); torch.is_storage(f); f.fill_(f); f.fill_("a"); next(iter(f)); max(f)
T(3, dtype=torch.float, device="meta").tolist(); f.share_memory_(); max(f.double())
f.copy_(T(4, dtype=torch.float, device="meta")); T([1, 2], dtype=torch.float, device="meta").cpu()
torch.HalfStorage([1.5, 2]); torch.BFloat16Storage([1.5, 2]); torch.ComplexFloatStorage([1j, 2])
torch.CharStorage([1, -2]); torch.BoolStorage([True, False]); torch.BFloat16Storage([1.5, 2]).tolist()
torch.HalfStorage([1.5, 2])[0]; torch.ComplexFloatStorage([1j, 2])[0]; torch.BoolStorage([True, False])[0]
torch.ByteStorage([300]); torch.CharStorage([1.7]); torch.QUInt8Storage(2).dtype
(f.resize_(2), f.size(), f.nbytes())
"""
EXCHANGED = """
y.set_(); y.set_(x); y.set_(x).data_ptr() == x.data_ptr(); y.set_(x[1:]); y.set_(x.view(2, 2).t()); y.set_(i)
y.set_(3); y.set_(i.storage()); y.set_(x.storage()); y.set_(x.storage(), 2, (2,))
y.set_(x.storage(), 1, (2,), (2,)); y.set_(x, 1, [3]); y.set_(x.untyped_storage(), 0, [2, 2], [1, 2])
y.set_(x.storage(), -1, (2, 2)); y.set_(x.storage(), 10, (2, 2)); y.set_(x.storage(), 10, (2, 3)).shape
y.set_(x.storage(), 0, (3, 4), (1,)); y.set_(x.storage(), 0, (-3, 4)); y.set_(x.storage(), 0, (3, 4), (-1, 1))
y.set_(e.to("meta")); e.to("meta").set_(x); y.set_(source=x)
y.set_(source=x.storage(), storage_offset=1, size=(2,), stride=(2,)); y[0].set_(x)
e.set_(e.storage(), 0, (2, 2)).shape; y.set_(x.storage(), 0, (20,)).untyped_storage().nbytes(); y.set_(x.double())
y.set_(x.storage(), 3, ()); y.set_(x).is_set_to(x); e.is_set_to(e); x.is_set_to(x[:]); e.is_set_to(torch.empty(0))
y.t().is_set_to(y); x.resize_(2); y.resize_(4, 4).shape; y.resize_((1, 3))
x.resize_(2, 2, memory_format=torch.channels_last); x.resize_(1, 2, 2, 1, memory_format=torch.channels_last)
x.resize_(1, memory_format=torch.preserve_format); x.resize_(-1); x.resize_("a"); x.resize_(2.5)
y.t().resize_(1, 2); x[1:].resize_(2, 1); x[1:].resize_(4, 4).storage_offset(); x.resize_(); x.resize_(())
x.resize_([]); x.resize_as_(y); x.resize_as_(3); torch.from_numpy(a).resize_(10).shape
torch.from_numpy(a).resize_(2); (x.numpy(), x.resize_(100)); (x.numpy(), x.untyped_storage().resizable())[1]
x.untyped_storage().resizable(); torch.from_numpy(a).untyped_storage().resizable(); x.share_memory_().is_shared()
torch.from_numpy(a[2:]).storage_offset(); torch.from_numpy(a[2:]).untyped_storage().nbytes(); x.is_shared()
torch.from_numpy(a.reshape(2, 3).T).storage().tolist(); torch.from_numpy(a.reshape(2, 3)[:, 1:2]).storage().size()
torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.uint8, offset=2).storage_offset(); x.dim_order()
y.t().dim_order(); torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last).dim_order()
torch.ones(2, 3).expand(4, 2, 3).dim_order(); x.dim_order(ambiguity_check=True)
torch.ones(1, 1, 3).dim_order(ambiguity_check=True); x.dim_order(ambiguity_check="a")
torch.ones(1, 2, 1, 1).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])
x.data_ptr() == x.const_data_ptr(); torch.ones(2, dtype=torch.uint16).storage_type(); torch.empty(0).data_ptr()
"""
LAZY = """
x._lazy_clone(); x._lazy_clone().data_ptr() == x.data_ptr(); x._lazy_clone().const_data_ptr() == x.const_data_ptr()
(c := x._lazy_clone(), torch._C._is_cow_tensor(x), torch._C._is_cow_tensor(c)); torch._C._is_cow_tensor(x)
(c := x._lazy_clone(), x.add_(1), c, torch._C._is_cow_tensor(x), torch._C._is_cow_tensor(c), c.mul_(2), x)
(c := x._lazy_clone(), v := x.view(2, 2), v.zero_(), x, c, torch._C._is_cow_tensor(v)); (c := x._lazy_clone(), c[0])
(c := x._lazy_clone(), c.__setitem__(0, 9), c, x); (c := x._lazy_clone(), torch.add(x, 1, out=c), x)
(c := x._lazy_clone(), x.untyped_storage().fill_(0), c, x); (c := x._lazy_clone(), x.numpy().fill(3), c, x)
(c := x._lazy_clone(), x.storage().__setitem__(1, 5), c, x)
(c := x[1:]._lazy_clone(), c.storage_offset(), c.fill_(7), x)
(c := x._lazy_clone(), d := c._lazy_clone(), c.fill_(1), x, d, torch._C._is_cow_tensor(d)); y.t()._lazy_clone().stride()
(c := x.requires_grad_()._lazy_clone(), c.sum().backward(), c, x.grad); (x.data._lazy_clone(), x.resize_(9).shape)
"""


PACKAGE = r"chainrule(\.core\.tensor)?"


def expressions(text):
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";")]


def run(t, text):
    x = t.arange(4.0)
    names = {
        "torch": t, "U": t.UntypedStorage, "T": t.TypedStorage, "copy": copy, "pickle": pickle, "x": x,
        "u": t.UntypedStorage([1, 2, 3, 4]), "m": t.UntypedStorage(4, device="meta"), "f": x.storage(),
        "y": t.ones(2, 2), "i": t.arange(6), "e": t.empty(0), "a": np.arange(6.0),
    }  # fmt: skip
    try:
        found = eval(text, names)
    except Exception as error:
        says = re.sub(PACKAGE, "torch", str(error)).split("\n")
        return type(error).__name__, says[-1] if "invalid combination" in says[0] and "set_" not in says[0] else says[
            0
        ][:60]
    layout = (found.stride(), found.storage_offset(), found._version) if isinstance(found, t.Tensor) else None
    return re.sub(PACKAGE, "torch", repr(found)), layout


@pytest.mark.parametrize("text", [each for table in (UNTYPED, TYPED, EXCHANGED, LAZY) for each in expressions(table)])
def test_same_text(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(chainrule, text) == run(torch, text)


def test_typed_storages_warn_once():
    def run(t):
        t.storage._reset_warn_typed_storage_removal()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            t.ones(2).storage()
            t.FloatStorage(2)[0]
            t.ones(2)._typed_storage()._size()
        return [(str(w.message), w.filename) for w in said]

    assert run(chainrule) == run(torch)


def test_files_are_mapped(tmp_path):
    def run(t):
        name = str(tmp_path / t.__name__)
        first = t.FloatStorage.from_file(name, True, 10)
        t.FloatTensor(first).copy_(t.arange(10.0))
        second = t.FloatStorage.from_file(name, False, 4)
        t.FloatTensor(second).fill_(7)
        return first.tolist(), second.tolist(), first.is_shared(), t.FloatStorage.from_file(name, True, 4).tolist()

    assert run(chainrule) == run(torch)


COPIED = "2; 2.5; True; 1j; 'a'; [1.0]; None; np.float32(3); np.ones(3)"


@pytest.mark.parametrize("value", expressions(COPIED))
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
def test_numbers_are_copied(value, dtype):
    def run(t):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of imaginary parts that are lost
                return repr(t.zeros(3, dtype=getattr(t, dtype)).copy_(eval(value)))
        except TypeError as error:
            return str(error)

    assert run(chainrule) == run(torch)
