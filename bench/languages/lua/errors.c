/* A program that does nothing but throw: each error is a `longjmp` over the functions between `error` and `pcall`. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
static const char script[] =
    "local told, caught = {}, 0\n"
    "local function throw() error(told) end\n"
    "for round = 1, scale do if not pcall(throw) then caught = caught + 1 end end\n"
    "return caught == scale, caught\n";
int main(int argc, char **argv)
{
    lua_State *state = luaL_newstate();
    luaL_openlibs(state);
    lua_pushinteger(state, atoi(argv[argc - 1]));
    lua_setglobal(state, "scale");
    if (luaL_dostring(state, script) || !lua_toboolean(state, -2)) {
        fprintf(stderr, "%s\n", lua_tostring(state, -1));
        return 1;
    }
    puts(lua_tostring(state, -1));
    lua_close(state);
    return 0;
}
