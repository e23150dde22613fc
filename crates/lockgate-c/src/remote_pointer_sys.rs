//! Functions of other processes as C function pointers: a fixed number of entries, each of which knows its own place alone. One routine for all saves what
//! carries arguments, and loads what carries results.
use crate::call::{catch, value};
use crate::error::Failure;
use crate::handle::Handle;
use crate::host_function_sys::Code;
use crate::remote_places::{POINTERS, Pointed};
use crate::remote_sys::{Argument, RemoteFunctionObject, call};
use lockgate::signature::Place;
use lockgate::{CallRegisters as Registers, Value};

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
lockgate_remote_call:"#,
    lockgate::call_registers!(
        r#"
    lea lockgate_remote_entries(%rip),%rdi
    sub %rdi,%rax
    mov %rax,%rdi
    mov %rsp,%rsi
    lea 16(%rbp),%rdx
    call {arrive}"#
    ),
    r#"
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
        Ok((pointed, words)) => {
            // (None has a result in memory: checked when made.)
            if let Place::Registers(places) = &pointed.plan.result {
                registers.put(places, &words);
            }
        }
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
