//! The tables of host functions that gates call from.
use crate::call::layout::{GateEntry, Gates};
use crate::callback::HostFunction;
use lockgate_abi::gate;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Host functions of one domain.
pub(crate) struct GateTables {
    gates: Box<Gates>,
    /// By slot of the gate table.
    _imports: Box<[GateEntry]>,
    /// Keeps the imports' closures alive.
    _functions: Vec<HostFunction>,
    callbacks: Mutex<Callbacks>,
    /// Keeps callbacks' closures alive as long as a thread may be in them: as long as the domain.
    functions: Mutex<Vec<HostFunction>>,
}

#[derive(Default)]
struct Callbacks {
    entries: Vec<GateEntry>,
    free: Vec<u64>,
}

// SAFETY: the raw pointers lead to the tables of this very struct, which change only as `add_callback` says.
unsafe impl Send for GateTables {}
// SAFETY: as above.
unsafe impl Sync for GateTables {}

impl GateTables {
    /// Tables with `imports` at their slots; other slots have no function.
    pub fn new(imports: Vec<(u16, HostFunction)>, xsave_mask: u64) -> GateTables {
        let count = imports.iter().map(|(slot, _)| usize::from(*slot) + 1).max().unwrap_or(0);
        let mut table = vec![GateEntry::none(); count].into_boxed_slice();
        let mut functions = Vec::new();
        for (slot, function) in imports {
            table[usize::from(slot)] = function.entry();
            functions.push(function);
        }
        let gates = Box::new(Gates {
            imports: table.as_ptr(),
            import_count: table.len() as u64,
            callbacks: AtomicPtr::new(ptr::null_mut()),
            callback_count: AtomicU64::new(0),
            xsave_mask,
        });
        GateTables {
            gates,
            _imports: table,
            _functions: functions,
            callbacks: Mutex::default(),
            functions: Mutex::default(),
        }
    }

    /// What gates read.
    pub fn gates(&self) -> *const Gates {
        &raw const *self.gates
    }

    /// Gives `function` a callback number; `None` if all are taken.
    pub fn add_callback(&self, function: HostFunction) -> Option<u64> {
        let mut callbacks = self.callbacks.lock().unwrap_or_else(|e| e.into_inner());
        if callbacks.entries.is_empty() {
            // All of it at once: threads in gates may read the table while it is filled, so it never moves.
            callbacks.entries = vec![GateEntry::none(); gate::CALLBACKS as usize];
            callbacks.free = (0..gate::CALLBACKS).rev().collect();
            self.gates.callbacks.store(callbacks.entries.as_mut_ptr(), Ordering::Release);
            self.gates.callback_count.store(gate::CALLBACKS, Ordering::Release);
        }
        let number = callbacks.free.pop()?;
        self.write(&mut callbacks, number, function.entry());
        if function.entry().context != 0 {
            self.functions.lock().unwrap_or_else(|e| e.into_inner()).push(function);
        }
        Some(number)
    }

    /// Takes a callback's function away: a later call through the old pointer ends that call of the domain.
    pub fn remove_callback(&self, number: u64) {
        let mut callbacks = self.callbacks.lock().unwrap_or_else(|e| e.into_inner());
        self.write(&mut callbacks, number, GateEntry::none());
        callbacks.free.push(number);
    }

    /// Lets go of what removed callbacks captured. Nobody may run in the domain.
    pub fn forget_callbacks(&mut self) {
        self.functions.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
    }

    fn write(&self, callbacks: &mut Callbacks, number: u64, entry: GateEntry) {
        // SAFETY: inside the table. A module that guesses the number early may see half of it: a function with
        // no context, which `HostFunction`s survive because the context is written first.
        unsafe {
            let place = callbacks.entries.as_mut_ptr().add(number as usize);
            ptr::write_volatile(&raw mut (*place).function, GateEntry::none().function);
            ptr::write_volatile(&raw mut (*place).context, entry.context);
            ptr::write_volatile(&raw mut (*place).stack_words, entry.stack_words);
            ptr::write_volatile(&raw mut (*place).function, entry.function);
        }
    }
}
