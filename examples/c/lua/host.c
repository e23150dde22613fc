/* A program with Lua in it. */
#include <stdio.h>
#include "lauxlib.h"
#include "lualib.h"

int lua_offer_services(lua_State *L);

int main(int argc, char **argv) {
    lua_State *L = luaL_newstate();
    if (argc != 2 || !L)
        return 2;
    luaL_openlibs(L);
#ifdef CONFINED
    if (lua_offer_services(L) != 0)
        return 2;
#endif
    if (luaL_dofile(L, argv[1]) != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        return 1;
    }
    lua_close(L);
    return 0;
}
