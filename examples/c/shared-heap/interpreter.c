/* The base: Lua as a library of two functions. Plugins that join call all of Lua besides, directly. */
#include <stdlib.h>
#include <string.h>
#include "interpreter.h"
#include "lualib.h"

static lua_State *L;

__attribute__((constructor)) static void begin(void) {
    L = luaL_newstate();
    if (L)
        luaL_openlibs(L);
}

void stop(void) {
    lua_close(L);
    L = NULL;
}

void offer(const char *name, lua_CFunction open) {
    if (!L)
        return;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    if (open)
        lua_pushcfunction(L, open);
    else
        lua_pushnil(L);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

char *run(const char *script) {
    int failed = luaL_dostring(L, script);
    const char *text = luaL_tolstring(L, -1, NULL);
    char *copy = malloc(strlen(text) + 8);
    if (copy)
        strcat(strcpy(copy, failed ? "error: " : ""), text);
    lua_settop(L, 0);
    return copy;
}
