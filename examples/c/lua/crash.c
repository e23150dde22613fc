/* A plugin with bugs. */
#include <string.h>
#include "lauxlib.h"

static int *volatile nowhere = 0;
static char *volatile somewhere = (char *)0x7fff00000000;

static int null_pointer(lua_State *L) { (void)L; return *nowhere = 1; }
static int deeper(volatile int n) { volatile char room[4096]; room[0] = (char)n; return deeper(n + 1) + room[0]; }
static int recursion(lua_State *L) { (void)L; return deeper(0); }
static int overrun(lua_State *L) {
    char small[16];
    memset(small, 'A', (size_t)luaL_checkinteger(L, 1));
    lua_pushlstring(L, small, 1);
    return 1;
}
static int wild_state(lua_State *L) { lua_pushinteger((lua_State *)((char *)L + 64), 1); return 1; }
static int wild_string(lua_State *L) { lua_pushlstring(L, somewhere, 1 << 20); return 1; }
static int wild_function(lua_State *L) { lua_pushcclosure(L, (lua_CFunction)(void *)"no function", 0); return 1; }
static int wild_index(lua_State *L) { lua_pushvalue(L, 1 << 30); return 1; }
static int empty_stack(lua_State *L) { lua_settop(L, 0); lua_settop(L, -1000); return 0; }
static int false_results(lua_State *L) { (void)L; return 1000; }
static int lua_error_of_its_own(lua_State *L) { return luaL_error(L, "an error of %s's own, %d", "Lua", 42); }

static const luaL_Reg functions[] = {
    {"null_pointer", null_pointer},   {"recursion", recursion},     {"overrun", overrun},
    {"wild_state", wild_state},       {"wild_string", wild_string}, {"wild_function", wild_function},
    {"wild_index", wild_index},       {"empty_stack", empty_stack}, {"false_results", false_results},
    {"error", lua_error_of_its_own},  {NULL, NULL},
};

int luaopen_crash(lua_State *L) {
    luaL_newlib(L, functions);
    return 1;
}
