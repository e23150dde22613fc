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

LG_CHECKED(ssize_t, read, (int file, void *to, size_t size, size_t room), size, read(file, to, size))
LG_CHECKED(ssize_t, pread, (int file, void *to, size_t size, off_t at, size_t room), size, pread(file, to, size, at))

ssize_t __pread64_chk(int file, void *to, size_t size, off_t at, size_t room) {
    return __pread_chk(file, to, size, at, room);
}

LG_CHECKED(ssize_t, recv, (int file, void *to, size_t size, size_t room, int flags), size, recv(file, to, size, flags))
LG_CHECKED(ssize_t, recvfrom, (int file, void *to, size_t size, size_t room, int flags, struct sockaddr *from, socklen_t *length), size,
           recvfrom(file, to, size, flags, from, length))
LG_CHECKED(ssize_t, readlink, (const char *path, char *to, size_t size, size_t room), size, readlink(path, to, size))
LG_CHECKED(ssize_t, readlinkat, (int folder, const char *path, char *to, size_t size, size_t room), size,
           readlinkat(folder, path, to, size))
LG_CHECKED(char *, getcwd, (char *to, size_t size, size_t room), size, getcwd(to, size))
LG_CHECKED(char *, realpath, (const char *path, char *to, size_t room), PATH_MAX, realpath(path, to))
LG_CHECKED(int, gethostname, (char *to, size_t size, size_t room), size, gethostname(to, size))
LG_CHECKED(size_t, confstr, (int name, char *to, size_t size, size_t room), size, confstr(name, to, size))

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
LG_CHECKED(size_t, mbstowcs, (wchar_t *to, const char *from, size_t count, size_t room), count, mbstowcs(to, from, count))
LG_CHECKED(size_t, mbsrtowcs, (wchar_t *to, const char **from, size_t count, mbstate_t *state, size_t room), count,
           mbsrtowcs(to, from, count, state))
LG_CHECKED(size_t, mbsnrtowcs, (wchar_t *to, const char **from, size_t size, size_t count, mbstate_t *state, size_t room), count,
           mbsnrtowcs(to, from, size, count, state))
LG_CHECKED(size_t, wcstombs, (char *to, const wchar_t *from, size_t size, size_t room), size, wcstombs(to, from, size))
LG_CHECKED(size_t, wcsrtombs, (char *to, const wchar_t **from, size_t size, mbstate_t *state, size_t room), size,
           wcsrtombs(to, from, size, state))
LG_CHECKED(size_t, wcsnrtombs, (char *to, const wchar_t **from, size_t count, size_t size, mbstate_t *state, size_t room), size,
           wcsnrtombs(to, from, count, size, state))
LG_CHECKED(size_t, wcrtomb, (char *to, wchar_t c, mbstate_t *state, size_t room), MB_CUR_MAX, wcrtomb(to, c, state))

_Noreturn void __longjmp_chk(jmp_buf buffer, int value) { longjmp(buffer, value); }
