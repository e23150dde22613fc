// What the host grants of its files.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
int first_byte(const char *path)
{
    unsigned char byte;
    int file = open(path, O_RDONLY);
    return file < 0 ? -errno : read(file, &byte, 1) == 1 ? byte : -1;
}
int write_byte(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    return file < 0 ? -errno : (int)write(file, "x", 1);
}
