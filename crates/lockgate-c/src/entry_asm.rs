//! How the program comes in that calls a domain by a function of the header, or asks about its calls: what a jump has left of calls that this
//! function made, or one further in, is dropped first. Where the program's frame ends can be told here only: the library's own frames lie where those
//! of the calls did that were left.

/// Names the functions that come in so, by the modules that have them.
macro_rules! entries {
    ($($module:ident: $($name:ident)+;)+) => { $($(
        /// See the function of that name that it leads to.
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "call {enters}",
                "jmp {function}",
                ".cfi_endproc",
                enters = sym lockgate_program_enters,
                function = sym crate::$module::$name,
            )
        }
    )+)+ };
}

entries! {
    async_sys: lg_async_wait lg_workers_finish lg_workers_free;
    callback_sys: lg_end_call;
    dl_memory_sys: lg_caller lg_free lg_malloc;
    dl_sys: lg_dlclose lg_dlopen lg_dlopen_with;
    domain_sys: lg_domain_close lg_domain_free lg_domain_new lg_domain_reset lg_domain_usage;
    function_sys: lg_call;
    memory_sys: lg_memory_alloc lg_memory_alloc_copy lg_memory_free;
    pool_sys: lg_pool_take;
    program_sys: lg_run;
    registry_sys: lg_registry_restart;
}

/// Called at the beginning of a function that the program has called, whose arguments stay as they are.
///
/// # Safety
/// Only [`entries`] call it.
#[unsafe(naked)]
unsafe extern "C" fn lockgate_program_enters() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        ".irp register,rdi,rsi,rdx,rcx,r8,r9",
        "push \\register",
        ".cfi_adjust_cfa_offset 8",
        ".endr",
        "lea rdi, [rsp + 64]",
        "call {drop_left}",
        ".irp register,r9,r8,rcx,rdx,rsi,rdi",
        "pop \\register",
        ".cfi_adjust_cfa_offset -8",
        ".endr",
        "ret",
        ".cfi_endproc",
        drop_left = sym drop_left,
    )
}

extern "C" fn drop_left(rsp: u64) {
    lockgate::drop_left(rsp);
}
