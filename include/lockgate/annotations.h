/* Annotations for `lockgate stubs` (docs/stubs.md) and `lockgate cc --split` (docs/split.md). Ordinary compilers see nothing of them.
 *
 * They stand behind a parameter's name, or behind a function's parameter list:
 *
 *     int gzread(gzFile file, void *buf LG_OUT LG_SIZE(len), unsigned len) LG_ERROR(-1);
 *
 * in the API's own header, or in declarations of a separate file that includes the unchanged header.
 */
#ifndef LOCKGATE_ANNOTATIONS_H
#define LOCKGATE_ANNOTATIONS_H

#ifdef LOCKGATE_STUBS
#define LG_NOTE(...) __attribute__((annotate("lockgate:" #__VA_ARGS__)))
#define LG_NOTE_(text) __attribute__((annotate("lockgate:" text)))
#define LG_JOIN__(a, b) a##b
#define LG_JOIN_(a, b) LG_JOIN__(a, b)
/* What macros in an expression stand for, not their names. */
#define LG_TEXT_(...) #__VA_ARGS__
#define LG_ABOUT_(text, ...) extern char LG_JOIN_(lockgate_about_, __COUNTER__) LG_NOTE_(text) __VA_ARGS__
/* Both a declaration of its own and, where one follows, a mark on the next one: the number says which it was. */
#define LG_HOME__(n, name, options) \
    extern char lockgate_about_##n LG_NOTE_("library:" name) LG_NOTE_("options:" options) LG_NOTE_("number:" #n); LG_NOTE_("home:" #n ":" name)
#define LG_HOME_(n, name, options) LG_HOME__(n, name, options)
#define LG_HOME(name, ...) LG_HOME_(__COUNTER__, name, #__VA_ARGS__)
#else
#define LG_NOTE_(text)
#define LG_ABOUT_(text, ...) struct lockgate_nothing
/* With it gcc lets the semicolon pass that stands behind LG_DOMAIN(…) alone. */
#ifdef __GNUC__
#define LG_HOME(...) __extension__
#else
#define LG_HOME(...)
#endif
#endif

/* ---- what a pointer leads to --------------------------------------------------------------------------------- */

/* The library reads it, writes it, or both. */
#define LG_IN LG_NOTE_("in")
#define LG_OUT LG_NOTE_("out")
#define LG_INOUT LG_NOTE_("inout")
/* Elements (bytes, behind a void pointer): an expression of C over the other parameters, or fields of the same
 * structure. Evaluated exactly: an overflow or a negative number is an error of the call. lg_told(function, handle, what) is
 * what the program last heard from another function about the same handle (lg_result, or an LG_OUT parameter), or told it (any
 * other parameter); lg_told(function, handle, lg_called) is 1 if it was called, else 0. Where several functions tell the same, all of them are named,
 * lg_told(f, h, x, g, h, y): the least counts of what the program has heard. */
#define LG_SIZE(n) LG_NOTE_("size:" LG_TEXT_(n))
/* An array of `n` pointers, each to LG_SIZE elements, or (LG_STRING) to a string. */
#define LG_ROWS(n) LG_NOTE_("rows:" LG_TEXT_(n))
/* Elements that an LG_OUT buffer holds after the call, at most LG_SIZE; lg_result is what the function returns. Of an LG_IN field: how many of them the
 * library has read. */
#define LG_WRITTEN(n) LG_NOTE_("written:" LG_TEXT_(n))
/* A pointer that the library moves on behind what it has read or written of the buffer (fields only). */
#define LG_CURSOR LG_NOTE_("cursor")
/* Ends with a zero: characters, or (LG_STRINGS) pointers to strings. `const char *` is a string without saying so, but not beside a number that
 * may be its length, and not if it is called like bytes (docs/stubs.md). */
#define LG_STRING LG_NOTE_("string")
#define LG_STRINGS LG_NOTE_("strings")
/* Beside LG_STRINGS: they come in pairs, and programs step over two at a time. */
#define LG_PAIRS LG_NOTE_("pairs")
/* An array of structures, the last of which has zero in field `f`, a number or a pointer. */
#define LG_UNTIL(f) LG_NOTE_("until:" #f)
/* The library may give a null pointer. (Results may be null without saying so, and what the program gives is not looked at.) */
#define LG_NULLABLE LG_NOTE_("nullable")
/* Must be a null pointer: anything else is an error of the call. */
#define LG_NULL LG_NOTE_("null")
/* The library's own setting is used, whatever the program gives: allocators, above all. */
#define LG_IGNORE LG_NOTE_("ignore")

/* ---- what belongs to the library ------------------------------------------------------------------------------- */

/* A handle: the program passes it on and never looks inside. Pointers to incomplete structures are handles without
 * saying so. */
#define LG_OPAQUE LG_NOTE_("opaque")
/* Beside LG_OPAQUE (or LG_INSIDE): macros and inline functions of the header's that read fields of the structure do the right thing when they find zeros,
 * or read another structure. Without it such handles are refused. */
#define LG_ZEROS LG_NOTE_("zeros")
/* What the function gives (its result, or through LG_OUT) is the library's and stays so: the program neither frees it nor writes there. On a handle: bindings for languages
 * with destructors do not release it. Other handles that a function gives are the program's. */
#define LG_BORROWED LG_NOTE_("borrowed")
/* The program frees what the function gives: with free() (LG_FREED(free): it is copied to the program's own heap, and the library's is freed at once), or
 * with a function of the header's that takes it with LG_INSIDE (the program has a piece of its own until it calls that). Strings, memory and structures that
 * are not const must have this or LG_BORROWED; memory that the program writes (LG_OUT, LG_INOUT on a function) must have this or LG_LENT. */
#define LG_FREED(f) LG_NOTE_("freed:" #f)
/* The function ends the life of this handle or structure; beside LG_INSIDE: what the program had there is none any more if the function succeeds (realloc). */
#define LG_RELEASE LG_NOTE_("release")
/* A structure of the program's that the library remembers by its address from call to call; or a FILE that it uses after the call, too, for the handle
 * that comes with it or is made; or data (LG_DATA) that it has for good, where there is no handle. */
#define LG_KEPT LG_NOTE_("kept")
/* A place in memory of the library's that it has given out before. With LG_SIZE, what the program has written there goes in, as far as the program has
 * memory there. A place that the library gives (on a function, a field) has no contents: zeros, which cannot be written. */
#define LG_INSIDE LG_NOTE_("inside")
/* Memory of the library's that the program fills; its contents go in with the next call of the same handle. Results only, with LG_SIZE. */
#define LG_LENT LG_NOTE_("lent")
/* A place inside the object that parameter `p` points to: the beginning of an element, with that element, or with LG_SIZE elements, behind it. Where the
 * library sets a pointer (LG_OUT), it is null only with LG_NULLABLE. */
#define LG_WITHIN(p) LG_NOTE_("within:" #p)

/* ---- functions of the program ------------------------------------------------------------------------------------ */

/* A function that the library calls. Pointers to functions are, without saying so. */
#define LG_CALLBACK LG_NOTE_("callback")
/* The program's own pointer, which the library hands back and never follows. `void *` parameters of callbacks are, without
 * saying so. It comes back for the callback and handle that it was given with, or, without a handle, to callbacks of this very call only (LG_KEPT: for good). On a handle: callbacks get the handle itself in place of data. */
#define LG_DATA LG_NOTE_("data")
/* Beside LG_DATA on a function that gives data back: what the program gave to these functions, and nothing else. Without it that is what the function's own
 * parameters give, or the only function that is given any. */
#define LG_GIVEN(...) LG_NOTE_("given:" #__VA_ARGS__)
/* Data that comes with a callback, and is given for this very call: no later one gets it, and the program may free it when the call returns. For functions
 * with a handle, where other data stays given as long as that lives. */
#define LG_FOR_CALL LG_NOTE_("for_call")
/* The program reads the pointer back as the first word behind handle `h` (a macro of the header's does). On a function with a
 * handle as its result: the same word is found behind that. */
#define LG_SHOWN(h) LG_NOTE_("shown:" #h)
/* A function that is called with the object of parameter `p` when the library needs it no more. The library is given
 * `copy` instead, by which it copies the object at once. */
#define LG_DISPOSE(p, copy) LG_NOTE_("dispose:" #p "," #copy)

/* ---- errors that jump: setjmp and longjmp ------------------------------------------------------------------------- */

/* The result is the jmp_buf of handle `h`, where the program calls setjmp: memory of the program's, which the library never sees. */
#define LG_JUMP_BUFFER(h) LG_NOTE_("jump_buffer:" #h)
/* A callback's parameter: the jmp_buf to jump to. The callback takes it and an int, as longjmp does. The library's call ends before the program's
 * function is called. */
#define LG_JUMP LG_NOTE_("jump")
/* Behind a handle (or its type): the function may jump to the handle's jmp_buf. It does so, too, when the library failed. Functions
 * without a handle of this kind cannot jump. */
#define LG_JUMPS LG_NOTE_("jumps")

/* ---- functions ----------------------------------------------------------------------------------------------------- */

/* What the function returns when the library failed: crashed, ran out of time, answered with nonsense. */
#define LG_ERROR(value) LG_NOTE_("error:" LG_TEXT_(value))
/* What is wrong is told by errno. */
#define LG_ERRNO LG_NOTE_("errno")
/* The result is at most this, and not negative, unless it is what the function returns when it fails. Behind LG_OUT on a pointer to a number: the same of
 * what the library sets it to. */
#define LG_AT_MOST(n) LG_NOTE_("at_most:" LG_TEXT_(n))
/* Like printf: the text is made before the library is called. */
#define LG_PRINTF LG_NOTE_("printf")
/* The same with formats of the library's own: arguments are copied as the format says, and the library's function `vf`, which has a
 * va_list in place of `...`, gets them. `strings`: letters of conversions, beside s, that take strings; `given`: those that take
 * memory of the library's back. Also on `vf` itself. */
#define LG_FORMAT(vf, strings, given) LG_NOTE_("format:" #vf "," strings "," given)
/* Isolation asked for: LG_POLICY(INTEGRITY), see docs/policies.md. */
#define LG_POLICY(policy) LG_NOTE_("policy:" #policy)
/* No stub is made: the reason is in the text. */
#define LG_OMIT(why) LG_NOTE_("omit:" why)

/* ---- whole files: types and domain --------------------------------------------------------------------------------- */

/* Annotates field `f` of a structure, given by the name of its type. */
#define LG_FIELD(type, f, ...) LG_ABOUT_("field:" #type "." #f, __VA_ARGS__)
/* Annotates every parameter, result and field of this type name. */
#define LG_TYPE(type, ...) LG_ABOUT_("type:" #type, __VA_ARGS__)
/* LG_ERROR for all functions with results of this type that have none of their own. */
#define LG_ERRORS(type, value) LG_ABOUT_("errors:" #type, LG_ERROR(value))
/* Where the library lives: the domain's name, which is the client's, too, and what it may reach (docs/stubs.md).
 *
 * In a program of several domains (docs/split.md): alone, `LG_DOMAIN("parser", time=1000);`, the home of everything that its file
 * declares or defines; before a function or variable, `LG_DOMAIN("parser") int parse(…)`, that one's. */
#define LG_DOMAIN(...) LG_HOME(__VA_ARGS__, )

/* ---- one program, several domains ------------------------------------------------------------------------------------ */

/* A function that other parts of the program may call. Its parameters are annotated like an API's. */
#define LG_ENTRY LG_NOTE_("entry")
/* Stands like LG_DOMAIN: every part of the program that needs it has a copy of its own. */
#define LG_EVERYWHERE LG_HOME("*", )

#endif
