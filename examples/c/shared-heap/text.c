/* A plugin: texts. `text.new(string)`, `tostring(text)`. */
#include <stdlib.h>
#include <string.h>
#include "interpreter.h"

static int text_new(lua_State *L) {
    const char *from = luaL_checkstring(L, 1);
    struct text *text = lua_newuserdatauv(L, sizeof *text, 0);
    text->letters = strdup(from);
    luaL_setmetatable(L, TEXT);
    return 1;
}

static int text_tostring(lua_State *L) {
    struct text *text = luaL_checkudata(L, 1, TEXT);
    lua_pushstring(L, text->letters ? text->letters : "(taken)");
    return 1;
}

static int text_gc(lua_State *L) {
    struct text *text = luaL_checkudata(L, 1, TEXT);
    free(text->letters);
    text->letters = NULL;
    return 0;
}

static const luaL_Reg methods[] = {{"__tostring", text_tostring}, {"__gc", text_gc}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"new", text_new}, {NULL, NULL}};

static int open_text(lua_State *L) {
    luaL_newmetatable(L, TEXT);
    luaL_setfuncs(L, methods, 0);
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}

__attribute__((constructor)) static void begin(void) { offer("text", open_text); }
__attribute__((destructor)) static void end(void) { offer("text", NULL); }
