//! Functions of other processes as C function pointers: a fixed number of entries, each of which knows its own place alone. One routine for all saves what
//! carries arguments, and loads what carries results.
use crate::call::{catch, value};
use crate::error::Failure;
use crate::handle::Handle;
use crate::host_function_sys::Code;
use crate::remote_places::{POINTERS, Pointed};
use crate::remote_sys::{Argument, RemoteFunctionObject, call};
use lockgate::Value;
use lockgate::signature::{Place, Register};

/// Bytes of an entry.
const ENTRY: usize = 16;

core::arch::global_asm!(
    r#"
    .text
    .p2align 4
    .globl lockgate_remote_entries
    .hidden lockgate_remote_entries
    .type lockgate_remote_entries,@function
lockgate_remote_entries:
    .cfi_startproc
    .rept {POINTERS}
    endbr64
    lea 2f(%rip),%rax
2:  jmp lockgate_remote_call
    .p2align 4
    .endr
    .cfi_endproc
    .size lockgate_remote_entries,.-lockgate_remote_entries

    .type lockgate_remote_call,@function
lockgate_remote_call:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp,-16
    mov %rsp,%rbp
    .cfi_def_cfa_register rbp
    sub ${REGISTERS},%rsp
    mov %rdi,(%rsp)
    mov %rsi,8(%rsp)
    mov %rdx,16(%rsp)
    mov %rcx,24(%rsp)
    mov %r8,32(%rsp)
    mov %r9,40(%rsp)
    movsd %xmm0,48(%rsp)
    movsd %xmm1,56(%rsp)
    movsd %xmm2,64(%rsp)
    movsd %xmm3,72(%rsp)
    movsd %xmm4,80(%rsp)
    movsd %xmm5,88(%rsp)
    movsd %xmm6,96(%rsp)
    movsd %xmm7,104(%rsp)
    lea lockgate_remote_entries(%rip),%rdi
    sub %rdi,%rax
    mov %rax,%rdi
    mov %rsp,%rsi
    lea 16(%rbp),%rdx
    call {arrive}
    mov (%rsp),%rax
    mov 8(%rsp),%rdx
    movsd 48(%rsp),%xmm0
    movsd 56(%rsp),%xmm1
    leave
    .cfi_def_cfa rsp,8
    ret
    .cfi_endproc
    .size lockgate_remote_call,.-lockgate_remote_call
    "#,
    POINTERS = const POINTERS,
    REGISTERS = const size_of::<Registers>(),
    arrive = sym arrive,
    options(att_syntax)
);

unsafe extern "C" {
    fn lockgate_remote_entries();
}

/// What carries arguments: rdi rsi rdx rcx r8 r9, the low halves of xmm0 to xmm7. Afterwards what carries results: rax, rdx and xmm0, xmm1 in the first two places.
#[repr(C)]
#[derive(Default)]
struct Registers {
    integers: [u64; 6],
    vectors: [u64; 8],
}

/// The function as a C function pointer.
#[unsafe(no_mangle)]
pub extern "C" fn lg_remote_pointer(function: Handle<RemoteFunctionObject>) -> Option<Code> {
    value(None, || {
        let place = function.get()?.place()?;
        let code = (lockgate_remote_entries as *const ()).wrapping_byte_add(place * ENTRY);
        // SAFETY: an entry is a function of C; the program gives it the type of the prototype before it calls it.
        Ok(Some(unsafe { std::mem::transmute::<*const (), Code>(code) }))
    })
}

/// A program calls the entry that lies at `at`, behind the first.
///
/// # Safety
/// Only the routine above calls it, with the registers and the stack of a caller that takes the pointer for what it is.
unsafe extern "C" fn arrive(at: usize, registers: &mut Registers, stack: *const u64) {
    if !lockgate::begins_elsewhere() {
        *registers = Registers::default();
        return;
    }
    let called = catch(|| {
        let pointed = Pointed::at(at / ENTRY)?;
        // SAFETY: the caller's promise.
        let result = unsafe { call_pointed(&pointed, registers, stack)? };
        let words = result.words(&pointed.function.signature().result).unwrap_or_default();
        Ok((pointed, words))
    });
    *registers = Registers::default();
    match called {
        Ok((pointed, words)) => registers.put(&pointed.plan.result, &words),
        Err(failure) => failure.keep_for_pointer(),
    }
}

/// Makes the call.
///
/// # Errors
/// As [`call`]; a number that is no length.
///
/// # Safety
/// Registers and stack are those of a caller by the prototype.
unsafe fn call_pointed(
    pointed: &Pointed,
    registers: &Registers,
    stack: *const u64,
) -> Result<Value, Failure> {
    let Pointed { function, plan, .. } = pointed;
    let signature = function.signature();
    // SAFETY: as many words as the prototype says.
    let stack = unsafe { std::slice::from_raw_parts(stack, plan.stack_words as usize) };
    let taken: Vec<Value> = signature
        .parameters
        .iter()
        .zip(&plan.parameters)
        .map(|(kind, place)| Value::from_words(&registers.taken(stack, place, kind.size()), kind))
        .collect();
    let mut arguments = Vec::with_capacity(taken.len());
    for (number, value) in taken.iter().enumerate() {
        let buffer = function.buffers().iter().find(|buffer| buffer.parameter == number);
        arguments.push(match (buffer, value) {
            (Some(buffer), Value::Pointer(at)) => {
                let size = elements(&taken[buffer.length]).and_then(|number| buffer.bytes(number));
                let size = size.and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| {
                    Failure::argument(format!("argument {} of {signature} is no length", buffer.length + 1))
                })?;
                // SAFETY: the caller's array, of so many elements.
                unsafe { Argument::array(*at as *mut u8, size, buffer.is_written)? }
            }
            (_, value) => Argument::Value(value.clone()),
        });
    }
    // SAFETY: as above.
    unsafe { call(function, &mut arguments) }
}

/// How many elements an argument says that an array has.
fn elements(value: &Value) -> Option<u64> {
    match value {
        Value::Signed(number) => u64::try_from(*number).ok(),
        Value::Unsigned(number) => Some(*number),
        _ => None,
    }
}

impl Registers {
    /// The words of an argument of `size` bytes.
    fn taken(&self, stack: &[u64], place: &Place, size: usize) -> Vec<u64> {
        let word = |register: &Register| match register {
            Register::Integer(n) => self.integers[usize::from(*n)],
            Register::Vector(n) => self.vectors[usize::from(*n)],
        };
        match place {
            Place::Registers(places) => places.iter().map(word).collect(),
            Place::Stack(at) => stack[*at as usize..][..size.div_ceil(8)].to_vec(),
            Place::Memory => Vec::new(),
        }
    }

    /// Puts the words of a result where they are loaded.
    fn put(&mut self, place: &Place, words: &[u64]) {
        let Place::Registers(places) = place else { return };
        for (place, word) in places.iter().zip(words) {
            match place {
                Register::Integer(n) => self.integers[usize::from(*n)] = *word,
                Register::Vector(n) => self.vectors[usize::from(*n)] = *word,
            }
        }
    }
}
