/* Runs `script` with the last argument as `scale`: it returns whether all went well, and what is to be printed. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
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
