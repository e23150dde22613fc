/* Lua: three embedded scripts, chosen by the first argument: calls (fib), floating point and tables (num), strings (str). */
#include "bench.h"
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static const struct {
    const char *name, *source;
} scripts[] = {
    { "fib",
      "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
      "local sum = 0\n"
      "for round = 1, scale do sum = sum + fib(27 + round % 3) end\n"
      "return string.format('%d', sum)\n" },
    { "num",
      "local N = 200\n"
      "local sum = 0.0\n"
      "for round = 1, scale do\n"
      "  local u, v = {}, {}\n"
      "  for i = 1, N do u[i] = 1.0 + round % 5 end\n"
      "  for step = 1, 2 do\n"
      "    for i = 1, N do\n"
      "      local x = 0.0\n"
      "      for j = 1, N do\n"
      "        local ij = i + j - 2\n"
      "        x = x + u[j] / (ij * (ij + 1) * 0.5 + i)\n"
      "      end\n"
      "      v[i] = x\n"
      "    end\n"
      "    u, v = v, u\n"
      "  end\n"
      "  for i = 1, N do sum = sum + u[i] end\n"
      "end\n"
      "return string.format('%.17g', sum)\n" },
    { "str",
      "local state, total = 12345, 0\n"
      "local function random(n) state = (state * 1103515245 + 12345) % 2147483648; return state % n end\n"
      "for round = 1, scale do\n"
      "  local parts, seen = {}, {}\n"
      "  for i = 1, 2000 do parts[i] = string.char(97 + random(26), 97 + random(26), 97 + random(26)) end\n"
      "  local text = table.concat(parts, ' ')\n"
      "  for word in text:gmatch('%a+') do seen[word] = (seen[word] or 0) + 1 end\n"
      "  local keys = {}\n"
      "  for word in pairs(seen) do keys[#keys + 1] = word end\n"
      "  table.sort(keys)\n"
      "  local upper = text:upper():gsub('([AEIOU])', '<%1>')\n"
      "  total = total + #upper + #keys\n"
      "  for i = 1, #keys, 7 do total = total + keys[i]:byte(1) * i + #(keys[i]:rep(3)) end\n"
      "end\n"
      "return string.format('%d', total)\n" },
};

int main(int argc, char **argv)
{
    uint32_t scale = bench_scale(argc, argv);
    for (size_t i = 0; argc > 1 && i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(argv[1], scripts[i].name))
            continue;
        lua_State *L = luaL_newstate();
        bench_check(L != NULL, "memory");
        luaL_openlibs(L);
        lua_pushinteger(L, scale);
        lua_setglobal(L, "scale");
        if (luaL_dostring(L, scripts[i].source)) {
            fprintf(stderr, "%s\n", lua_tostring(L, -1));
            return 1;
        }
        size_t size;
        const char *result = lua_tolstring(L, -1, &size);
        uint64_t hash = bench_hash(BENCH_HASH_START, result, size);
        lua_close(L);
        return bench_finish(scripts[i].name, hash);
    }
    fprintf(stderr, "usage: lua fib|num|str SCALE\n");
    return 2;
}
