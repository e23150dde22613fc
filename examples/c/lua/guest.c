/* Linked into plugins: what of Lua's API needs no host, and what is not offered, which ends the plugin's call. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "described.h"
#include "lua.h"

static void append(char *to, size_t size, const char *text) { strncat(to, text, size - strlen(to) - 1); }

/* As much of lua_pushvfstring as plugins use: %s %d %I %f %p %c %U %%. */
const char *lua_pushvfstring(lua_State *L, const char *format, va_list list) {
    char text[1024] = "", piece[64];
    for (; *format; format++) {
        piece[0] = *format;
        piece[1] = 0;
        const char *more = piece;
        if (*format == '%') {
            switch (*++format) {
            case 's': more = va_arg(list, const char *); break;
            case 'd': snprintf(piece, sizeof piece, "%d", va_arg(list, int)); break;
            case 'I': snprintf(piece, sizeof piece, LUA_INTEGER_FMT, va_arg(list, lua_Integer)); break;
            case 'f': snprintf(piece, sizeof piece, LUA_NUMBER_FMT, va_arg(list, double)); break;
            case 'p': snprintf(piece, sizeof piece, "%p", va_arg(list, void *)); break;
            case 'c': piece[0] = (char)va_arg(list, int); break;
            case 'U': { /* UTF-8, from the last byte to the first */
                unsigned long x = va_arg(list, unsigned long);
                char bytes[8] = "", *first = bytes + 7;
                unsigned limit = 0x3f;
                if (x < 0x80)
                    *--first = (char)x;
                else {
                    do {
                        *--first = (char)(0x80 | (x & 0x3f));
                        x >>= 6;
                        limit >>= 1;
                    } while (x > limit);
                    *--first = (char)((~limit << 1) | x);
                }
                strcpy(piece, first);
                break;
            }
            default: break;
            }
        }
        append(text, sizeof text, more ? more : "(null)");
    }
    lua_pushlstring(L, text, strlen(text));
    return lua_tolstring(L, -1, NULL);
}

const char *lua_pushfstring(lua_State *L, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *text = lua_pushvfstring(L, format, list);
    va_end(list);
    return text;
}

const char *lua_pushstring(lua_State *L, const char *text) {
    if (text)
        return lua_pushlstring(L, text, strlen(text));
    lua_pushnil(L);
    return NULL;
}

const char *lua_typename(lua_State *L, int type) {
    static const char *const names[] = {"no value", "nil",      "boolean",  "userdata", "number", "string",
                                        "table",    "function", "userdata", "thread"};
    (void)L;
    return type >= LUA_TNONE && type <= LUA_TTHREAD ? names[type + 1] : "?";
}

lua_Number lua_version(lua_State *L) { (void)L; return LUA_VERSION_NUM; }

static void *allocate(void *user, void *block, size_t old, size_t size) {
    (void)user, (void)old;
    if (size > 0)
        return realloc(block, size);
    free(block);
    return NULL;
}
lua_Alloc lua_getallocf(lua_State *L, void **user) {
    (void)L;
    if (user)
        *user = NULL;
    return allocate;
}

int lua_describe(lua_State *L, int level, Described *place, int function); /* a service */

/* The level stands where Lua has a pointer of its own. */
int lua_getstack(lua_State *L, int level, lua_Debug *about) {
    Described text;
    about->i_ci = (struct CallInfo *)(long)level;
    return lua_describe(L, level, &text, 0);
}

int lua_getinfo(lua_State *L, const char *what, lua_Debug *about) {
    static _Thread_local Described text;
    if (!lua_describe(L, (int)(long)about->i_ci, &text, strchr(what, 'f') != NULL))
        return 0;
    about->name = text.has_name ? text.name : NULL;
    about->namewhat = text.kind;
    about->currentline = text.line;
    strncpy(about->short_src, text.source, sizeof about->short_src - 1);
    return 1;
}
const void *lua_topointer(lua_State *L, int i) { (void)L, (void)i; return NULL; }
void lua_toclose(lua_State *L, int i) { (void)L, (void)i; }
void lua_closeslot(lua_State *L, int i) { lua_pushnil(L); lua_copy(L, -1, i); lua_settop(L, -2); }

/* Of lauxlib.c's functions for hosts. */
lua_State *lua_newstate(lua_Alloc f, void *user) { (void)f, (void)user; abort(); }
lua_CFunction lua_atpanic(lua_State *L, lua_CFunction f) { (void)L, (void)f; abort(); }
void lua_setwarnf(lua_State *L, lua_WarnFunction f, void *user) { (void)L, (void)f, (void)user; abort(); }
int lua_load(lua_State *L, lua_Reader f, void *data, const char *name, const char *mode) {
    (void)L, (void)f, (void)data, (void)name, (void)mode;
    abort();
}
int lua_pcallk(lua_State *L, int n, int results, int f, lua_KContext context, lua_KFunction k) {
    (void)L, (void)n, (void)results, (void)f, (void)context, (void)k;
    abort();
}
