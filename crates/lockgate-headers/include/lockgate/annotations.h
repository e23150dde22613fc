/* Annotations for `lockgate stubs` (docs/stubs.md) and `lockgate cc --split` (docs/split.md).
 * Ordinary compilers do not see them.
 *
 * They stand behind a parameter's name, or behind a function's parameter list:
 *
 *     int gzread(gzFile file, void *buf LG_OUT LG_SIZE(len), unsigned len) LG_ERROR(-1);
 *
 * in the API's own header, or in declarations of a separate file that includes the unchanged
 * header.
 */
#ifndef LOCKGATE_ANNOTATIONS_H
#define LOCKGATE_ANNOTATIONS_H

/* Macros with variable arguments are no C89: what includes this may be, and pedantic. */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#ifdef LOCKGATE_STUBS
#define LG_NOTE(...) __attribute__((annotate("lockgate:" #__VA_ARGS__)))
#define LG_NOTE_(text) __attribute__((annotate("lockgate:" text)))
#define LG_JOIN__(a, b) a##b
#define LG_JOIN_(a, b) LG_JOIN__(a, b)
/* The expansion of macros in an expression, not their names. ("names:" has those: the client
 * does not compile where they stand for other numbers.) */
#define LG_TEXT_(...) #__VA_ARGS__
#define LG_ABOUT_(text, ...) extern char LG_JOIN_(lockgate_about_, __COUNTER__) LG_NOTE_(text) __VA_ARGS__
#define LG_CALLED_(text, parameters) extern void LG_JOIN_(lockgate_about_, __COUNTER__) parameters LG_NOTE_(text)
/* A declaration and, if another follows, a mark on the next one: the number tells which. */
#define LG_HOME__(n, name, options) \
    extern char lockgate_about_##n LG_NOTE_("library:" name) LG_NOTE_("options:" options) LG_NOTE_("number:" #n); LG_NOTE_("home:" #n ":" name)
#define LG_HOME_(n, name, options) LG_HOME__(n, name, options)
#define LG_HOME(name, ...) LG_HOME_(__COUNTER__, name, #__VA_ARGS__)
#else
#define LG_NOTE_(text)
#define LG_ABOUT_(text, ...) struct lockgate_nothing
#define LG_CALLED_(text, parameters) struct lockgate_nothing
/* With it gcc accepts the semicolon behind an LG_DOMAIN(…) that stands alone. */
#ifdef __GNUC__
#define LG_HOME(...) __extension__
#else
#define LG_HOME(...)
#endif
#endif

/* ---- what a pointer leads to --------------------------------------------------------------------------------- */

/* The library reads it, writes it, or both.
 *
 * LG_OUT memory that the library leaves unwritten stays as the program has it: for that, the stub
 * passes a number or a structure in. It does not pass a buffer (LG_SIZE) in: LG_WRITTEN says how
 * much of it the library writes; otherwise declare it LG_INOUT, and all of it comes back. A pointer
 * that is not set is null; where the call returns its LG_ERROR (or null), it stays as the program
 * has it. */
#define LG_IN LG_NOTE_("in")
#define LG_OUT LG_NOTE_("out")
#define LG_INOUT LG_NOTE_("inout")
/* Elements (bytes, behind a void pointer): an expression of C over the other parameters, or fields
 * of the same structure. The stub evaluates it exactly: an overflow or a negative number is an
 * error of the call. lg_told(function, handle, what) is the last observed value: what the program
 * last got from another function about the same handle (lg_result, or an LG_OUT parameter), or gave
 * it (any other parameter). lg_told(function, handle, lg_called) is 1 if that function was called,
 * otherwise 0. Where several functions tell the same fact, name them all: lg_told(f, h, x, g, h, y)
 * is the least of what the program has heard. */
#define LG_SIZE(n) LG_NOTE_("size:" LG_TEXT_(n)) LG_NOTE_("names:" #n)
/* An array of `n` pointers, each to LG_SIZE elements, or (LG_STRING) to a string. */
#define LG_ROWS(n) LG_NOTE_("rows:" LG_TEXT_(n)) LG_NOTE_("names:" #n)
/* Elements that an LG_OUT buffer holds after the call, at most LG_SIZE; lg_result is what the
 * function returns. On an LG_IN field: how many of them the library has read. */
#define LG_WRITTEN(n) LG_NOTE_("written:" LG_TEXT_(n)) LG_NOTE_("names:" #n)
/* A pointer that the library moves forward over what it has read or written of the buffer: a field,
 * or a pointer behind a parameter (T **p), then with LG_IN or LG_OUT and LG_SIZE(*n), where n is an
 * LG_INOUT parameter by which the library says how much is left. */
#define LG_CURSOR LG_NOTE_("cursor")
/* Beside LG_SIZE and LG_IN, LG_OUT or LG_INOUT: the buffer is never copied. It lies in one block of
 * an arena (lg_arena_alloc()) that the program has opened for the library, lg_NAME_open(), and the
 * library has it where the program has it, for as long as the arena is open: it may keep the
 * pointer. A buffer that lies elsewhere, in a block that was freed, or that is longer than its
 * block is an error of the call. */
#define LG_SHARED LG_NOTE_("shared")
/* Ends with a zero: characters, or (LG_STRINGS) pointers to strings. `const char *` is a string
 * without an annotation, except beside a number that may be its length, and except with a name for
 * bytes (docs/stubs.md). With LG_SIZE(n) and no direction: text that the library reads to a zero
 * or, if none comes before, n characters of (strncmp). */
#define LG_STRING LG_NOTE_("string")
#define LG_STRINGS LG_NOTE_("strings")
/* On a character array of a structure: bytes, of which none need be zero. (LG_STRING there: text,
 * whose last byte is zero.) */
#define LG_BYTES LG_NOTE_("bytes")
/* Beside LG_STRINGS: they come in pairs, and programs step over two at a time. */
#define LG_PAIRS LG_NOTE_("pairs")
/* An array of structures, the last of which has zero in field `f`, a number or a pointer. */
#define LG_UNTIL(f) LG_NOTE_("until:" #f)
/* The library may give a null pointer. (Results may be null without an annotation; the stub does
 * not check what the program gives.) */
#define LG_NULLABLE LG_NOTE_("nullable")
/* An integer of type uintptr_t or intptr_t that holds no pointer. (A pointer of the program's in an
 * integer would be a number that the library could change: declare it `void *`.) */
#define LG_NUMBER LG_NOTE_("number")
/* Must be a null pointer: any other is an error of the call. */
#define LG_NULL LG_NOTE_("null")
/* The stub ignores what the program gives, and uses the library's own setting: above all for
 * allocators. */
#define LG_IGNORE LG_NOTE_("ignore")

/* ---- what belongs to the library ------------------------------------------------------------------------------- */

/* A handle: the program passes it on and never looks inside. Pointers to incomplete structures are
 * handles without an annotation. */
#define LG_OPAQUE LG_NOTE_("opaque")
/* Beside LG_OPAQUE (or LG_INSIDE): macros and inline functions of the header that read fields of
 * the structure work correctly when they find zeros, or read another structure. Without it the
 * generator refuses such handles. */
#define LG_ZEROS LG_NOTE_("zeros")
/* The library keeps what the function gives (its result, or through LG_OUT): the program neither
 * frees it nor writes there. On a handle: bindings for languages with destructors do not release
 * it. The program owns other handles that a function gives. */
#define LG_BORROWED LG_NOTE_("borrowed")
/* The program frees what the function gives: with free() (LG_FREED(free): the stub copies it to the
 * program's own heap and frees the library's immediately), or with a function of the header that
 * takes it with LG_INSIDE (the program has its own copy until it calls that). Strings, memory and
 * structures that are not const must have this or LG_BORROWED; memory that the program writes
 * (LG_OUT, LG_INOUT on a function) must have this or LG_LENT. */
#define LG_FREED(f) LG_NOTE_("freed:" #f)
/* The function ends the life of this handle or structure. Beside LG_INSIDE: the program loses what
 * it had there if the function succeeds (realloc). */
#define LG_RELEASE LG_NOTE_("release")
/* On a handle: if the function succeeds, the library has forgotten the data that was given with the
 * handle but not with a callback, and that callbacks get the handle (LG_DATA on a handle); what
 * LG_SHOWN shows is null. */
#define LG_RESET LG_NOTE_("reset")
/* A structure of the program that the library remembers by its address from call to call: until a
 * function releases it, or, if none does, as long as the handle that the call takes or makes. Also
 * a FILE that the library uses after the call, as long as that handle. Also data (LG_DATA) that the
 * library keeps for good, if there is no handle. */
#define LG_KEPT LG_NOTE_("kept")
/* A place in memory of the library that it has given out before. With LG_SIZE, the stub passes in
 * what the program has written there, as far as the program has memory there. A place that the
 * library gives (on a function, a field) has no contents: zeros, which cannot be written. */
#define LG_INSIDE LG_NOTE_("inside")
/* Memory of the library that the program fills; the next call of the same handle passes its
 * contents in. Results only, with LG_SIZE. */
#define LG_LENT LG_NOTE_("lent")
/* A place inside the object that parameter `p` points to: the beginning of an element, with that
 * element, or with LG_SIZE elements, behind it. If the library sets a pointer (LG_OUT), it may be
 * null only with LG_NULLABLE. */
#define LG_WITHIN(p) LG_NOTE_("within:" #p)

/* ---- functions of the program ------------------------------------------------------------------------------------ */

/* A function that is called as it is declared. Pointers to functions are callbacks without an
 * annotation, but for `void (*)(void)`, by which some libraries take functions of any type. */
#define LG_CALLBACK LG_NOTE_("callback")
/* The program's own pointer, which the library hands back and never follows. `void *` parameters of
 * callbacks are data without an annotation. The pointer comes back for the callback and handle that
 * it was given with, or, without a handle, only to callbacks of this call (LG_KEPT: for good). On a
 * handle: callbacks get the handle itself in place of data. */
#define LG_DATA LG_NOTE_("data")
/* Beside LG_DATA on a function that gives data back: what the program gave to these functions, and
 * nothing else. Without it, the data are those that the function's own parameters give, or that the
 * only function with data gets. The same on a field of a structure that the library gives; without
 * it, the data are those that the program gave in this field, if it gives such structures. */
#define LG_GIVEN(...) LG_NOTE_("given:" #__VA_ARGS__)
/* Data that comes with a callback, only for this call: no later call gets it, and the program may
 * free it when the call returns. It is for functions with a handle, whose other data stays valid as
 * long as the handle lives. Also on a FILE * beside a handle, which the library does not keep. */
#define LG_FOR_CALL LG_NOTE_("for_call")
/* The program reads the pointer back as the first word behind handle `h` (a macro of the header
 * does). On a function with a handle as its result: the same word lies behind that. */
#define LG_SHOWN(h) LG_NOTE_("shown:" #h)
/* A function that the stub calls with the object of parameter `p`, unless that is null, when the
 * library needs the object no more. The library gets `copy` instead, and copies the object
 * immediately. */
#define LG_DISPOSE(p, copy) LG_NOTE_("dispose:" #p "," #copy)

/* ---- errors that jump: setjmp and longjmp ------------------------------------------------------------------------- */

/* The result is the jmp_buf of handle `h`, where the program calls setjmp: memory of the program,
 * which the library never sees. */
#define LG_JUMP_BUFFER(h) LG_NOTE_("jump_buffer:" #h)
/* A callback's parameter: the jmp_buf to jump to. The callback takes it and an int, as longjmp
 * does. The library's call ends before the program's function is called. */
#define LG_JUMP LG_NOTE_("jump")
/* Behind a handle (or its type): the function may jump to the handle's jmp_buf. It also does so
 * when the library failed. Functions without a handle of this kind cannot jump. */
#define LG_JUMPS LG_NOTE_("jumps")

/* ---- functions ----------------------------------------------------------------------------------------------------- */

/* The result of the stub when the library failed: it crashed, ran out of time, or gave an
 * impossible answer. Signed numbers, enumerations and structures must have one, or LG_ERRORS,
 * because no value of theirs is a failure to all callers (docs/stubs.md has the values of other
 * types). */
#define LG_ERROR(...) LG_NOTE_("error:" LG_TEXT_(__VA_ARGS__)) LG_NOTE_("names:" #__VA_ARGS__)
/* errno tells what is wrong. */
#define LG_ERRNO LG_NOTE_("errno")
/* The result is at most this, and not negative, unless it is the function's failure value. Behind
 * LG_OUT on a pointer to a number: the same for what the library sets it to (not by itself). */
#define LG_AT_MOST(n) LG_NOTE_("at_most:" LG_TEXT_(n)) LG_NOTE_("names:" #n)
/* The function takes a format, as printf does: the stub makes the text before it calls the library.
 * */
#define LG_PRINTF LG_NOTE_("printf")
/* The same with formats of the library: the stub copies arguments as the format says, and the
 * library's function `vf`, which has a va_list in place of `...`, gets them. `strings`: letters of
 * conversions, beside s, that take strings; `given`: those that take memory of the library back.
 * Also on `vf` itself. */
#define LG_FORMAT(vf, strings, given) LG_NOTE_("format:" #vf "," strings "," given)
/* The isolation that the client asks for: LG_POLICY(INTEGRITY), see docs/policies.md. */
#define LG_POLICY(policy) LG_NOTE_("policy:" #policy)
/* The generator makes no stub; the text gives the reason, without characters by number (\x21):
 * later versions of libclang refuse those in attributes. */
#define LG_OMIT(why) LG_NOTE_("omit:" why)

/* ---- whole files: types and domain --------------------------------------------------------------------------------- */

/* Annotates field `f` of a structure, given by the name of its type. */
#define LG_FIELD(type, f, ...) LG_ABOUT_("field:" #type "." #f, __VA_ARGS__)
/* The same for the parameters of a field that is a pointer to a function, in the order of its type:
 * LG_FIELD_CALLBACK(ops, number, (void *user, const char *text LG_SIZE(n), size_t n)); */
#define LG_FIELD_CALLBACK(type, f, parameters) LG_CALLED_("field:" #type "." #f, parameters)
/* Annotates every parameter, result and field of this type name. */
#define LG_TYPE(type, ...) LG_ABOUT_("type:" #type, __VA_ARGS__)
/* LG_ERROR for all functions with results of this type that have no LG_ERROR themselves. Functions
 * whose names ask a question (is_valid, has_more) must have their own. */
#define LG_ERRORS(type, ...) LG_ABOUT_("errors:" #type, LG_ERROR(__VA_ARGS__) LG_NOTE_("names:" #__VA_ARGS__))
/* Where the library lives: the domain's name, which is also the client's, and what it may reach
 * (docs/stubs.md).
 *
 * In a program of several domains (docs/split.md): alone, `LG_DOMAIN("parser", time=1000);`, the
 * home of everything that its file declares or defines; before a function or variable,
 * `LG_DOMAIN("parser") int parse(…)`, that one's. */
#define LG_DOMAIN(...) LG_HOME(__VA_ARGS__, )

/* ---- one program, several domains ------------------------------------------------------------------------------------ */

/* A function that other parts of the program may call. Annotate its parameters like those of an
 * API. */
#define LG_ENTRY LG_NOTE_("entry")
/* In the place of LG_DOMAIN: every part of the program that needs it has its own copy. */
#define LG_EVERYWHERE LG_HOME("*", )

#endif
