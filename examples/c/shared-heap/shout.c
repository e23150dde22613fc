/* Another plugin, which changes the other one's texts: `shout.up(text)`, and `shout.take(text)`, which frees the letters. `shout.overrun` is its
   bug. */
#include <ctype.h>
#include <stdlib.h>
#include "interpreter.h"

static struct text *argument(lua_State *L) {
    struct text *text = luaL_checkudata(L, 1, TEXT);
    luaL_argcheck(L, text->letters, 1, "taken already");
    return text;
}

static int shout_up(lua_State *L) {
    for (char *letter = argument(L)->letters; *letter; letter++) *letter = (char)toupper((unsigned char)*letter);
    return 0;
}

static int shout_take(lua_State *L) {
    struct text *text = argument(L);
    lua_pushstring(L, text->letters);
    free(text->letters); /* which the other plugin has allocated */
    text->letters = NULL;
    return 1;
}

static int shout_overrun(lua_State *L) {
    for (char *letter = argument(L)->letters;; letter++) *letter = '!';
}

static const luaL_Reg functions[] = {{"up", shout_up}, {"take", shout_take}, {"overrun", shout_overrun}, {NULL, NULL}};

static int open_shout(lua_State *L) {
    luaL_newlib(L, functions);
    return 1;
}

__attribute__((constructor)) static void begin(void) { offer("shout", open_shout); }
__attribute__((destructor)) static void end(void) { offer("shout", NULL); }
