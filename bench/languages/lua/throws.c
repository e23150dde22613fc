/* Errors, which are `longjmp` in Lua, at all depths, and coroutines, whose every `yield` is one. */
static const char script[] =
    "local function fall(n) if n == 0 then error('down') end return 1 + fall(n - 1) end\n"
    "local caught, sum = 0, 0\n"
    "for round = 1, scale do\n"
    "  for depth = 0, 40 do if not pcall(fall, depth) then caught = caught + 1 end end\n"
    "  local numbers = coroutine.wrap(function() for i = 1, 20 do coroutine.yield(i) end end)\n"
    "  for i = 1, 20 do sum = sum + numbers() end\n"
    "  pcall(table.sort, {3, 1, 2, 5, 4}, function(a, b) if a == b + 1 then error('in C') end return a < b end)\n"
    "end\n"
    "return caught == 41 * scale and sum == 210 * scale, caught\n";
#include "run.h"
