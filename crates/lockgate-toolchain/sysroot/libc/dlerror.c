/* dlerror and what sets its message. musl's keeps messages on the heap and has what a thread does at its end about them; that place
   is malloc.c's here. */
#include <stdarg.h>
#include <stdio.h>

#include "musl.h"

static _Thread_local struct {
    char text[120];
    char is_new;
} message;

char *dlerror(void) {
    if (!message.is_new) return NULL;
    message.is_new = 0;
    return message.text;
}

hidden void __dl_vseterr(const char *format, va_list values) {
    vsnprintf(message.text, sizeof message.text, format, values);
    message.is_new = 1;
}

hidden void __dl_seterr(const char *format, ...) {
    va_list values;
    va_start(values, format);
    __dl_vseterr(format, values);
    va_end(values);
}

hidden int __dl_invalid_handle(void *library) {
    __dl_seterr("Invalid library handle %p", library);
    return 1;
}
