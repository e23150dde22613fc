/* Lua's C API as services for confined plugins. A plugin's arguments are its word: the state must be the one that is being served, indices are
   checked against the stack (Lua itself checks nothing), strings are copied once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "described.h"
#include "lauxlib.h"
#include "lockgate.h"

/* What the plugin that is being called works on, innermost call last. */
typedef struct Serving {
    struct Serving *outer;
    lua_State *L;
    void *plugin;
    void **copies; /* strings on its heap, until the call ends */
    size_t count;
    int has_error; /* the call ends with the error on top of the stack */
} Serving;

static __thread Serving *serving;

/* User data of plugins: what Lua has of it. */
typedef struct Data {
    char magic[8];
    void *inside;
    size_t size;
} Data;
static const char data_magic[8] = "lgdata";

/* The state, if it is the one being served; else the call ends when the service returns, and nothing happens to any state. */
static lua_State *state(void *L) {
    if (serving && serving->L == L && serving->plugin == lg_caller())
        return L;
    lg_end_call("this lua_State is not the plugin's to use");
    return NULL;
}

/* The same, with `n` values to take from the stack and room for more. */
static lua_State *taking(void *L, int n) {
    lua_State *s = state(L);
    if (s && n >= 0 && lua_gettop(s) >= n && lua_checkstack(s, LUA_MINSTACK))
        return s;
    if (s)
        lg_end_call("the stack has not that many values");
    return NULL;
}

/* The same, with a value at an index. */
static lua_State *at(void *L, int n, int i) {
    lua_State *s = taking(L, n);
    if (!s || i == LUA_REGISTRYINDEX || (i < LUA_REGISTRYINDEX && i >= LUA_REGISTRYINDEX - 255))
        return s;
    if (i != 0 && (i > 0 ? i : -i) <= lua_gettop(s))
        return s;
    lg_end_call("no such index");
    return NULL;
}

/* A copy of a plugin's string, or NULL: then the call ends. */
static char *copied(const char *from) {
    size_t size = 0;
    char *text = NULL;
    while (size < 1 << 16) {
        /* up to a boundary, so that nothing beyond the string's last page is touched */
        size_t step = 256 - (uintptr_t)(from + size) % 256;
        char *more = realloc(text, size + step);
        if (!more)
            break;
        text = more;
        if (lg_peek(serving->plugin, text + size, from + size, step) != 0)
            break;
        if (memchr(text + size, 0, step))
            return text;
        size += step;
    }
    free(text);
    lg_end_call("a string of the plugin's cannot be read");
    return NULL;
}

/* A copy on the plugin's heap. */
static void *handed_over(const void *from, size_t size) {
    Serving *now = serving;
    void **copies = realloc(now->copies, (now->count + 1) * sizeof *copies);
    void *inside = copies ? lg_malloc(now->plugin, size + 1) : NULL;
    if (copies)
        now->copies = copies;
    if (!inside || lg_poke(now->plugin, inside, from, size) != 0) {
        lg_end_call("the plugin has no memory left");
        return NULL;
    }
    now->copies[now->count++] = inside;
    return inside;
}

static void tell(void *place, const void *value, size_t size) {
    if (place && lg_poke(serving->plugin, place, value, size) != 0)
        lg_end_call("a result has no place in the plugin's memory");
}

/* The error on top of the stack is raised when the plugin is gone from the stack: not over its head. */
static void raise(void) {
    serving->has_error = 1;
    lg_end_call("a Lua error");
}

/* Runs `f` with the `n` values on top of the stack, where an error may come: results are in their place then. */
static int safely(lua_State *s, lua_CFunction f, int n, int results) {
    lua_pushcfunction(s, f);
    lua_insert(s, -n - 1);
    if (lua_pcall(s, n, results, 0) == LUA_OK)
        return 1;
    raise();
    return 0;
}

/* ---- Calls of plugins ---------------------------------------------------------------------------------------------- */

static int call(lua_State *L, void *plugin, int (*function)(lua_State *)) {
    Serving now = {serving, L, plugin, NULL, 0, 0};
    serving = &now;
    lg_clear_error();
    int results = function(L);
    serving = now.outer;
    while (now.count > 0)
        lg_free(plugin, now.copies[--now.count]);
    free(now.copies);
    if (now.has_error)
        return lua_error(L);
    if (results < 0)
        return luaL_error(L, "plugin: %s", lg_last_message());
    return results <= lua_gettop(L) ? results : luaL_error(L, "plugin: it has not that many results");
}

/* A closure of a plugin: its own upvalues, then its function and the plugin's handle. */
static int closure(lua_State *L) {
    int last = 0;
    while (lua_type(L, lua_upvalueindex(last + 1)) != LUA_TNONE)
        last++;
    void *function = lua_touserdata(L, lua_upvalueindex(last - 1));
    return call(L, lua_touserdata(L, lua_upvalueindex(last)), (int (*)(lua_State *))function);
}

/* luaopen_ functions, which Lua calls as they are. */
#define OPENERS 8
static struct {
    void *plugin;
    int (*function)(lua_State *);
} openers[OPENERS];
static int open_0(lua_State *L) { return call(L, openers[0].plugin, openers[0].function); }
static int open_1(lua_State *L) { return call(L, openers[1].plugin, openers[1].function); }
static int open_2(lua_State *L) { return call(L, openers[2].plugin, openers[2].function); }
static int open_3(lua_State *L) { return call(L, openers[3].plugin, openers[3].function); }
static int open_4(lua_State *L) { return call(L, openers[4].plugin, openers[4].function); }
static int open_5(lua_State *L) { return call(L, openers[5].plugin, openers[5].function); }
static int open_6(lua_State *L) { return call(L, openers[6].plugin, openers[6].function); }
static int open_7(lua_State *L) { return call(L, openers[7].plugin, openers[7].function); }
static const lua_CFunction opener[OPENERS] = {open_0, open_1, open_2, open_3, open_4, open_5, open_6, open_7};

/* dlsym, for Lua's loadlib.c: what it looks up are lua_CFunctions, whatever the plugin says they are. */
void *lua_plugin_symbol(void *plugin, const char *symbol) {
    char prototype[256];
    int length = snprintf(prototype, sizeof prototype, "int %s(void *)", symbol);
    void *function = length < (int)sizeof prototype ? (void *)lg_dlsym_typed(plugin, prototype) : NULL;
    for (int i = 0; function && i < OPENERS; i++) {
        if (openers[i].function && (void *)openers[i].function != function)
            continue;
        openers[i].plugin = plugin;
        openers[i].function = (int (*)(lua_State *))function;
        return (void *)opener[i];
    }
    return NULL;
}

/* ---- The services -------------------------------------------------------------------------------------------------- */

static int s_absindex(void *L, int i) { lua_State *s = at(L, 0, i); return s ? lua_absindex(s, i) : 0; }
static int s_gettop(void *L) { lua_State *s = state(L); return s ? lua_gettop(s) : 0; }
static int s_checkstack(void *L, int n) { lua_State *s = state(L); return s && n >= 0 && n < 100000 ? lua_checkstack(s, n) : 0; }
static void s_pushvalue(void *L, int i) { lua_State *s = at(L, 0, i); if (s) lua_pushvalue(s, i); }
static int s_isnumber(void *L, int i) { lua_State *s = state(L); return s && lua_isnumber(s, i); }
static int s_toboolean(void *L, int i) { lua_State *s = state(L); return s && lua_toboolean(s, i); }
static void s_pushnil(void *L) { lua_State *s = taking(L, 0); if (s) lua_pushnil(s); }
static void s_pushnumber(void *L, double x) { lua_State *s = taking(L, 0); if (s) lua_pushnumber(s, x); }
static void s_pushinteger(void *L, long n) { lua_State *s = taking(L, 0); if (s) lua_pushinteger(s, n); }
static void s_pushboolean(void *L, int b) { lua_State *s = taking(L, 0); if (s) lua_pushboolean(s, b); }
static void s_pushlightuserdata(void *L, void *p) { lua_State *s = taking(L, 0); if (s) lua_pushlightuserdata(s, p); }
static void s_rawset(void *L, int i) { lua_State *s = at(L, 2, i); if (s && lua_istable(s, i)) lua_rawset(s, i); }
static void s_rawseti(void *L, int i, long n) { lua_State *s = at(L, 1, i); if (s && lua_istable(s, i)) lua_rawseti(s, i, n); }
static void s_createtable(void *L, int a, int b) { lua_State *s = taking(L, 0); if (s) lua_createtable(s, a & 0xffff, b & 0xffff); }

/* Indices that are beyond the stack, but acceptable, have no value. */
static int s_type(void *L, int i) {
    lua_State *s = state(L);
    if (s && i <= 0)
        s = at(L, 0, i);
    return s ? lua_type(s, i) : LUA_TNONE;
}
static int s_isstring(void *L, int i) { int type = s_type(L, i); return type == LUA_TSTRING || type == LUA_TNUMBER; }
static int s_isinteger(void *L, int i) { return s_type(L, i) == LUA_TNUMBER && lua_isinteger((lua_State *)L, i); }

static int s_getmetatable(void *L, int i) { return s_type(L, i) != LUA_TNONE && taking(L, 0) && lua_getmetatable(L, i); }

static void s_settop(void *L, int i) {
    lua_State *s = state(L);
    if (s && (i >= 0 ? i <= 1000 && lua_checkstack(s, i) : -i - 1 <= lua_gettop(s)))
        lua_settop(s, i);
    else if (s)
        lg_end_call("no such index");
}
static void s_rotate(void *L, int i, int n) {
    lua_State *s = at(L, 0, i);
    int size = s && i > LUA_REGISTRYINDEX ? lua_gettop(s) - lua_absindex(s, i) + 1 : 0;
    if (s && (n < 0 ? -n : n) <= size)
        lua_rotate(s, i, n);
}
static void s_copy(void *L, int from, int to) {
    lua_State *s = at(L, 0, from);
    if (s && at(L, 0, to) && to > LUA_REGISTRYINDEX)
        lua_copy(s, from, to);
}

static double s_tonumberx(void *L, int i, int *place) {
    int is = 0;
    double value = s_type(L, i) == LUA_TNONE ? 0 : lua_tonumberx(L, i, &is);
    tell(place, &is, sizeof is);
    return value;
}
static long s_tointegerx(void *L, int i, int *place) {
    int is = 0;
    long value = s_type(L, i) == LUA_TNONE ? 0 : lua_tointegerx(L, i, &is);
    tell(place, &is, sizeof is);
    return value;
}
static const char *s_tolstring(void *L, int i, size_t *place) {
    size_t size = 0;
    const char *text = s_isstring(L, i) ? lua_tolstring(L, i, &size) : NULL;
    const char *inside = text ? handed_over(text, size + 1) : NULL;
    tell(place, &size, sizeof size);
    return inside;
}
static const char *s_pushlstring(void *L, const char *from, size_t size) {
    lua_State *s = taking(L, 0);
    char *copy = s && size <= 1 << 24 ? malloc(size + 1) : NULL;
    if (copy && lg_peek(serving->plugin, copy, from, size) == 0)
        lua_pushlstring(s, copy, size);
    else
        lg_end_call("a string of the plugin's cannot be read");
    free(copy);
    return from;
}
static unsigned long s_stringtonumber(void *L, const char *from) {
    char *text = taking(L, 0) ? copied(from) : NULL;
    unsigned long size = text ? lua_stringtonumber(L, text) : 0;
    free(text);
    return size;
}

static Data *data_of(lua_State *s, int i) {
    Data *data = lua_type(s, i) == LUA_TUSERDATA && lua_rawlen(s, i) == sizeof(Data) ? lua_touserdata(s, i) : NULL;
    return data && memcmp(data->magic, data_magic, sizeof data_magic) == 0 ? data : NULL;
}
static void *s_touserdata(void *L, int i) {
    int type = s_type(L, i);
    Data *data = type == LUA_TUSERDATA ? data_of(L, i) : NULL;
    void *light = type == LUA_TLIGHTUSERDATA ? lua_touserdata(L, i) : NULL;
    /* No address but its own. */
    return data ? data->inside : light && lg_owner(light) == serving->plugin ? light : NULL;
}
static unsigned long s_rawlen(void *L, int i) {
    if (s_type(L, i) == LUA_TNONE)
        return 0;
    Data *data = data_of(L, i);
    return data ? data->size : lua_rawlen(L, i);
}
static void *s_newuserdatauv(void *L, size_t size, int values) {
    lua_State *s = taking(L, 0);
    void *inside = s && values >= 0 && values < 16 ? lg_malloc(serving->plugin, size) : NULL;
    if (!inside) {
        lg_end_call("the plugin has no memory left");
        return NULL;
    }
    Data *data = lua_newuserdatauv(s, sizeof *data, values);
    memcpy(data->magic, data_magic, sizeof data_magic);
    data->inside = inside;
    data->size = size;
    return inside;
}

/* Only beginnings of the plugin's own functions can be called: lg_dlfunc sees to it. */
static void s_pushcclosure(void *L, void *function, int n) {
    lua_State *s = taking(L, n);
    lg_code code = s && n <= 200 ? lg_dlfunc(serving->plugin, function, "int closure(void *)") : NULL;
    if (!code) {
        lg_end_call("no function of the plugin's");
        return;
    }
    lua_pushlightuserdata(s, (void *)code);
    lua_pushlightuserdata(s, serving->plugin);
    lua_pushcclosure(s, closure, n + 2);
}

static int s_rawequal(void *L, int a, int b) { return at(L, 0, a) && at(L, 0, b) && lua_rawequal(L, a, b); }
static int c_compare(lua_State *L) { lua_pushboolean(L, lua_compare(L, 1, 2, (int)lua_tointeger(L, 3))); return 1; }
static int s_compare(void *L, int a, int b, int how) {
    lua_State *s = at(L, 0, a);
    if (!s || !at(L, 0, b) || how < LUA_OPEQ || how > LUA_OPLE)
        return 0;
    a = lua_absindex(s, a), b = lua_absindex(s, b);
    lua_pushvalue(s, a);
    lua_pushvalue(s, b);
    lua_pushinteger(s, how);
    int is = safely(s, c_compare, 3, 1) && lua_toboolean(s, -1);
    lua_pop(s, 1);
    return is;
}

static int c_get(lua_State *L) { lua_gettable(L, 1); return 1; }
static int c_set(lua_State *L) { lua_settable(L, 1); return 0; }
static int get(lua_State *s, int i) { /* table at i, key on top, which the value replaces */
    lua_pushvalue(s, i);
    lua_insert(s, -2);
    return safely(s, c_get, 2, 1) ? lua_type(s, -1) : LUA_TNIL;
}
static void set(lua_State *s, int i) { /* table at i, key and value on top, which go */
    lua_pushvalue(s, i);
    lua_insert(s, -3);
    safely(s, c_set, 3, 0);
}
static int s_gettable(void *L, int i) { lua_State *s = at(L, 1, i); return s ? get(s, lua_absindex(s, i)) : LUA_TNIL; }
static void s_settable(void *L, int i) { lua_State *s = at(L, 2, i); if (s) set(s, lua_absindex(s, i)); }
static int field(lua_State *s, int i, const char *from) {
    char *name = s ? copied(from) : NULL;
    if (!name)
        return LUA_TNIL;
    i = lua_absindex(s, i);
    lua_pushstring(s, name);
    free(name);
    return get(s, i);
}
static void set_field(lua_State *s, int i, const char *from) {
    char *name = s ? copied(from) : NULL;
    if (!name)
        return;
    i = lua_absindex(s, i);
    lua_pushstring(s, name);
    free(name);
    lua_insert(s, -2);
    set(s, i);
}
static int s_getfield(void *L, int i, const char *name) { return field(at(L, 0, i), i, name); }
static void s_setfield(void *L, int i, const char *name) { set_field(at(L, 1, i), i, name); }
static int s_getglobal(void *L, const char *from) {
    lua_State *s = taking(L, 0);
    char *name = s ? copied(from) : NULL;
    int type = name ? lua_getglobal(s, name) : LUA_TNIL;
    free(name);
    return type;
}
static void s_setglobal(void *L, const char *from) {
    lua_State *s = taking(L, 1);
    char *name = s ? copied(from) : NULL;
    if (name)
        lua_setglobal(s, name);
    free(name);
}
static int s_rawget(void *L, int i) { lua_State *s = at(L, 1, i); return s && lua_istable(s, i) ? lua_rawget(s, i) : LUA_TNIL; }
static int s_rawgeti(void *L, int i, long n) { lua_State *s = at(L, 0, i); return s && lua_istable(s, i) ? lua_rawgeti(s, i, n) : LUA_TNIL; }
static int s_setmetatable(void *L, int i) {
    lua_State *s = at(L, 1, i);
    if (s && (lua_istable(s, i) || data_of(s, i)) && (lua_istable(s, -1) || lua_isnil(s, -1)))
        return lua_setmetatable(s, i);
    if (s)
        lg_end_call("a metatable for what is not the plugin's");
    return 0;
}

static int c_next(lua_State *L) { return lua_next(L, 1) ? 2 : 0; }
static int s_next(void *L, int i) {
    lua_State *s = at(L, 1, i);
    if (!s || !lua_istable(s, i))
        return 0;
    lua_pushvalue(s, i);
    lua_insert(s, -2);
    int below = lua_gettop(s) - 2;
    return safely(s, c_next, 2, LUA_MULTRET) && lua_gettop(s) > below;
}
static int c_concat(lua_State *L) { lua_concat(L, lua_gettop(L)); return 1; }
static void s_concat(void *L, int n) { lua_State *s = taking(L, n); if (s) safely(s, c_concat, n, 1); }
static int c_len(lua_State *L) { lua_len(L, 1); return 1; }
static void s_len(void *L, int i) {
    lua_State *s = at(L, 0, i);
    if (!s)
        return;
    lua_pushvalue(s, i);
    safely(s, c_len, 1, 1);
}
static void s_callk(void *L, int n, int results, long context, void *continuation) {
    lua_State *s = taking(L, n + 1);
    (void)context;
    if (!s || n < 0 || results < LUA_MULTRET || results > 200 || continuation)
        lg_end_call("a call that cannot be");
    else if (lua_pcall(s, n, results, 0) != LUA_OK)
        raise();
}
static int s_error(void *L) {
    if (taking(L, 1))
        raise();
    return 0;
}

/* For messages: what lua_getstack and lua_getinfo know of a level, as guest.c has it. */
static int s_describe(void *L, int level, Described *place, int function) {
    lua_State *s = taking(L, 0);
    lua_Debug about;
    Described text = {0};
    if (!s || level < 0 || level > 100 || !lua_getstack(s, level, &about))
        return 0;
    lua_getinfo(s, function ? "nSlf" : "nSl", &about);
    text.line = about.currentline;
    text.has_name = about.name != NULL;
    snprintf(text.name, sizeof text.name, "%s", about.name ? about.name : "");
    snprintf(text.kind, sizeof text.kind, "%s", about.namewhat);
    snprintf(text.source, sizeof text.source, "%s", about.short_src);
    tell(place, &text, sizeof text);
    return 1;
}

int lua_offer_services(lua_State *L) {
    /* Names and prototypes as in services.txt. */
    static const struct {
        const char *name;
        lg_code function;
    } all[] = {
#define SERVICE(name) {"lua_" #name, (lg_code)s_##name}
        SERVICE(absindex), SERVICE(gettop), SERVICE(settop), SERVICE(pushvalue), SERVICE(rotate), SERVICE(copy), SERVICE(checkstack),
        SERVICE(isnumber), SERVICE(isstring), SERVICE(isinteger), SERVICE(type), SERVICE(toboolean), SERVICE(tonumberx),
        SERVICE(tointegerx), SERVICE(rawlen), SERVICE(tolstring), SERVICE(touserdata), SERVICE(rawequal), SERVICE(compare),
        SERVICE(pushnil), SERVICE(pushnumber), SERVICE(pushinteger), SERVICE(pushlstring), SERVICE(pushcclosure), SERVICE(pushboolean),
        SERVICE(pushlightuserdata),         SERVICE(getglobal), SERVICE(setglobal), SERVICE(gettable), SERVICE(settable), SERVICE(getfield), SERVICE(setfield),
        SERVICE(rawget), SERVICE(rawgeti), SERVICE(rawset), SERVICE(rawseti), SERVICE(createtable), SERVICE(newuserdatauv),
        SERVICE(getmetatable), SERVICE(setmetatable), SERVICE(next), SERVICE(concat), SERVICE(len), SERVICE(stringtonumber),
        SERVICE(callk), SERVICE(error), SERVICE(describe),
    };
    (void)L;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (lg_gate(LG_ALL, all[i].name, all[i].function, NULL) != 0)
            return -1;
    }
    return 0;
}
