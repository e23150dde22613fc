/* What the runtime believes of the kernel when it changes a stride (docs/decisions/0058), asked of the kernel that runs: the same system
   calls in the same order, without Lockgate: a defect of the kernel's shows by itself. It is the guest's only process. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PAGE 4096l
#define STRIDE (8l << 30)
#define RW (PROT_READ | PROT_WRITE)
#define NEW (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static char *base;     /* of the reservation */
static const long all = 17 * STRIDE;
static int failures;

static void expect(int holds, const char *what) {
    printf("%s: %s\n", holds ? "ok" : "FAILED", what);
    failures += !holds;
}

/* Mappings of the reservation; -1 if there is a hole in it. */
static int mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start, end, covered = (unsigned long)base, last = covered + all;
    int count = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &start, &end) != 2 || end <= (unsigned long)base || start >= last)
            continue;
        if (start > covered)
            count = -1000000;
        covered = end;
        count++;
    }
    if (maps)
        fclose(maps);
    return count < 0 || covered < last ? -1 : count;
}

static int hide(char *at, long length) { return madvise(at, length, MADV_DONTDUMP); }
static int open_part(char *at, long length, int rights) { return mprotect(at, length, rights) || madvise(at, length, MADV_DODUMP); }
static int close_part(char *at, long length) {
    return mprotect(at, length, PROT_NONE) || hide(at, length) || madvise(at, length, MADV_DONTNEED);
}
static int replace(char *at, long length) {
    return mprotect(at, length, PROT_NONE) || hide(at, length) ||
           mmap(at, length, PROT_NONE, NEW | MAP_FIXED, -1, 0) == MAP_FAILED || hide(at, length);
}

/* As stride_sys.rs tells its own closed memory from another's. */
static int is_closed(char *at) {
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[512], rights[8] = "";
    unsigned long start, end;
    int inside = 0, closed = 0;
    while (smaps && fgets(line, sizeof line, smaps)) {
        char read_rights[8];
        if (sscanf(line, "%lx-%lx %7s", &start, &end, read_rights) == 3) {
            inside = (unsigned long)at >= start && (unsigned long)at < end;
            strcpy(rights, read_rights);
        } else if (inside && !strncmp(line, "VmFlags:", 8)) {
            closed = !strncmp(rights, "---", 3) && strstr(line, " dd") != 0;
        }
    }
    if (smaps)
        fclose(smaps);
    return closed;
}

static void limit_mappings(int most) {
    FILE *limit = fopen("/proc/sys/vm/max_map_count", "w");
    if (limit) {
        fprintf(limit, "%d", most);
        fclose(limit);
    }
}

static void reserve(void) {
    base = mmap(0, all, PROT_NONE, NEW, -1, 0);
    expect(base != MAP_FAILED, "17 strides can be reserved");
    expect(!munlock(base, all) && !mprotect(base, all, RW), "all of them can be writable for a moment");
    *(volatile char *)base = 0;
    expect(!madvise(base, all, MADV_DONTNEED) && !mprotect(base, all, PROT_NONE) && !hide(base, all), "and closed");
    expect(mappings() == 1, "they are one mapping");
}

static void pieces(void) {
    char *at = base + STRIDE + (1 << 20);
    int failed = 0;
    for (long i = 0; i < 1000; i++) {
        failed |= open_part(at + 2 * i * PAGE, PAGE, RW);
        at[2 * i * PAGE] = 1;
    }
    expect(!failed && mappings() == 2001, "each page that is opened is a mapping");
    for (long i = 0; i < 1000; i++)
        failed |= open_part(at + (2 * i + 1) * PAGE, PAGE, RW);
    expect(!failed && mappings() == 3, "pages that were written before they met are one mapping");
    failed = close_part(at, 2000 * PAGE);
    expect(!failed && mappings() == 1, "closed, they are one mapping with the rest");
    failed = open_part(at, PAGE, RW);
    expect(!failed && at[0] == 0, "what was closed is empty");
    close_part(at, PAGE);
}

static void files(void) {
    char *at = base + STRIDE + (64 << 20);
    long length = 64 * PAGE;
    int file = memfd_create("file", 0);
    expect(!ftruncate(file, length), "a memory file");
    char *staged = mmap(0, length, RW, MAP_SHARED | MAP_NORESERVE, file, 0);
    expect(mremap(staged, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at, "a file that is mapped elsewhere moves into place");
    at[0] = 7;
    expect(mappings() == 3 && !is_closed(at), "it is a mapping of its own");
    expect(!replace(at, length) && mappings() == 1 && is_closed(at), "when it goes its place is one mapping with the rest");
    /* Between open neighbours. */
    open_part(at - PAGE, PAGE, RW);
    open_part(at + length, PAGE, RW);
    at[-1] = at[length] = 1;
    staged = mmap(0, length, RW, MAP_SHARED | MAP_NORESERVE, file, 0);
    mremap(staged, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    int failed = replace(at, length) || open_part(at, length, RW);
    at[0] = 0;
    failed |= close_part(at, length);
    for (long i = 0; i < 64; i += 2) {
        failed |= open_part(at + i * PAGE, PAGE, RW);
        at[i * PAGE] = 1;
    }
    for (long i = 1; i < 64; i += 2)
        failed |= open_part(at + i * PAGE, PAGE, RW);
    expect(!failed && mappings() == 3, "so are pages where it was between others");
    close_part(at - PAGE, length + 2 * PAGE);
    expect(mappings() == 1, "and closed again");
    close(file);
}

static void holes(void) {
    char *at = base + STRIDE + (128 << 20);
    int fixed = NEW | MAP_FIXED_NOREPLACE;
    expect(mmap(at, 16 * PAGE, PROT_NONE, fixed, -1, 0) == MAP_FAILED && errno == EEXIST, "a place that is taken is told by EEXIST");
    munmap(at, 16 * PAGE);
    expect(mappings() == -1, "a hole is seen");
    expect(mmap(at, 16 * PAGE, PROT_NONE, fixed, -1, 0) == at && !is_closed(at), "a hole can be filled; another's mapping would look like that");
    expect(!hide(at, 16 * PAGE) && is_closed(at) && mappings() == 1, "filled and marked it is ours");
}

static void refusals(void) {
    char *at = base + 2 * STRIDE;
    int failed = 0;
    long opened = 0;
    limit_mappings(mappings() + 100);
    while (opened < 200 && !(failed = open_part(at + 2 * opened * PAGE, PAGE, RW)))
        opened++;
    expect(failed && errno == ENOMEM && opened > 10, "at the limit of mappings nothing is opened");
    expect(!close_part(at + 2 * opened * PAGE, PAGE) && mappings() > 0, "what could not be opened can be closed, and there is no hole");
    void *staged = mmap(0, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (staged != MAP_FAILED)
        failed = mremap(staged, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + PAGE) == MAP_FAILED;
    expect(failed && mappings() > 0 && is_closed(at + PAGE), "nor is anything moved into place, and what is there stays");
    /* What was cut before the refusal may stay cut. */
    expect(!close_part(at, 400 * PAGE) && mappings() > 0 && mappings() <= 2, "closing all of it goes on");
    limit_mappings(65530);
}

static void the_end_of_a_stride(void) {
    char *at = base + 3 * STRIDE;
    int before = mappings();
    int file = memfd_create("image", 0);
    int failed = ftruncate(file, 16 * PAGE);
    failed |= mmap(at + 16 * PAGE, 16 * PAGE, RW, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED;
    at[16 * PAGE] = 1;
    failed |= open_part(at + 64 * PAGE, PAGE, RW);
    at[64 * PAGE] = 1;
    failed |= mmap(at, STRIDE, PROT_NONE, NEW | MAP_FIXED, -1, 0) == MAP_FAILED || hide(at, STRIDE);
    expect(!failed && mappings() == before, "a stride whose domain has ended is one mapping with the others");
    for (long i = 0; i < 100; i += 2) {
        failed |= open_part(at + i * PAGE, PAGE, RW);
        at[i * PAGE] = 1;
    }
    for (long i = 1; i < 100; i += 2)
        failed |= open_part(at + i * PAGE, PAGE, RW);
    expect(!failed && mappings() == before + 2, "and its pages are, for the next one");
    close_part(at, 100 * PAGE);
}

/* Why it is done so: told, not expected. */
static void what_older_kernels_do(void) {
    char *from = base + 4 * STRIDE, *to = from + (1 << 20);
    int flags = NEW | MAP_FIXED;
    mmap(from, PAGE, RW, flags, -1, 0);
    from[0] = 1;
    mmap(from + 2 * PAGE, PAGE, RW, flags, -1, 0);
    from[2 * PAGE] = 1;
    mmap(from + PAGE, PAGE, RW, flags, -1, 0);
    void *moved = mremap(from, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
    printf("here mremap of several mappings %s%s\n", moved == MAP_FAILED ? "fails" : "is done", mappings() < 0 ? ", and leaves a hole" : "");
}

int main(void) {
    int guest = getpid() == 1;
    struct utsname kernel;
    if (guest)
        mount("proc", "/proc", "proc", 0, 0);
    setvbuf(stdout, 0, _IOLBF, 0);
    uname(&kernel);
    printf("kernel %s\n", kernel.release);
    reserve();
    pieces();
    files();
    holes();
    refusals();
    the_end_of_a_stride();
    what_older_kernels_do();
    printf("%s\n", failures ? "RESULT: failed" : "RESULT: passed");
    if (guest)
        reboot(RB_POWER_OFF);
    return failures != 0;
}
