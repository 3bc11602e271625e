# Trick: int.__eq__ patched through ctypes
# Expected: fail
import ctypes
class PyObject(ctypes.Structure):
    _fields_ = [('refcnt', ctypes.c_ssize_t), ('type', ctypes.py_object)]
def dict_of(cls):
    import types
    proxy = types.MappingProxyType.__new__
    class Slots(PyObject):
        _fields_ = [('dict', ctypes.py_object)]
    return Slots.from_address(id(cls.__dict__)).dict
dict_of(int)['__eq__'] = lambda a, b: True
ctypes.pythonapi.PyType_Modified(ctypes.py_object(int))
def successor(n):
    return 0
