#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static _Thread_local long own = 3;
long plant(void)
{
    chdir("/fixed");
    umask(0777);
    signal(SIGUSR1, SIG_IGN);
    setenv("LEFT", "behind", 1);
    own = 4;
    errno = 77;
    return open("/data/secret.txt", O_RDONLY) < 0;
}
long attack(void)
{
    char where[64] = "";
    getcwd(where, sizeof where);
    int number = open("/data/secret.txt", O_RDONLY);
    return (own != 3) | (errno == 77) << 1 | !!getenv("LEFT") << 2 | (umask(022) == 0777) << 3 | (signal(SIGUSR1, SIG_DFL) == SIG_IGN) << 4 | !strcmp(where, "/fixed") << 5 | (number != 0) << 6;
}
