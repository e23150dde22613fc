//! Arguments and results of one call, laid out as the ABI wants them.
use super::{Binding, Registers, Results};
use crate::error::CallError;
use crate::signature::{Place, Plan, Register};

/// Words of the arguments of a call, and afterwards of its result: what [`Dynamic::call_frame`](super::Dynamic::call_frame)
/// takes.
///
/// The code that fills it converts: integers of less than 64 bits are extended as C does, a `float` is the low half of its word, a
/// structure the words of its memory.
#[derive(Debug, Default)]
pub struct Frame {
    registers: Registers,
    stack: Vec<u64>,
    memory: Vec<u64>,
    results: Results,
}

impl Frame {
    /// Zeros. Nothing is allocated, unless arguments travel on the stack or the result in memory.
    #[inline]
    pub fn new(plan: &Plan) -> Frame {
        Frame {
            stack: vec![0; plan.stack_words as usize],
            memory: vec![0; (plan.result_size as usize).div_ceil(8)],
            ..Frame::default()
        }
    }

    /// Puts the words of an argument at its place. Words that the place has no room for are left out.
    ///
    /// # Panics
    /// If the place is not one of the plan that the frame was made for.
    #[inline]
    pub fn set(&mut self, place: &Place, words: &[u64]) {
        match place {
            Place::Registers(places) => self.registers.put(places, words),
            Place::Stack(at) => self.stack[*at as usize..][..words.len()].copy_from_slice(words),
            Place::Memory => unreachable!("parameters are never returned"),
        }
    }

    /// The first word of the last call's result: all of it, but for structures.
    #[inline]
    pub fn first_word(&self, plan: &Plan) -> u64 {
        match &plan.result {
            Place::Registers(places) => places.first().map_or(0, |place| self.word(*place)),
            _ => self.memory.first().copied().unwrap_or_default(),
        }
    }

    /// The words of the last call's result.
    pub fn result(&self, plan: &Plan) -> Vec<u64> {
        match &plan.result {
            Place::Registers(places) => places.iter().map(|place| self.word(*place)).collect(),
            _ => self.memory.clone(),
        }
    }

    #[inline]
    fn word(&self, place: Register) -> u64 {
        match place {
            Register::Integer(n) => self.results.integers[usize::from(n)],
            Register::Vector(n) => self.results.vectors[usize::from(n)],
        }
    }

    #[inline]
    pub(super) fn invoke(&mut self, binding: &Binding) -> Result<(), CallError> {
        self.results = binding.invoke_all(&mut self.registers, &self.stack, &mut self.memory)?;
        Ok(())
    }
}
