/* Who called whom, and what registers they had: the walk under the unwinder (unwind.c).

   Return addresses lie where no code of a module can read them. So a system call of ours, lg_functions, tells where each function in
   progress goes on and where its frame is (docs/decisions/0064, 0079); unwind tables (.eh_frame) say where callee-saved registers are. */
#include "frames.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "call.h"
#include "code-model.h"

#define LG_FUNCTIONS 400
/* By how much the room for rows grows, and up to how many there may be. */
#define GROWTH 16
#define MOST (1L << 20)

/* ---- rows */

static long ask(struct lg_row *rows, long room, long skip) {
    long got = lg_ask3(LG_FUNCTIONS, (long)rows, room, skip);
    return got < 0 ? 0 : got;
}

/* Number of own functions at the start of rows that were asked for without skipping any. */
static long own(const struct lg_row *rows, long count, uintptr_t below) {
    for (long n = 0; n < count; n++) {
        if (rows[n].cfa == below) return n + 1;
    }
    return count;
}

/* Asks for rows from `number` on. */
__attribute__((noinline)) static void fill(struct lg_rows *rows, long number) {
    struct lg_row inner[LG_FAR];
    long skipped = own(inner, ask(inner, LG_FAR, 0), rows->below);
    if (number == rows->from + rows->count && rows->count < rows->room) {
        /* Behind those that are there. */
        rows->count += ask(rows->rows + rows->count, rows->room - rows->count, skipped + number);
        return;
    }
    /* More room each time; without, it takes longer. */
    if (number > 0 && rows->room < MOST) {
        long room = rows->room * GROWTH, size = room * (long)sizeof *rows->rows;
        long memory = lg_call6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory > 0 || memory < -4096) {
            __lg_free_rows(rows);
            rows->rows = (struct lg_row *)memory;
            rows->room = room;
        }
    }
    rows->from = number;
    rows->count = ask(rows->rows, rows->room, skipped + number);
}

void __lg_free_rows(struct lg_rows *rows) {
    if (rows->rows == rows->first) return;
    lg_call3(SYS_munmap, (long)rows->rows, rows->room * (long)sizeof *rows->rows, 0);
    rows->rows = rows->first;
}

/* Row `number`; 0 if there are no more. */
static const struct lg_row *row(struct lg_rows *rows, long number) {
    if (number < rows->from || number >= rows->from + rows->count) {
        fill(rows, number);
        if (number >= rows->from + rows->count) return 0;
    }
    return &rows->rows[number - rows->from];
}

int __lg_first_frame(struct _Unwind_Context *context, struct lg_rows *rows, const struct lg_kept *kept, long likely) {
    rows->rows = rows->first;
    rows->room = LG_ROWS;
    rows->common.at = 0;
    /* The registers, room that aligns, the return slot. */
    rows->below = (uintptr_t)(kept + 1) + 16;
    rows->count = ask(rows->first, likely, 0);
    rows->from = -own(rows->first, rows->count, rows->below);
    const struct lg_row *first = row(rows, 0);
    if (!first) return 0;
    memset(context->registers, 0, sizeof context->registers);
    context->registers[LG_RBX] = kept->rbx;
    context->registers[LG_RBP] = kept->rbp;
    memcpy(&context->registers[LG_R12], &kept->r12, 4 * sizeof(uintptr_t));
    context->registers[LG_RSP] = rows->below + LG_OFF;
    context->rows = rows;
    context->number = 0;
    context->site = first->site;
    context->cfa = first->cfa;
    context->rsp = rows->below;
    return 1;
}

/* ---- numbers of the tables */

uintptr_t __lg_read_uleb(const unsigned char **at) {
    uintptr_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        if (shift < 64) value |= (uintptr_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

intptr_t __lg_read_sleb(const unsigned char **at) {
    uintptr_t value = 0;
    for (unsigned shift = 0;;) {
        unsigned char byte = *(*at)++;
        if (shift < 64) value |= (uintptr_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if (byte & 0x40 && shift < 64) value |= -(uintptr_t)1 << shift;
        return (intptr_t)value;
    }
}

#define READ(type)                        \
    ({                                    \
        type value_;                      \
        memcpy(&value_, *at, sizeof value_); \
        *at += sizeof value_;             \
        (uintptr_t)(intptr_t)value_;      \
    })

uintptr_t __lg_read_pointer(const unsigned char **at, unsigned char encoding, uintptr_t base) {
    if (encoding == 0xff) return 0;
    uintptr_t place = (uintptr_t)*at, value;
    switch (encoding & 0x0f) {
    case 0x01: value = __lg_read_uleb(at); break;
    case 0x09: value = (uintptr_t)__lg_read_sleb(at); break;
    case 0x02: value = READ(uint16_t); break;
    case 0x03: value = READ(uint32_t); break;
    case 0x0a: value = READ(int16_t); break;
    case 0x0b: value = READ(int32_t); break;
    default: value = READ(uint64_t); break;
    }
    if (value == 0) return 0;
    switch (encoding & 0x70) {
    case 0x10: value += place; break;
    case 0x30:
    case 0x40: value += base; break;
    default: break;
    }
    return encoding & 0x80 ? *(const uintptr_t *)value : value;
}

/* ---- frame descriptions */

extern const unsigned char __lg_frames_start[] LG_HIDDEN, __lg_frames_end[] LG_HIDDEN;
extern const unsigned char __executable_start[] LG_HIDDEN, etext[] LG_HIDDEN;

struct lg_image {
    _Atomic uintptr_t claimed, start;
    uintptr_t end;
    const unsigned char *table;
};

/* Those that have joined, each in the place that it keeps: by its start, which is stored last. One that joins again finds itself here. */
static struct lg_image images[LG_JOINED];

void __lg_add_frames(uintptr_t start, uintptr_t end, const unsigned char *table) {
    for (struct lg_image *image = images; image < images + LG_JOINED; image++) {
        uintptr_t none = 0;
        if (atomic_load(&image->start) == start) return;
        if (!atomic_compare_exchange_strong(&image->claimed, &none, start)) continue;
        image->end = end;
        image->table = table;
        atomic_store(&image->start, start);
        return;
    }
}

/* What ld writes: version, encodings of the two numbers that follow and of the table, and the table of distances from here. */
#define TABLE_HEAD 12
static const unsigned char table_kind[4] = {1, 0x1b, 0x03, 0x3b};

struct entry {
    int32_t code, description;
};

/* What describes one function (FDE), and its instructions. */
struct own {
    uintptr_t start, length, lsda;
    const unsigned char *at, *end;
};

static const unsigned char *search(const unsigned char *table, uintptr_t address) {
    if (memcmp(table, table_kind, sizeof table_kind) != 0) return 0;
    uint32_t count;
    memcpy(&count, table + 8, sizeof count);
    const struct entry *entries = (const struct entry *)(table + TABLE_HEAD);
    intptr_t distance = (intptr_t)(address - (uintptr_t)table);
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (entries[middle].code <= distance) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? 0 : table + entries[low - 1].description;
}

static const unsigned char *find(uintptr_t address) {
    if (address - (uintptr_t)__executable_start < (uintptr_t)(etext - __executable_start)) {
        return __lg_frames_end - __lg_frames_start < TABLE_HEAD ? 0 : search(__lg_frames_start, address);
    }
    for (const struct lg_image *image = images; image < images + LG_JOINED; image++) {
        uintptr_t start = atomic_load(&image->start);
        if (start && address - start < image->end - start) return search(image->table, address);
    }
    return 0;
}

static uint32_t word(const unsigned char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static int run(const unsigned char *at, const unsigned char *end, const struct lg_common *common, uintptr_t start,
               uintptr_t distance, struct lg_description *into);

static int read_common(const unsigned char *common, struct lg_common *into) {
    const unsigned char *at = common + 8, *letters = at + 1, *end = common + 4 + word(common);
    unsigned char version = *at;
    into->at = 0;
    into->pointers = 0;
    into->lsda = 0xff;
    into->personality = 0;
    at += 2 + strlen((const char *)letters);
    into->code_factor = __lg_read_uleb(&at);
    into->data_factor = __lg_read_sleb(&at);
    if (version == 1) {
        at++;
    } else {
        __lg_read_uleb(&at);
    }
    into->is_augmented = *letters == 'z';
    if (into->is_augmented) {
        uintptr_t size = __lg_read_uleb(&at);
        const unsigned char *data = at;
        at += size;
        while (*++letters) {
            switch (*letters) {
            case 'R': into->pointers = *data++; break;
            case 'L': into->lsda = *data++; break;
            case 'P': {
                unsigned char encoding = *data++;
                into->personality = (_Unwind_Personality_Fn)__lg_read_pointer(&data, encoding, 0);
                break;
            }
            default: return 0;
            }
        }
    } else if (*letters) {
        return 0;
    }
    into->rules.ruled = 0;
    into->rules.arguments = 0;
    if (!run(at, end, into, 0, 0, &into->rules)) return 0;
    into->at = common;
    return 1;
}

/* The description of the function around `address`. 0 if there is none. */
static int read_own(uintptr_t address, struct lg_common *common, struct own *found) {
    const unsigned char *own = find(address);
    if (!own) return 0;
    const unsigned char *its = own + 4 - word(own + 4);
    if (common->at != its && !read_common(its, common)) return 0;
    found->end = own + 4 + word(own);
    const unsigned char *at = own + 8;
    found->start = __lg_read_pointer(&at, common->pointers, 0);
    found->length = __lg_read_pointer(&at, common->pointers & 0x0f, 0);
    if (address - found->start >= found->length) return 0;
    found->lsda = 0;
    if (common->is_augmented) {
        uintptr_t size = __lg_read_uleb(&at);
        const unsigned char *data = at;
        at += size;
        if (common->lsda != 0xff && size != 0) found->lsda = __lg_read_pointer(&data, common->lsda, 0);
    }
    found->at = at;
    return 1;
}

uintptr_t __lg_function_start(uintptr_t address) {
    struct lg_common common = {0};
    struct own own;
    return read_own(address, &common, &own) ? own.start : 0;
}

/* How deep states are kept (DW_CFA_remember_state). */
#define KEPT 8

static void set(struct lg_description *into, uintptr_t number, struct lg_rule rule) {
    /* Of others than general registers nothing is kept by anybody; where the frame is says what rsp was. */
    if (number >= LG_GENERAL || number == LG_RSP) return;
    into->ruled |= 1u << number;
    into->rules[number] = rule;
}

static void keep(struct lg_description *into, uintptr_t number) {
    if (number < LG_GENERAL) into->ruled &= ~(1u << number);
}

/* The rule that the common entry has for a register; it has none while it is read itself. */
static int restore(const struct lg_common *common, uintptr_t number, struct lg_description *into) {
    if (!common->at) return 0;
    keep(into, number);
    if (number < LG_GENERAL && common->rules.ruled >> number & 1) set(into, number, common->rules.rules[number]);
    return 1;
}

static const unsigned char *skip(const unsigned char *at) {
    while (*at++ & 0x80) continue;
    return at;
}

/* Runs call-frame instructions of a function that begins at `start` up to the row of `distance` (DWARF 5, 6.4.2). Where the frame is, rows of
   `lg_functions` say better. */
static int run(const unsigned char *at, const unsigned char *end, const struct lg_common *common, uintptr_t start,
               uintptr_t distance, struct lg_description *into) {
    struct lg_description kept[KEPT];
    int depth = 0;
    uintptr_t here = 0, number, size;
    intptr_t data = common->data_factor;
    while (at < end) {
        unsigned char operation = *at++, low = operation & 0x3f;
        switch (operation & 0xc0) {
        case 0x40: here += low * common->code_factor; goto moved;
        case 0x80: set(into, low, (struct lg_rule){LG_OFFSET, {(intptr_t)__lg_read_uleb(&at) * data}}); continue;
        case 0xc0:
            if (!restore(common, low, into)) return 0;
            continue;
        default: break;
        }
        switch (operation) {
        case 0x00: break;
        case 0x01: here = __lg_read_pointer(&at, 0, 0) - start; goto moved;
        case 0x02: here += *at++ * common->code_factor; goto moved;
        case 0x03: here += (at[0] | (uintptr_t)at[1] << 8) * common->code_factor, at += 2; goto moved;
        case 0x04: here += word(at) * common->code_factor, at += 4; goto moved;
        case 0x05:
            number = __lg_read_uleb(&at);
            set(into, number, (struct lg_rule){LG_OFFSET, {(intptr_t)__lg_read_uleb(&at) * data}});
            break;
        case 0x06:
            number = __lg_read_uleb(&at);
            if (!restore(common, number, into)) return 0;
            break;
        case 0x07:
        case 0x08: keep(into, __lg_read_uleb(&at)); break;
        case 0x09:
            number = __lg_read_uleb(&at);
            set(into, number, (struct lg_rule){LG_REGISTER, {(intptr_t)__lg_read_uleb(&at)}});
            break;
        case 0x0a:
            if (depth == KEPT) return 0;
            kept[depth++] = *into;
            break;
        case 0x0b:
            if (depth == 0) return 0;
            kept[--depth].arguments = into->arguments;
            *into = kept[depth];
            break;
        case 0x0c:
        case 0x12: at = skip(skip(at)); break;
        case 0x0d:
        case 0x0e:
        case 0x13: at = skip(at); break;
        case 0x0f: size = __lg_read_uleb(&at), at += size; break;
        case 0x10:
        case 0x16:
            number = __lg_read_uleb(&at);
            set(into, number, (struct lg_rule){operation == 0x10 ? LG_EXPRESSION : LG_VALUE_EXPRESSION, {.expression = at}});
            size = __lg_read_uleb(&at), at += size;
            break;
        case 0x11:
            number = __lg_read_uleb(&at);
            set(into, number, (struct lg_rule){LG_OFFSET, {__lg_read_sleb(&at) * data}});
            break;
        case 0x14:
            number = __lg_read_uleb(&at);
            set(into, number, (struct lg_rule){LG_VALUE_OFFSET, {(intptr_t)__lg_read_uleb(&at) * data}});
            break;
        case 0x15:
            number = __lg_read_uleb(&at);
            set(into, number, (struct lg_rule){LG_VALUE_OFFSET, {__lg_read_sleb(&at) * data}});
            break;
        case 0x2e: into->arguments = __lg_read_uleb(&at); break;
        default: return 0;
        }
        continue;
    moved:
        if (here > distance) return 1;
    }
    return 1;
}

int __lg_describe(struct _Unwind_Context *context, struct lg_description *description) {
    struct lg_common *common = &context->rows->common;
    struct own own;
    /* The call, which the place behind it may not belong to. */
    uintptr_t address = context->site - 1;
    if (!read_own(address, common, &own)) return 0;
    description->ruled = common->rules.ruled;
    description->arguments = 0;
    for (unsigned rest = description->ruled; rest; rest &= rest - 1) {
        int number = __builtin_ctz(rest);
        description->rules[number] = common->rules.rules[number];
    }
    if (!run(own.at, own.end, common, own.start, address - own.start, description)) return 0;
    context->start = own.start;
    context->lsda = own.lsda;
    context->personality = common->personality;
    context->arguments = description->arguments;
    context->description = description;
    return 1;
}

/* ---- expressions (DWARF 5, 2.5) */

#define WORDS 64
#define STEPS 10000

/* The value of a block that begins with its length. */
static int evaluate(const unsigned char *at, const struct _Unwind_Context *context, uintptr_t *result) {
    uintptr_t stack[WORDS], size = __lg_read_uleb(&at), a, b;
    const unsigned char *start = at, *end = at + size;
    int top = 1;
    stack[0] = context->cfa;
    for (int step = 0; at < end; step++) {
        if (step == STEPS || top < 1 || top > WORDS - 2) return 0;
        unsigned char operation = *at++;
        uintptr_t *last = &stack[top - 1];
        switch (operation) {
        case 0x03: stack[top++] = __lg_read_pointer(&at, 0, 0); continue;
        case 0x06: *last = *(const uintptr_t *)*last; continue;
        case 0x08: stack[top++] = *at++; continue;
        case 0x09: stack[top++] = (uintptr_t)(intptr_t)(int8_t)*at++; continue;
        case 0x0a: stack[top++] = __lg_read_pointer(&at, 0x02, 0); continue;
        case 0x0b: stack[top++] = __lg_read_pointer(&at, 0x0a, 0); continue;
        case 0x0c: stack[top++] = __lg_read_pointer(&at, 0x03, 0); continue;
        case 0x0d: stack[top++] = __lg_read_pointer(&at, 0x0b, 0); continue;
        case 0x0e:
        case 0x0f: stack[top++] = __lg_read_pointer(&at, 0x04, 0); continue;
        case 0x10: stack[top++] = __lg_read_uleb(&at); continue;
        case 0x11: stack[top++] = (uintptr_t)__lg_read_sleb(&at); continue;
        case 0x12: stack[top] = *last, top++; continue;
        case 0x13: top--; continue;
        case 0x15:
            a = *at++;
            if (a >= (uintptr_t)top) return 0;
            stack[top] = stack[top - 1 - (int)a], top++;
            continue;
        case 0x19: *last = (intptr_t)*last < 0 ? -*last : *last; continue;
        case 0x1f: *last = -*last; continue;
        case 0x20: *last = ~*last; continue;
        case 0x23: *last += __lg_read_uleb(&at); continue;
        case 0x28:
            b = stack[--top];
            a = __lg_read_pointer(&at, 0x0a, 0);
            if (b != 0) at += (intptr_t)a;
            if (at < start) return 0;
            continue;
        case 0x2f:
            a = __lg_read_pointer(&at, 0x0a, 0);
            at += (intptr_t)a;
            if (at < start) return 0;
            continue;
        case 0x30 ... 0x4f: stack[top++] = operation - 0x30u; continue;
        case 0x50 ... 0x5f: stack[top++] = context->registers[operation - 0x50]; continue;
        case 0x70 ... 0x7f: stack[top++] = context->registers[operation - 0x70] + (uintptr_t)__lg_read_sleb(&at); continue;
        case 0x90:
        case 0x92:
            a = __lg_read_uleb(&at);
            if (a >= LG_GENERAL) return 0;
            stack[top++] = context->registers[a] + (operation == 0x92 ? (uintptr_t)__lg_read_sleb(&at) : 0);
            continue;
        case 0x94: {
            uintptr_t value = 0;
            a = *at++;
            if (a > sizeof value) return 0;
            memcpy(&value, (const void *)*last, a);
            *last = value;
            continue;
        }
        case 0x96: continue;
        default: break;
        }
        /* What takes two. */
        if (top < 2) return 0;
        b = *last, a = stack[top - 2];
        if (operation == 0x14) {
            stack[top++] = a;
            continue;
        }
        if (operation == 0x16) {
            *last = a, stack[top - 2] = b;
            continue;
        }
        if (operation == 0x17) {
            if (top < 3) return 0;
            *last = a, stack[top - 2] = stack[top - 3], stack[top - 3] = b;
            continue;
        }
        uintptr_t value;
        switch (operation) {
        case 0x1a: value = a & b; break;
        case 0x1b:
            if (b == 0) return 0;
            value = b == -(uintptr_t)1 ? -a : (uintptr_t)((intptr_t)a / (intptr_t)b);
            break;
        case 0x1c: value = a - b; break;
        case 0x1d:
            if (b == 0) return 0;
            value = a % b;
            break;
        case 0x1e: value = a * b; break;
        case 0x21: value = a | b; break;
        case 0x22: value = a + b; break;
        case 0x24: value = b < 64 ? a << b : 0; break;
        case 0x25: value = b < 64 ? a >> b : 0; break;
        case 0x26: value = (uintptr_t)((intptr_t)a >> (b < 64 ? b : 63)); break;
        case 0x27: value = a ^ b; break;
        case 0x29: value = (intptr_t)a == (intptr_t)b; break;
        case 0x2a: value = (intptr_t)a >= (intptr_t)b; break;
        case 0x2b: value = (intptr_t)a > (intptr_t)b; break;
        case 0x2c: value = (intptr_t)a <= (intptr_t)b; break;
        case 0x2d: value = (intptr_t)a < (intptr_t)b; break;
        case 0x2e: value = (intptr_t)a != (intptr_t)b; break;
        default: return 0;
        }
        stack[--top - 1] = value;
    }
    if (top < 1) return 0;
    *result = stack[top - 1];
    return 1;
}

int __lg_next_frame(struct _Unwind_Context *context) {
    const struct lg_row *caller = row(context->rows, context->number + 1);
    if (!caller) return 0;
    const struct lg_description *description = context->description;
    uintptr_t registers[LG_GENERAL], value;
    for (unsigned rest = description->ruled; rest; rest &= rest - 1) {
        int number = __builtin_ctz(rest);
        const struct lg_rule *rule = &description->rules[number];
        switch (rule->kind) {
        case LG_OFFSET: registers[number] = *(const uintptr_t *)(context->cfa + (uintptr_t)rule->offset); break;
        case LG_VALUE_OFFSET: registers[number] = context->cfa + (uintptr_t)rule->offset; break;
        case LG_REGISTER:
            if ((uintptr_t)rule->offset >= LG_GENERAL) return 0;
            registers[number] = context->registers[rule->offset];
            break;
        default:
            if (!evaluate(rule->expression, context, &value)) return 0;
            registers[number] = rule->kind == LG_EXPRESSION ? *(const uintptr_t *)value : value;
            break;
        }
    }
    for (unsigned rest = description->ruled; rest; rest &= rest - 1) {
        int number = __builtin_ctz(rest);
        context->registers[number] = registers[number];
    }
    context->registers[LG_RSP] = context->cfa + LG_OFF;
    context->rsp = context->cfa;
    context->site = caller->site;
    context->cfa = caller->cfa;
    context->number++;
    return 1;
}
