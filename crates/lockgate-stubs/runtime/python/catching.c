/* @NAME@, protected: made by `lockgate stubs`, do not edit.
 *
 * Functions of Python's that the library calls. What ctypes does not do: catch what comes out of them, whatever it is and however early (an interrupt
 * comes before a function's first line, where nothing in Python catches it), so that nothing is answered in their place, and nothing is lost. */
#include <lockgate.h>

typedef struct _object PyObject;

struct method {
    const char *name;
    PyObject *(*function)(PyObject *, PyObject *);
    int flags;
    const char *text;
};

/* (Of Python's stable interface: no header of its own is needed, and any version will do.) */
extern PyObject *PyCFunction_NewEx(struct method *, PyObject *, PyObject *);
extern PyObject *PyErr_Occurred(void);
extern void PyErr_Clear(void);
extern void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
extern void PyErr_NormalizeException(PyObject **, PyObject **, PyObject **);
extern void PyErr_Restore(PyObject *, PyObject *, PyObject *);
extern void PyErr_WriteUnraisable(PyObject *);
extern int PyException_SetTraceback(PyObject *, PyObject *);
extern PyObject *PyLong_FromLong(long);
extern PyObject *PyObject_Call(PyObject *, PyObject *, PyObject *);
extern PyObject *PyObject_GetAttrString(PyObject *, const char *);
extern int PyObject_SetAttrString(PyObject *, const char *, PyObject *);
extern PyObject *PyTuple_GetItem(PyObject *, long);
extern PyObject *PyTuple_Pack(long, ...);
extern void Py_DecRef(PyObject *);
extern void Py_IncRef(PyObject *);

/* Calls the first of `pair`, a function; what it raises goes to the second one's `call`. */
static PyObject *catching(PyObject *pair, PyObject *arguments)
{
    PyObject *function = PyTuple_GetItem(pair, 0), *thread = PyTuple_GetItem(pair, 1);
    PyObject *result = PyObject_Call(function, arguments, 0);
    if (result)
        return result;
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    if (trace)
        PyException_SetTraceback(value, trace);
    PyObject *call = PyObject_GetAttrString(thread, "call");
    if (call && PyObject_SetAttrString(call, "exception", value) == 0) {
        Py_DecRef(kind);
        Py_DecRef(value);
        Py_DecRef(trace);
    } else {
        /* The library calls on a thread where the program does not. */
        PyErr_Clear();
        PyErr_Restore(kind, value, trace);
        PyErr_WriteUnraisable(function);
    }
    Py_DecRef(call);
    lg_end_call("an exception in a function of the program's");
    return PyLong_FromLong(0);
}

/* What ctypes calls in place of `function`. */
PyObject *lg_@NAME@_catching(PyObject *function, PyObject *thread)
{
    static struct method method = {"catching", catching, 1 /* METH_VARARGS */, 0};
    PyObject *pair = PyTuple_Pack(2, function, thread);
    PyObject *made = pair ? PyCFunction_NewEx(&method, pair, 0) : 0;
    Py_DecRef(pair);
    return made;
}
