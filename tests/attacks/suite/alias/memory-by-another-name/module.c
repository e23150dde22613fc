#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long attack(long secret)
{
    static const int calls[] = {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_userfaultfd,
        SYS_remap_file_pages, SYS_pkey_alloc, SYS_pkey_mprotect, SYS_mlock, SYS_mlockall, SYS_io_uring_setup, SYS_vmsplice, SYS_move_pages, SYS_mbind,
        SYS_modify_ldt, SYS_arch_prctl, SYS_personality, SYS_kexec_load, SYS_init_module, SYS_bpf, SYS_perf_event_open, SYS_rseq, SYS_seccomp, SYS_execve};
    /* A memory file of its own it may have, and write; but never as code. */
    long file = syscall(SYS_memfd_create, "other", 0L);
    if (file >= 0 && (ftruncate(file, 4096) || mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0) != MAP_FAILED))
        return 1;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        long result = syscall(calls[i], secret, 4096L, 7L, secret, 4096L, 0L);
        if (result != -1 || (errno != ENOSYS && errno != EPERM))
            return calls[i];
    }
    return 0;
}
