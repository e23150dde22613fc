/* make_fcontext, and what the contexts of Boost.Context begin and go on with (libc/fcontext_jump.S). */
#include <stdlib.h>
#include <unistd.h>

#include "context.h"

/* What a function gets, and jump_fcontext returns: the context that was left, and a value. */
struct transfer {
    void *from, *data;
};

/* A frame (libc/fcontext_jump.S) of a context that has not begun, at the top of the stack that the program has for it. */
struct frame {
    unsigned long word;
    struct transfer (*ontop)(struct transfer);
    unsigned short x87;
    unsigned mxcsr;
    void (*function)(struct transfer);
};

hidden void __lg_fcontext_begin(void);
hidden struct transfer __lg_ontop(void *from, void *data, struct transfer (*function)(struct transfer));
hidden void __lg_fcontext_main(struct frame *from, void *data, struct frame *own);

void *make_fcontext(void *top, size_t size, void (*function)(struct transfer)) {
    struct frame *own = (struct frame *)((uintptr_t)top & -(uintptr_t)16) - 1;
    long word = __lg_context(LG_CONTEXT_CREATE, (unsigned long)__lg_fcontext_begin, (uintptr_t)top - size, size);
    if (word < 0 && word > -4096) {
        /* It has no way to fail. */
        static const char message[] = "make_fcontext: the domain has no stack for one more context\n";
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        abort();
    }
    own->word = (unsigned long)word;
    own->function = function;
    __asm__("fnstcw %0" : "=m"(own->x87));
    __asm__("stmxcsr %0" : "=m"(own->mxcsr));
    return own;
}

struct transfer __lg_ontop(void *from, void *data, struct transfer (*function)(struct transfer)) {
    return function((struct transfer){from, data});
}

void __lg_fcontext_main(struct frame *from, void *data, struct frame *own) {
    struct transfer begin = {from, data};
    if (from->ontop) begin = from->ontop(begin);
    own->function(begin);
    for (;;) __lg_context(LG_CONTEXT_END, 0, 0, 0);
}
