//! A processor to try instructions on: a window as a domain has it, and one step with any register contents.
//!
//! A step begins with `ud2` and ends with the trap of the single step (or with a fault): the handler of both signals exchanges the complete register state
//! in the signal frame. What the process itself needs (program, stacks, libraries) stays mapped, at addresses that no register of a test holds; nothing else is.

use crate::machine_asm::{bases, lockgate_evidence_door, lockgate_evidence_enter, set_gs};
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use lockgate_abi::{PAGE, window};
use std::cell::UnsafeCell;
use std::io::{Error, Result};
use std::ptr;

/// Bytes of an XSAVE area that are kept: more than the components of AVX-512 and PKRU need.
const AREA: usize = 4096;
/// Size of the legacy part of an XSAVE area and of the header behind it (SDM volume 1, 13.4).
const LEGACY: usize = 512;
const TRAP_FLAG: u64 = 0x100;
/// Interrupts enabled, and the bit that is always one.
const FLAGS: u64 = 0x202;

/// Everything that an instruction can change in registers.
#[derive(Clone)]
pub struct Registers {
    /// By number: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8–r15.
    pub general: [u64; 16],
    /// Address of the next instruction.
    pub rip: u64,
    /// Flags.
    pub flags: u64,
    /// x87, vectors, masks, MXCSR.
    pub extended: Extended,
}

/// An XSAVE area in the standard format.
#[derive(Clone)]
pub struct Extended(Box<[u8; AREA]>);

/// Where components lie in an XSAVE area: number and bytes.
#[derive(Debug, Clone, Copy)]
pub struct Component {
    number: u32,
    offset: usize,
    size: usize,
}

/// Why a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The instruction is over.
    Stepped,
    /// A page fault at this address.
    PageFault(u64),
    /// Another exception, by its vector (SDM volume 3, table 6-1).
    Exception(u64),
}

/// Vector of the debug exception, of the page fault.
const DEBUG: u64 = 1;
const PAGE_FAULT: u64 = 14;

/// What the handler and [`Machine::step`] give each other.
struct Exchange {
    inside: bool,
    wanted: Registers,
    found: Registers,
    end: End,
    /// Bases of fs and gs after the step.
    bases: (u64, u64),
    host: [i64; 23],
    host_extended: [u8; AREA],
    extended_size: usize,
}

/// Used by one thread alone, the one that made the [`Machine`]; its handler runs between two instructions of it.
struct Shared(UnsafeCell<Option<Box<Exchange>>>);
// SAFETY: see above.
unsafe impl Sync for Shared {}
static EXCHANGE: Shared = Shared(UnsafeCell::new(None));

/// A window whose pages can be mapped, and steps in it. A process has one.
pub struct Machine {
    base: u64,
}

/// Indices of `gregs` in register number order (sys/ucontext.h).
const GENERAL: [c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

impl Machine {
    /// Reserves a stride, with as much again on both sides, and points gs at it.
    ///
    /// # Errors
    /// The kernel refuses memory or handlers.
    ///
    /// # Panics
    /// There is one already.
    pub fn new() -> Result<Machine> {
        let size = window::STRIDE as usize;
        // SAFETY: fresh addresses of the kernel's choice.
        let start = unsafe { map(ptr::null_mut(), 4 * size, libc::PROT_NONE, libc::MAP_NORESERVE)? };
        let base = (start as u64 + window::STRIDE).next_multiple_of(window::STRIDE);
        // SAFETY: no step is under way.
        let exchange = unsafe { &mut *EXCHANGE.0.get() };
        assert!(exchange.is_none(), "one machine in a process");
        let registers =
            Registers { general: [0; 16], rip: 0, flags: FLAGS, extended: Extended(Box::new([0; AREA])) };
        *exchange = Some(Box::new(Exchange {
            inside: false,
            wanted: registers.clone(),
            found: registers,
            end: End::Stepped,
            bases: (0, 0),
            host: [0; 23],
            host_extended: [0; AREA],
            extended_size: 0,
        }));
        handle_signals()?;
        set_gs(base);
        let mut machine = Machine { base };
        // The first frame shows what an XSAVE area looks like here.
        machine.map(window::IMAGE, PAGE, Access::Execute)?;
        machine.write(window::IMAGE, &[0x90]);
        let mut registers = machine.registers();
        registers.rip = base + window::IMAGE;
        assert_eq!(machine.step(&mut registers), End::Stepped, "a nop is stepped over");
        Ok(machine)
    }

    /// `W`.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Registers in which nothing is set, with the vector state as the last step left it.
    #[must_use]
    pub fn registers(&self) -> Registers {
        // SAFETY: no step is under way.
        let exchange = unsafe { &*EXCHANGE.0.get() }.as_ref().expect("made by new");
        Registers { general: [0; 16], rip: 0, flags: FLAGS, ..exchange.found.clone() }
    }

    /// Maps fresh pages at an offset of the stride, or takes them away.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn map(&mut self, offset: u64, size: u64, access: Access) -> Result<()> {
        let at = self.at(offset, size);
        // SAFETY: inside the reservation, which nothing else uses.
        unsafe { map(at, size as usize, access.protection(), libc::MAP_FIXED).map(drop) }
    }

    /// Changes the rights to pages that are mapped.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn protect(&mut self, offset: u64, size: u64, access: Access) -> Result<()> {
        let at = self.at(offset, size);
        // SAFETY: inside the reservation, which nothing else uses.
        if unsafe { libc::mprotect(at, size as usize, access.protection()) } != 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Maps the same pages of memory again and again over a part of the stride.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn map_repeated(&mut self, offset: u64, size: u64, unit: u64) -> Result<()> {
        // SAFETY: creates a file; the kernel copies the name.
        let file = unsafe { libc::memfd_create(c"window".as_ptr(), 0) };
        // SAFETY: a file of our own.
        if file < 0 || unsafe { libc::ftruncate(file, unit as i64) } != 0 {
            return Err(Error::last_os_error());
        }
        for part in 0..size / unit {
            let at = self.at(offset + part * unit, unit);
            let flags = libc::MAP_FIXED | libc::MAP_SHARED;
            // SAFETY: as in `map`.
            if unsafe { libc::mmap(at, unit as usize, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) }
                == libc::MAP_FAILED
            {
                return Err(Error::last_os_error());
            }
        }
        // SAFETY: ours; the mappings keep the memory.
        unsafe { libc::close(file) };
        Ok(())
    }

    /// Writes bytes, also to code.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let at = self.at(offset, bytes.len() as u64);
        // SAFETY: the caller has mapped it writable; no reference points into the stride.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), bytes.len()) }
    }

    /// Reads bytes.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) {
        let at = self.at(offset, bytes.len() as u64);
        // SAFETY: the caller has mapped it; no reference points into the stride.
        unsafe { ptr::copy_nonoverlapping(at.cast(), bytes.as_mut_ptr(), bytes.len()) }
    }

    fn at(&self, offset: u64, size: u64) -> *mut c_void {
        assert!(offset + size <= window::STRIDE, "{offset:#x} is outside the stride");
        (self.base + offset) as *mut c_void
    }

    /// Executes the instruction at `registers.rip` and leaves what it made of the registers in them.
    ///
    /// # Panics
    /// It changed fs or gs.
    pub fn step(&mut self, registers: &mut Registers) -> End {
        let before = bases();
        // SAFETY: no step is under way; the handler alone uses the exchange until the call returns, and it puts every register back.
        unsafe {
            let exchange = (*EXCHANGE.0.get()).as_mut().expect("made by new");
            std::mem::swap(&mut exchange.wanted, registers);
            lockgate_evidence_enter();
            let exchange = (*EXCHANGE.0.get()).as_mut().expect("made by new");
            std::mem::swap(&mut exchange.wanted, registers);
            registers.clone_from(&exchange.found);
            assert_eq!(exchange.bases, before, "fs and gs after a step");
            exchange.end
        }
    }
}

/// Rights to pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// None.
    None,
    /// Reading and writing.
    Write,
    /// Reading.
    Read,
    /// Reading and executing.
    Code,
    /// Reading, writing and executing: tests write code at once.
    Execute,
}

impl Access {
    fn protection(self) -> c_int {
        match self {
            Access::None => libc::PROT_NONE,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
            Access::Read => libc::PROT_READ,
            Access::Code => libc::PROT_READ | libc::PROT_EXEC,
            Access::Execute => libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
        }
    }
}

/// # Safety
/// What lies there is replaced.
unsafe fn map(at: *mut c_void, size: usize, protection: c_int, flags: c_int) -> Result<*mut c_void> {
    // SAFETY: the caller's promise.
    let found =
        unsafe { libc::mmap(at, size, protection, flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    if found == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(found) }
}

fn handle_signals() -> Result<()> {
    const STACK: usize = 1 << 18;
    // SAFETY: fresh memory becomes the alternate stack of this thread, for good; the handler is below.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: map(ptr::null_mut(), STACK, libc::PROT_READ | libc::PROT_WRITE, 0)?,
            ss_flags: 0,
            ss_size: STACK,
        };
        if libc::sigaltstack(&stack, ptr::null_mut()) != 0 {
            return Err(Error::last_os_error());
        }
        for signal in [libc::SIGILL, libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE] {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            if libc::sigaction(signal, &action, ptr::null_mut()) != 0 {
                return Err(Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// Both ends of a step.
extern "C" fn handler(signal: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a frame whose extended state lies behind `fpregs`, as large as its header says; the exchange is this
    // thread's, and `step` waits.
    unsafe {
        let context = &mut (*context.cast::<ucontext_t>()).uc_mcontext;
        let door = &raw const lockgate_evidence_door as u64;
        let extended: *mut u8 = context.fpregs.cast();
        let registers = &mut context.gregs;
        let Some(exchange) = (*EXCHANGE.0.get())
            .as_mut()
            .filter(|exchange| exchange.inside || registers[libc::REG_RIP as usize] as u64 == door)
        else {
            // A defect of this program: the default action ends it at the same instruction.
            libc::signal(signal, libc::SIG_DFL);
            return;
        };
        if !exchange.inside {
            exchange.extended_size =
                (extended.add(EXTENDED_SIZE).cast::<u32>().read() as usize).clamp(LEGACY, AREA);
            exchange.host = *registers;
            ptr::copy_nonoverlapping(extended, exchange.host_extended.as_mut_ptr(), exchange.extended_size);
            for (index, value) in GENERAL.into_iter().zip(exchange.wanted.general) {
                registers[index as usize] = value as i64;
            }
            registers[libc::REG_RIP as usize] = exchange.wanted.rip as i64;
            registers[libc::REG_EFL as usize] = (exchange.wanted.flags | TRAP_FLAG) as i64;
            let wanted = &exchange.wanted.extended.0;
            // Before the first step there is none.
            if wanted[EXTENDED_SIZE..EXTENDED_SIZE + 4] != [0; 4] {
                ptr::copy_nonoverlapping(wanted.as_ptr(), extended, exchange.extended_size);
            }
            exchange.inside = true;
            return;
        }
        let found = &mut exchange.found;
        found.general = GENERAL.map(|index| registers[index as usize] as u64);
        found.rip = registers[libc::REG_RIP as usize] as u64;
        found.flags = registers[libc::REG_EFL as usize] as u64 & !TRAP_FLAG;
        ptr::copy_nonoverlapping(extended, found.extended.0.as_mut_ptr(), exchange.extended_size);
        exchange.end = match registers[libc::REG_TRAPNO as usize] as u64 {
            DEBUG => End::Stepped,
            PAGE_FAULT => End::PageFault(registers[libc::REG_CR2 as usize] as u64),
            other => End::Exception(other),
        };
        exchange.bases = bases();
        // cs, ss and the signal mask stay as the kernel has them.
        for index in GENERAL.into_iter().chain([libc::REG_EFL]) {
            registers[index as usize] = exchange.host[index as usize];
        }
        const UD2: i64 = 2;
        registers[libc::REG_RIP as usize] = door as i64 + UD2;
        ptr::copy_nonoverlapping(exchange.host_extended.as_ptr(), extended, exchange.extended_size);
        exchange.inside = false;
    }
}

/// Offset, in an XSAVE area of a signal frame, of the size of the whole area (`struct _fpx_sw_bytes`: `xstate_size` is at 464 + 16).
const EXTENDED_SIZE: usize = 480;

/// Offsets in the legacy part.
const MXCSR: usize = 24;
const MXCSR_END: usize = 32;
const XMM: usize = 160;
const XMM_END: usize = 416;
/// Offset of XSTATE_BV.
const PRESENT: usize = LEGACY;

impl Component {
    /// Upper halves of ymm0–15.
    #[must_use]
    pub fn ymm() -> Component {
        Component::of(2)
    }

    /// k0–k7.
    #[must_use]
    pub fn masks() -> Component {
        Component::of(5)
    }

    /// Upper halves of zmm0–15.
    #[must_use]
    pub fn zmm() -> Component {
        Component::of(6)
    }

    /// zmm16–31.
    #[must_use]
    pub fn high_zmm() -> Component {
        Component::of(7)
    }

    /// Leaf 0xd says where (SDM volume 1, 13.5.2); a size of 0 where the processor has no such component.
    fn of(number: u32) -> Component {
        let leaf = std::arch::x86_64::__cpuid_count(0xd, number);
        let (offset, size) = (leaf.ebx as usize, leaf.eax as usize);
        if offset + size > AREA {
            Component { number, offset: 0, size: 0 }
        } else {
            Component { number, offset, size }
        }
    }
}

impl Extended {
    /// xmm0–15, 16 bytes each.
    pub fn xmm(&mut self) -> &mut [u8] {
        self.0[PRESENT] |= 3;
        &mut self.0[XMM..XMM_END]
    }

    /// xmm0–15, to be read; what is in its initial configuration is all zeros.
    #[must_use]
    pub fn low_vectors(&self) -> [u8; XMM_END - XMM] {
        std::array::from_fn(|i| if self.0[PRESENT] & 2 != 0 { self.0[XMM + i] } else { 0 })
    }

    /// A component's bytes; the processor will load them.
    pub fn component(&mut self, component: Component) -> &mut [u8] {
        let Component { number, offset, size } = component;
        if size != 0 {
            self.0[PRESENT + number as usize / 8] |= 1 << (number % 8);
        }
        &mut self.0[offset..offset + size]
    }

    /// Whether a component is the same in both; what is in its initial configuration is all zeros.
    #[must_use]
    pub fn same(&self, other: &Extended, component: Component) -> bool {
        let Component { number, offset, size } = component;
        let bytes =
            |area: &Extended, i: usize| match area.0[PRESENT + number as usize / 8] >> (number % 8) & 1 {
                0 => 0,
                _ => area.0[i],
            };
        (offset..offset + size).all(|i| bytes(self, i) == bytes(other, i))
    }

    /// MXCSR.
    #[must_use]
    pub fn mxcsr(&self) -> u32 {
        u32::from_le_bytes([self.0[MXCSR], self.0[MXCSR + 1], self.0[MXCSR + 2], self.0[MXCSR + 3]])
    }

    /// Control, status and tag words, pointers and registers of the x87.
    #[must_use]
    pub fn x87(&self) -> [u8; XMM - 8] {
        std::array::from_fn(|i| self.0[if i < MXCSR { i } else { i + MXCSR_END - MXCSR }])
    }

    /// The registers of the x87 as after `fninit`, and all exceptions of both units masked.
    pub fn reset_x87_and_mxcsr(&mut self) {
        const CONTROL: [u8; 2] = 0x037f_u16.to_le_bytes();
        const DEFAULT_MXCSR: [u8; 4] = 0x1f80_u32.to_le_bytes();
        self.0[PRESENT] |= 3;
        self.0[..XMM].fill(0);
        self.0[..2].copy_from_slice(&CONTROL);
        self.0[MXCSR..MXCSR + 4].copy_from_slice(&DEFAULT_MXCSR);
        self.0[MXCSR + 4..MXCSR_END].copy_from_slice(&[0xff, 0xff, 0, 0]);
    }
}
