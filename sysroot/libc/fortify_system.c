/* Checked functions of <unistd.h>, <poll.h>, <sys/socket.h>, <stdlib.h> (fortify.h). */
#include "fortify.h"
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wchar.h>

ssize_t __read_chk(int file, void *to, size_t size, size_t room) {
    lg_fits(size, room);
    return read(file, to, size);
}

ssize_t __pread_chk(int file, void *to, size_t size, off_t at, size_t room) {
    lg_fits(size, room);
    return pread(file, to, size, at);
}

ssize_t __pread64_chk(int file, void *to, size_t size, off_t at, size_t room) {
    return __pread_chk(file, to, size, at, room);
}

ssize_t __recv_chk(int file, void *to, size_t size, size_t room, int flags) {
    lg_fits(size, room);
    return recv(file, to, size, flags);
}

ssize_t __recvfrom_chk(int file, void *to, size_t size, size_t room, int flags, struct sockaddr *from, socklen_t *length) {
    lg_fits(size, room);
    return recvfrom(file, to, size, flags, from, length);
}

ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room) {
    lg_fits(size, room);
    return readlink(path, to, size);
}

ssize_t __readlinkat_chk(int folder, const char *path, char *to, size_t size, size_t room) {
    lg_fits(size, room);
    return readlinkat(folder, path, to, size);
}

char *__getcwd_chk(char *to, size_t size, size_t room) {
    lg_fits(size, room);
    return getcwd(to, size);
}

char *__realpath_chk(const char *path, char *to, size_t room) {
    lg_fits(PATH_MAX, room);
    return realpath(path, to);
}

int __gethostname_chk(char *to, size_t size, size_t room) {
    lg_fits(size, room);
    return gethostname(to, size);
}

size_t __confstr_chk(int name, char *to, size_t size, size_t room) {
    lg_fits(size, room);
    return confstr(name, to, size);
}

int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t room) {
    lg_elements_fit(count, sizeof *files, room);
    return poll(files, count, timeout);
}

int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room) {
    lg_elements_fit(count, sizeof *files, room);
    return ppoll(files, count, timeout, mask);
}

long __fdelt_chk(long file) {
    if (file < 0 || file >= FD_SETSIZE) __chk_fail();
    return file / (8 * (long)sizeof(long));
}

/* Room of wide characters is counted in characters. */
size_t __mbstowcs_chk(wchar_t *to, const char *from, size_t count, size_t room) {
    lg_fits(count, room);
    return mbstowcs(to, from, count);
}

size_t __mbsrtowcs_chk(wchar_t *to, const char **from, size_t count, mbstate_t *state, size_t room) {
    lg_fits(count, room);
    return mbsrtowcs(to, from, count, state);
}

size_t __mbsnrtowcs_chk(wchar_t *to, const char **from, size_t size, size_t count, mbstate_t *state, size_t room) {
    lg_fits(count, room);
    return mbsnrtowcs(to, from, size, count, state);
}

size_t __wcstombs_chk(char *to, const wchar_t *from, size_t size, size_t room) {
    lg_fits(size, room);
    return wcstombs(to, from, size);
}

size_t __wcsrtombs_chk(char *to, const wchar_t **from, size_t size, mbstate_t *state, size_t room) {
    lg_fits(size, room);
    return wcsrtombs(to, from, size, state);
}

size_t __wcsnrtombs_chk(char *to, const wchar_t **from, size_t count, size_t size, mbstate_t *state, size_t room) {
    lg_fits(size, room);
    return wcsnrtombs(to, from, count, size, state);
}

size_t __wcrtomb_chk(char *to, wchar_t c, mbstate_t *state, size_t room) {
    lg_fits(MB_CUR_MAX, room);
    return wcrtomb(to, c, state);
}

_Noreturn void __longjmp_chk(jmp_buf buffer, int value) { longjmp(buffer, value); }
