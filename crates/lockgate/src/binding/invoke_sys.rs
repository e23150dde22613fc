//! Calling a thunk with arguments from memory.
use super::{Binding, Registers};
use crate::call::{outcome_sys, unseen};
use crate::error::CallError;

/// Registers after a call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Results {
    /// rax rdx.
    pub integers: [u64; 2],
    /// Low halves of xmm0 and xmm1.
    pub vectors: [u64; 2],
}

// SAFETY: the header's pointers lead to the domain's core and tables, which are Sync and kept alive by the binding.
unsafe impl Send for Binding {}
// SAFETY: as above.
unsafe impl Sync for Binding {}

unsafe extern "C" {
    /// In `call/proxy_asm.rs`.
    fn lockgate_invoke_from(words: *const [usize; 4]);
    fn lockgate_invoke(thunk: *const (), registers: *mut Registers, stack: *const u64, words: u64);
}

impl Binding {
    /// Calls with integer arguments only.
    ///
    /// # Errors
    /// What happened instead of a return.
    pub fn invoke(&self, arguments: &[u64]) -> Result<Results, CallError> {
        let mut registers = Registers::default();
        registers.integers[..arguments.len()].copy_from_slice(arguments);
        self.invoke_all(&mut registers, &[], &mut [])
    }

    /// Calls without arguments, in work that no handler of the host's interrupts, and which functions of the host's may leave ([`unseen`]); what it
    /// returns in rax.
    ///
    /// # Errors
    /// As [`invoke`](Binding::invoke).
    pub fn invoke_unseen(&self) -> Result<u64, CallError> {
        let mut registers = Registers::default();
        let words = [self.code() as usize, &raw mut registers as usize, 0, 0];
        // SAFETY: as below; it has no stack arguments and no result in memory.
        unsafe { unseen(lockgate_invoke_from as *const (), words.as_ptr().cast()) };
        self.ended()?;
        Ok(registers.integers[0])
    }

    #[inline]
    fn ended(&self) -> Result<(), CallError> {
        if outcome_sys::failed()
            && let Some(error) = outcome_sys::take_error(&self.info)
        {
            return Err(error);
        }
        Ok(())
    }

    /// Calls with all registers and the words of stack arguments that the plan asks for; a result in memory goes to `memory`.
    #[inline]
    pub(super) fn invoke_all(
        &self,
        registers: &mut Registers,
        stack: &[u64],
        memory: &mut [u64],
    ) -> Result<Results, CallError> {
        assert_eq!(stack.len(), self.plan.stack_words as usize);
        if self.plan.result_size > 0 {
            assert_eq!(memory.len(), (self.plan.result_size as usize).div_ceil(8));
            registers.integers[0] = memory.as_mut_ptr() as u64;
        }
        // SAFETY: the proxy copies as many stack words as the plan says and follows the System V ABI; a result in memory
        // goes where the first register points, which has room for it.
        unsafe { lockgate_invoke(self.code(), registers, stack.as_ptr(), stack.len() as u64) };
        self.ended()?;
        let [rax, rdx, xmm0, xmm1, ..] = registers.integers;
        Ok(Results { integers: [rax, rdx], vectors: [xmm0, xmm1] })
    }
}
