#include "granted.h"

long attack(void)
{
    static const int calls[] = {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, 428 /* open_tree */, 429 /* move_mount */,
        430 /* fsopen */, 432 /* fsmount */, 442 /* mount_setattr */, SYS_swapon, SYS_quotactl, SYS_sethostname};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall(calls[i], "/data", "/data", "bind", 4096L, 0L) != -1)
            return calls[i];
    return 0;
}
