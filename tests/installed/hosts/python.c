/* An extension module of Python that brings the library, and installs handlers of its own behind the first call, as Python does. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <signal.h>
#include <unistd.h>
int host_main(int, char **);
extern void (*host_late)(void);

static void own(int number) {
    static const char said[] = "HARM: a handler of the host's has a fault of the domain's\n";
    (void)number;
    _exit(write(1, said, sizeof said - 1) > 0 ? 5 : 6);
}

static PyObject *late;
static void install(void) {
    static const int numbers[] = {SIGFPE, SIGILL, SIGUSR2};
    PyObject *nothing = PyObject_CallObject(late, NULL);
    if (!nothing) {
        PyErr_Print();
        _exit(6);
    }
    Py_DECREF(nothing);
    for (int i = 0; i < 3; i++) {
        struct sigaction action = {.sa_handler = own};
        sigaction(numbers[i], &action, NULL);
    }
}

/* run(words, late) */
static PyObject *run(PyObject *self, PyObject *arguments) {
    PyObject *words;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyList_Type, &words, &late))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(words);
    char **argv = calloc((size_t)count + 2, sizeof *argv);
    argv[0] = "host";
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(argv[i + 1] = (char *)PyUnicode_AsUTF8(PyList_GET_ITEM(words, i))))
            return NULL;
    host_late = install;
    return PyLong_FromLong(host_main((int)count + 1, argv));
}

static PyMethodDef methods[] = {{"run", run, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef extension = {PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_extension(void) { return PyModule_Create(&extension); }
