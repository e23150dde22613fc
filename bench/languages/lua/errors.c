/* A program that does nothing but throw: each error is a `longjmp` over the functions between `error` and `pcall`. */
static const char script[] =
    "local told, caught = {}, 0\n"
    "local function throw() error(told) end\n"
    "for round = 1, scale do if not pcall(throw) then caught = caught + 1 end end\n"
    "return caught == scale, caught\n";
#include "run.h"
