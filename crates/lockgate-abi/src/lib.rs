//! The contract of the code model: every constant that the rewriter, the verifier and the runtime must
//! agree on, in one place. No logic lives here. `docs/code-model.md` explains how the pieces fit;
//! the `const` assertions at the end hold the relations that the safety argument needs.
#![forbid(unsafe_code)]
#![no_std]

/// Version of the contract. A module carries it in its [`note::ABI`] note; loaders refuse any other.
pub const ABI_VERSION: u32 = 4;

/// Page size of x86-64, bytes.
pub const PAGE: u64 = 4096;

/// Last argument of the system call `futex` by which a module's libc waits for one of its own locks, without a timeout: the thread that holds it
/// is inside, and gives it back before its call returns. (The kernel looks at this argument of no plain wait.)
pub const FUTEX_LOCK: u64 = 0x6c6f_636b;

/// The same for what is no lock, and what another thread that is inside does all the same: it ends, or starts the waiting one.
pub const FUTEX_PEERS: u64 = 0x7065_6572;

/// Constants of the instruction-level rules (rules V1–V5).
pub mod code {
    /// `A`: largest single memory access of an allow-listed instruction, bytes.
    pub const MAX_ACCESS: u32 = 64;
    /// `D`: how far rsp may be below the nearest word that is known to be mapped without a probe; also the half-width of legal
    /// displacements of rsp-based operands around `-OFF`, bytes.
    pub const MAX_MOVE: u32 = 0x1_0000;
    /// `T`: largest |d| of a probe at `d-OFF(%rsp)`, bytes.
    pub const MAX_PROBE: u32 = MAX_MOVE;
    /// `OFF`: address on the control stack minus its image on the data stack, bytes. Not a power of two: processors that look
    /// for data by a hash of its address would take one stack for the other. Less than 2^30: processors need longer for operands
    /// that are further away from rsp (`docs/decisions/0055-the-distance-of-the-stacks.md`).
    pub const OFF: u32 = 0x3F00_0000;
    /// The entry label: `endbr64`. In memory order.
    pub const LABEL: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    /// `ud2`, which no state of rsp is asked for at.
    pub const UD2: [u8; 2] = [0x0f, 0x0b];
    /// The label as the little-endian word that unit U1 loads.
    pub const LABEL_WORD: u32 = u32::from_le_bytes(LABEL);
    /// Immediate of U1's `add`: adding it to the label word gives zero, and its bytes hold no label.
    pub const LABEL_NEGATED: u32 = LABEL_WORD.wrapping_neg();
    /// Largest distance from E down to what a frame word holds, bytes. A process that was forked past libc while it ran a domain's code finds
    /// zeros where its parent's control stacks were, and goes on: a frame that is closed leads to 0 then, and the function's return word to a
    /// place on page 0, where nothing is mapped (docs/returns.md).
    pub const MAX_BASE: u32 = (super::PAGE - 8) as u32;
    /// Immediate of the `and` of U2, which opens a computed frame: keeps the offset inside the slot, 8-aligned.
    pub const SLOT_MASK: u32 = (super::stack::SLOT - 8) as u32;
}

/// The 8 GiB stride of one domain and the 4 GiB window at its start. Offsets from the window base `W`.
pub mod window {
    /// Distance between the bases of two domains' windows, bytes; windows are aligned to it.
    pub const STRIDE: u64 = 8 << 30;
    /// Size of the memory that a module can address, bytes.
    pub const SIZE: u64 = 4 << 30;
    /// `[0, NULL_GUARD)` is never mapped: null pointers fault.
    pub const NULL_GUARD: u64 = HEADER;
    /// The header page, read-only to the module ([`super::header`]).
    pub const HEADER: u64 = 0x1_0000;
    /// First byte of the gate table, read-only to the module.
    pub const GATE_TABLE: u64 = 0x1_1000;
    /// One past the last byte of the gate table.
    pub const GATE_TABLE_END: u64 = 0x1_2000;
    /// The runtime's own thunks (gate thunks, then labelled callback thunks), executable.
    pub const THUNKS: u64 = 0x1_2000;
    /// The module's image: its virtual address 0 is mapped here. Thunks and image text are contiguous so
    /// that one kernel mapping holds both.
    pub const IMAGE: u64 = 0x2_0000;
    /// Images end below this offset; brk heap and mmap area follow the image. In the window of a base
    /// ([`super::note::FLAG_BASE`]) they begin here, and modules that join have their images below.
    pub const IMAGE_MAX: u64 = 0x4000_0000;
    /// Never mapped between two images of a window, bytes: no label's bytes lie partly in one and partly in the other.
    pub const IMAGE_GAP: u64 = super::PAGE;
    /// Most modules that may join one domain.
    pub const JOINED: usize = 64;
    /// Shared region (grants), mapped at the same offset in every window that shares it.
    pub const SHARED: u64 = 0x8000_0000;
    /// One past the shared region; heap and mmap area of a domain end at [`SHARED`].
    pub const SHARED_END: u64 = 0xC000_0000;
    /// First data-stack slot; a slot's size before it is never mapped.
    pub const STACKS: u64 = 0xC100_0000;
    /// First control-stack slot, `STACKS + OFF`: where the window ends.
    pub const CONTROL: u64 = STACKS + super::code::OFF as u64;
    /// One past the control area; the rest of the stride belongs to the runtime.
    pub const CONTROL_END: u64 = CONTROL + super::stack::SLOTS * super::stack::SLOT;
}

/// One thread's stack slot. The control slot and its data image have the same layout.
pub mod stack {
    /// Size and alignment of a slot, bytes. A power of two.
    pub const SLOT: u64 = 16 << 20;
    /// Number of slots (threads) of a domain.
    pub const SLOTS: u64 = 63;
    /// `G`: bytes at each end of a slot that are never accessible, in the control area and in its image.
    pub const GUARD: u64 = 256 << 10;
    /// Offset in the slot of one past its highest usable byte.
    pub const TOP: u64 = SLOT - GUARD;
    /// Most bytes below rsp that code between two units may have live data in on the data stack: the rewriter moves rsp once for a run of
    /// code, has places of its own below the red zone, and asserts it. A handler of a signal begins below.
    pub const LIVE_BELOW: u64 = 0x8400;
    /// Largest usable size of one stack, bytes.
    pub const MAX_SIZE: u64 = TOP - GUARD;
    /// Offset in the *data* slot of the thread header: 64 bytes that the module may read and write.
    pub const THREAD_HEADER: u64 = TOP - 64;
    /// Offset in the data slot of the thread pointer (what `%fs:0` holds natively), 8 bytes.
    pub const THREAD_POINTER: u64 = THREAD_HEADER;
    /// Displacement, from the control slot's base truncated to 32 bits, of the thread pointer's word.
    pub const THREAD_POINTER_DISP: i32 = (THREAD_POINTER as i64 - super::code::OFF as i64) as i32;
    /// Offset in the control slot of the exit return address of an outermost call: the last 8 bytes below the
    /// thread header's mirror, so that everything above it on the control stack stays zero.
    pub const EXIT_RETURN: u64 = THREAD_HEADER - 8;
}

/// Fields of the header page: byte offsets from the window base.
pub mod header {
    use super::window::HEADER;
    /// `u32` [`MAGIC_VALUE`], then `u32` ABI version.
    pub const MAGIC: u64 = HEADER;
    /// `u64` `W`, the window base. Units U1 and U3 add it.
    pub const W: u64 = HEADER + 0x08;
    /// `u32` upper half of `W`; checks of strict bounds compare with it (it is `W + 4` of the little-endian word).
    pub const W_HIGH: u64 = W + 4;
    /// `u64` offset in the window of one past the module's image.
    pub const IMAGE_END: u64 = HEADER + 0x10;
    /// `u64` memory quota of the domain, bytes.
    pub const MEMORY_LIMIT: u64 = HEADER + 0x18;
    /// "LGW1".
    pub const MAGIC_VALUE: u32 = u32::from_le_bytes(*b"LGW1");
}

/// Gates: the only way out of a window is `call *%gs:GATE_TABLE+8*i`.
pub mod gate {
    /// Number of slots of the table.
    pub const SLOTS: u64 = (super::window::GATE_TABLE_END - super::window::GATE_TABLE) / 8;
    /// Slot of system calls: Linux register convention (rax number, rdi rsi rdx r10 r8 r9; every
    /// register but rax, rcx and r11 is preserved).
    pub const SYSCALL: u64 = 0;
    /// Slot of `resume` (docs/returns.md), which `longjmp` and unwinding go through: control goes on at a label of the caller's
    /// domain with rsp = E of a function that is still to return. At the gate call: r10 holds the label's offset in the window
    /// (its low 32 bits), r11 an address in the caller's slot, control or data (its low 32 bits): E is the lowest one of a live
    /// function at or above it. At the label r11 is that address on the data stack, r10 is of no meaning, and all other registers,
    /// MXCSR and x87 are what they were. Where there is no such E, or no label, the call into the domain ends with a fault.
    pub const RESUME: u64 = 1;
    /// Slot of system calls of code that keeps no vectors, no x87 and no flags of theirs over them, as over the call of a function:
    /// as [`SYSCALL`], but those registers are lost. Their control words are kept.
    pub const SYSCALL_AS_CALL: u64 = 2;
    /// First slot of the module's imports: System V calling convention.
    pub const FIRST_IMPORT: u64 = 16;
    /// Bytes of one thunk.
    pub const THUNK_SIZE: u64 = 16;
    /// Offset from `THUNKS` of the first labelled callback thunk (callable through function pointers).
    pub const CALLBACK_THUNKS: u64 = SLOTS * THUNK_SIZE;
    /// Number of labelled callback thunks.
    pub const CALLBACKS: u64 = 1024;
    /// Bytes from the control rsp at a gate thunk to the caller's return address: an import is called
    /// through a thunk in the module (`f: endbr64; call *%gs:slot; ret`), a callback thunk directly.
    pub const IMPORT_DEPTH: u64 = 8;
}

/// Contexts (`<ucontext.h>`, docs/returns.md): further stacks of a domain, on which its code runs in turn. They are asked for through
/// [`gate::SYSCALL`] by a number that Linux does not have. It keeps the registers that a function keeps, and no others: it is no system call
/// for `syscall`.
pub mod context {
    /// The number, in rax. rdi says what is wanted: one of the following.
    pub const CALL: u64 = 0x4c67_0001;
    /// Which context runs: its word for [`SWITCH`], which is good as long as the context lives; 0 for the call's own frames.
    pub const SELF: u64 = 0;
    /// A new context. rsi: the label that it begins at, with rsp = E; rdx and rcx: start and size of the stack that the program has for it,
    /// which says how large the new one is. Returns a word, good for the first switch to it; `-EINVAL` (no label), `-ENOMEM`.
    pub const CREATE: u64 = 1;
    /// Leaves the context that runs, which waits, and goes on in that of the word in rsi: behind its own last call of this, or at its
    /// label. Registers that a function keeps have the values that they had here. There, rax is the word of the context that was left: good until it
    /// has gone on. A word that says nothing (any more) ends the call into the domain. One of the context that runs changes nothing.
    pub const SWITCH: u64 = 2;
    /// The same, but the context that is left is gone, if it is not the call's own frames.
    pub const LEAVE: u64 = 3;
    /// Ends the call: the context's function has returned, and no context is named to go on with.
    pub const END: u64 = 4;
    /// Bits of a word that say which slot of the stacks it is: 0 for the call's own frames, on whatever slot. Above is a number.
    pub const SLOT_BITS: u32 = 8;
    /// Least usable size of a context's stack, bytes.
    pub const MIN_SIZE: u64 = 64 << 10;
}

/// ELF notes of a module. Owner name [`NAME`](note::NAME), descriptors as below, all in a read-only segment
/// and covered by a PT_NOTE program header.
pub mod note {
    /// Owner of the notes, without the terminating zero.
    pub const NAME: &str = "Lockgate";
    /// Section that holds the notes in objects and modules.
    pub const SECTION: &str = ".note.lockgate";
    /// `u32` ABI version, `u32` flags ([`FLAG_STRICT_BOUNDS`], [`FLAG_BASE`]).
    pub const ABI: u32 = 1;
    /// UTF-8 lines, one export each: a C prototype (`double cbrt(double)`) or a bare name if its
    /// signature is not known.
    pub const EXPORTS: u32 = 2;
    /// UTF-8 lines, one import each: decimal gate slot, space, C prototype or bare name.
    pub const IMPORTS: u32 = 3;
    /// UTF-8 lines, one input each: BLAKE3 hash in hexadecimal, two spaces, file name.
    pub const SOURCES: u32 = 4;
    /// Only in a module that joins a domain (docs/dlopen.md, "Several modules, one heap"). UTF-8 lines in the form of
    /// [`SOURCES`], one module file each whose symbols this one uses: first that of the domain, the base, then
    /// others that joined before.
    pub const JOIN: u32 = 5;
    /// Only in a module that joins: UTF-8 lines, one symbol each that relocations name and others define: [`FROM_MODULE`] or
    /// [`FROM_HOST`], space, C prototype or bare name.
    pub const WORDS: u32 = 6;
    /// Where rsp is at the start of each region of code that is not entered with rsp = E (rule V3): at most one note, binary.
    /// A region starts behind a unit that control does not go on from: `jmp`, `ret`, `ud2`, the jumps of U1 and U4. Per entry, in strictly
    /// ascending order of their addresses in the image: ULEB128 of the distance from the entry before (the first one: from 0);
    /// then ULEB128 of 2*(o/8) for S(o), or of 2*(b/8)+1 and ULEB128 of d/8 for C(b, d). What lies behind the last entry is zero or nothing
    /// (linkers fill up notes), so no entry but the first has the distance 0.
    pub const STATES: u32 = 7;
    /// The symbol is an export of a module of the [`JOIN`] note: the first one that has it.
    pub const FROM_MODULE: &str = "module";
    /// The symbol is a function of the host.
    pub const FROM_HOST: &str = "host";
    /// The module was built with `--strict-bounds`.
    pub const FLAG_STRICT_BOUNDS: u32 = 1;
    /// Other modules may join the module's domains: all of libc is in it, and exported.
    pub const FLAG_BASE: u32 = 2;
}

/// Symbols that the sysroot defines and the runtime or the rewriter refers to.
pub mod symbol {
    /// `void _lg_init(long *stack)`: initialises libc and runs constructors. `stack` is what the kernel
    /// gives a new process at its initial rsp: argc, argv, 0, envp, 0, auxv.
    pub const INIT: &str = "_lg_init";
    /// `void _lg_fini(void)`: the reverse of `_lg_init`: what was registered with `atexit`, destructors, open files. Once, before the
    /// domain goes.
    pub const FINI: &str = "_lg_fini";
    /// `int _lg_main(long *stack)`: `_lg_init`, then `exit(main(argc, argv, envp))`. Whole programs only.
    pub const MAIN: &str = "_lg_main";
    /// `int _lg_thread_init(void)`: gives the calling host thread its thread-local storage in this
    /// domain; runs once per thread, after `_lg_init`, on the thread's own stack slot. 0 or -errno.
    pub const THREAD_INIT: &str = "_lg_thread_init";
    /// `void _lg_thread_exit(void)`: frees what `_lg_thread_init` made.
    pub const THREAD_EXIT: &str = "_lg_thread_exit";
    /// `void _lg_thread_renew(long cleans_up)`: the first thread ends, whose storage `_lg_init` made and the next thread gets: it is as a new
    /// thread's from then on. Before that, if `cleans_up` is not 0, what `_lg_thread_exit` does for the thread's own data.
    pub const THREAD_RENEW: &str = "_lg_thread_renew";
    /// `int _lg_thread_mend(void)`: forgets exceptions and panics that were in progress on the thread when a call of its was ended, in no other
    /// call of which it is any more. 0: the module has nothing that could be in progress, and need not be asked again.
    pub const THREAD_MEND: &str = "_lg_thread_mend";
    /// `void _lg_thread_start(void *start)`: runs a thread that the module made, on the thread's own stack slot. `start` is what
    /// the module gave with the system call `clone`; null on a thread that a function of the host's has ended, which cleans up as one
    /// that was cancelled. Ends with the system call `exit`.
    pub const THREAD_START: &str = "_lg_thread_start";
    /// `void *_lg_alloc(size_t)`: the module's malloc, for the host.
    pub const ALLOC: &str = "_lg_alloc";
    /// `void _lg_free(void *)`: the module's free, for the host.
    pub const FREE: &str = "_lg_free";
}

// What the safety argument relies on (rules.md §0, docs/code-model.md).
const _: () = {
    use {code::*, stack::*, window::*};
    assert!(MAX_PROBE <= MAX_MOVE);
    assert!(SLOT.is_power_of_two() && SLOT > 2 * GUARD);
    assert!(GUARD >= 2 * MAX_PROBE as u64 + MAX_MOVE as u64 + PAGE + MAX_ACCESS as u64);
    assert!((OFF as u64).is_multiple_of(SLOT));
    assert!(OFF.trailing_zeros() < 28, "the stacks do not put each other out of the cache (decision 0055)");
    assert!(
        OFF + MAX_MOVE + MAX_PROBE <= 1 << 30,
        "operands are near rsp for every processor (decision 0055)"
    );
    assert!(STACKS + SLOTS * SLOT == SIZE, "data stacks end with the window");
    assert!(
        CONTROL >= SIZE && CONTROL_END <= STRIDE,
        "control stacks lie outside the window, inside the stride"
    );
    assert!(
        GUARD >= MAX_ACCESS as u64,
        "an access at the window's last byte ends before the first control stack"
    );
    assert!(THUNKS + gate::CALLBACK_THUNKS + gate::CALLBACKS * gate::THUNK_SIZE <= IMAGE);
    assert!(gate::SLOTS == 512 && GATE_TABLE.is_multiple_of(PAGE) && GATE_TABLE_END == THUNKS);
    assert!(IMAGE_MAX < SHARED && SHARED_END <= STACKS);
    assert!(IMAGE_GAP >= PAGE && IMAGE_GAP.is_multiple_of(PAGE));
    assert!(!EXIT_RETURN.is_multiple_of(16) && EXIT_RETURN.is_multiple_of(8));
};
