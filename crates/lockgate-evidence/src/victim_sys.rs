//! A child process that is stopped where this process wants it to (ptrace(2)): its registers, its memory, breakpoints, single steps.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "ptrace(2), waitpid(2) and sched_setaffinity(2) with arguments of their types, on a child that this process traces"
)]

use crate::shadow::Now;
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// `int3`.
pub const BREAKPOINT: u8 = 0xcc;

/// Why the child has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Behind a breakpoint.
    Breakpoint,
    /// After one instruction.
    Step,
    /// Before it gets this signal.
    Signal(i32),
    /// It has ended.
    Ended {
        /// As programs should: with status 0.
        well: bool,
    },
}

/// The child's main thread. It runs on the CPU of the thread that traces it: they never run at the same time, and to wake an idle one takes longer than a step.
#[derive(Debug)]
pub struct Victim {
    child: Child,
    memory: File,
}

/// Registers of the child.
pub type Registers = libc::user_regs_struct;

impl Victim {
    /// Starts `command`, which has not begun when this returns.
    ///
    /// # Errors
    /// It cannot be started, or not be traced.
    pub fn start(command: &mut Command) -> Result<Victim> {
        let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        unsafe { libc::CPU_SET(libc::sched_getcpu() as usize, &mut one) };
        if unsafe { libc::sched_setaffinity(0, size_of_val(&one), &one) } != 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: one system call, between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(Error::last_os_error()),
            });
        }
        let child = command.spawn()?;
        let memory = File::options().read(true).write(true).open(format!("/proc/{}/mem", child.id()))?;
        let victim = Victim { child, memory };
        victim.wait()?; // at exec
        victim.request(libc::PTRACE_SETOPTIONS, libc::PTRACE_O_EXITKILL as usize)?;
        Ok(victim)
    }

    /// The child's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// On to the next stop; the child gets `signal` first, if that is not 0.
    ///
    /// # Errors
    /// The kernel's.
    pub fn go_on(&self, signal: i32) -> Result<Stop> {
        self.request(libc::PTRACE_CONT, signal as usize)?;
        self.wait()
    }

    /// One instruction further. Signals that come meanwhile are kept for [`Victim::go_on`]: the result is the last one of them, or 0.
    ///
    /// # Errors
    /// The instruction has faulted, the child has ended, or the kernel's.
    pub fn step(&self) -> Result<i32> {
        const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
        let mut kept = 0;
        loop {
            self.request(libc::PTRACE_SINGLESTEP, 0)?;
            match self.wait()? {
                Stop::Step => return Ok(kept),
                Stop::Signal(signal) if !FAULTS.contains(&signal) => kept = signal,
                stop => return Err(Error::other(format!("a step ended with {stop:?}"))),
            }
        }
    }

    fn wait(&self) -> Result<Stop> {
        const OF_INT3: i32 = 0x80;
        let mut status = 0;
        if unsafe { libc::waitpid(self.child.id() as i32, &mut status, libc::__WALL) } == -1 {
            return Err(Error::last_os_error());
        }
        if !libc::WIFSTOPPED(status) {
            return Ok(Stop::Ended { well: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 });
        }
        if libc::WSTOPSIG(status) != libc::SIGTRAP {
            return Ok(Stop::Signal(libc::WSTOPSIG(status)));
        }
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETSIGINFO, &raw mut info as usize)?;
        Ok(match info.si_code {
            OF_INT3 => Stop::Breakpoint,
            ..=0 => Stop::Signal(libc::SIGTRAP),
            _ => Stop::Step,
        })
    }

    /// The registers.
    ///
    /// # Errors
    /// The kernel's.
    pub fn registers(&self) -> Result<Registers> {
        let mut registers: Registers = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, &raw mut registers as usize)?;
        Ok(registers)
    }

    /// Where it goes on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn now(&self) -> Result<Now> {
        let registers = self.registers()?;
        Ok(Now { rip: registers.rip, rsp: registers.rsp })
    }

    /// Has it go on at `rip`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_rip(&self, rip: u64) -> Result<()> {
        let at = std::mem::offset_of!(libc::user, regs) + std::mem::offset_of!(Registers, rip);
        match unsafe { libc::ptrace(libc::PTRACE_POKEUSER, self.child.id(), at, rip) } {
            -1 => Err(Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Memory of the child.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.memory.read_exact_at(bytes, address)
    }

    /// A word of the child.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn word(&self, address: u64) -> Result<u64> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    /// Writes to memory of the child, even to code: to its own copy of that.
    ///
    /// # Errors
    /// Nothing is there, or the kernel keeps tracers from it.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    fn request(&self, request: libc::c_uint, data: usize) -> Result<()> {
        match unsafe { libc::ptrace(request, self.child.id(), 0, data) } {
            -1 => Err(Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // What has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the child: where the tracer takes over.
#[inline(always)]
pub fn mark() {
    unsafe { std::arch::asm!("int3") }
}
