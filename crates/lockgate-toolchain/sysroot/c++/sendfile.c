/* By it std::filesystem copies files. There is no such system call for modules. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/sendfile.h>
#include <unistd.h>

#undef sendfile64

ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    char buffer[16384];
    size_t done = 0;
    while (done < count) {
        size_t wanted = count - done < sizeof buffer ? count - done : sizeof buffer;
        ssize_t there = offset ? pread(from, buffer, wanted, *offset) : read(from, buffer, wanted);
        ssize_t written = there > 0 ? write(to, buffer, there) : there;
        if (written <= 0) return done ? (ssize_t)done : written;
        /* What was read of a stream and not written is lost to it, unless it can go back. */
        if (!offset && written < there) lseek(from, written - there, SEEK_CUR);
        if (offset) *offset += written;
        done += written;
    }
    return done;
}

__attribute__((alias("sendfile"))) ssize_t sendfile64(int to, int from, off_t *offset, size_t count);
