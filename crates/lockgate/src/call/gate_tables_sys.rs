//! The tables of functions that gates call.
use super::layout::{GateEntry, Gates};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, OnceLock, barrier};
use lockgate_abi::gate;
use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ptr;
use std::sync::Arc;

/// What a domain calls through a gate: a function of the host, or another domain's entry point that is bound for this one.
#[derive(Clone)]
pub(crate) struct Gate {
    pub entry: GateEntry,
    /// What has to stay as long as the entry does.
    pub keeps: Option<Arc<dyn Any + Send + Sync>>,
    /// That is a binding, and holds a domain.
    pub is_binding: bool,
}

/// Functions that one domain may call.
///
/// Entries never change: a thread in a gate may hold one at any moment. Tables change by one store of a pointer, and an
/// entry that none leads to any more lives until no thread can hold it ([`GateTables::release`]).
pub(crate) struct GateTables {
    gates: Box<Gates>,
    /// By slot of the gate table.
    imports: Box<[AtomicPtr<GateEntry>]>,
    /// Entries of imports that are bound at their first call, by slot; none, if no import is.
    lazy: Box<[GateEntry]>,
    /// What the domain was made with: what it calls again after a reset. And how often anything else has been linked since: by the host, and by
    /// the domain's own first calls of imports.
    first: Vec<(u16, Gate)>,
    links: AtomicU64,
    found: AtomicU64,
    /// By number of the callback; made when the first one is.
    callbacks: OnceLock<Box<[AtomicPtr<GateEntry>]>>,
    free: Mutex<VecDeque<u64>>,
    kept: Mutex<Entries>,
}

/// Entries that tables lead to, or threads may hold.
#[derive(Default)]
struct Entries {
    by_contents: HashMap<GateEntry, Kept>,
    /// No more are taken.
    closed: bool,
    /// How many are in no place of a table.
    retired: usize,
    /// What is retired now will be in the next batch.
    next_batch: u64,
    batch: Option<Batch>,
}

/// Retired entries that are let go of together.
struct Batch {
    number: u64,
    /// Threads that ran the domain's code when it began, and have not been seen elsewhere since: one may be about to show an entry
    /// that it read from a table before. All others have shown theirs in their records, or hold none.
    suspects: Vec<i32>,
}

impl Entries {
    /// An entry has left a place of a table. True if that was the last one of a binding.
    fn leave(&mut self, entry: *const GateEntry) -> bool {
        // SAFETY: what was in a table is alive as long as the lock of the entries is held.
        if let Some(kept) = self.by_contents.get_mut(unsafe { &*entry })
            && ptr::eq(&raw const *kept.entry, entry)
        {
            kept.places -= 1;
            if kept.places == 0 {
                self.retired += 1;
                kept.batch = self.next_batch;
                return kept.is_binding;
            }
        }
        false
    }
}

/// An entry, and what keeps its function alive.
struct Kept {
    entry: Box<GateEntry>,
    keeps: Option<Arc<dyn Any + Send + Sync>>,
    is_binding: bool,
    /// Places of tables that lead to it.
    places: usize,
    /// Once there are none.
    batch: u64,
}

/// Retired host functions that may wait for more of them, so that one look at all threads serves many.
const BATCH: usize = 32;

// SAFETY: the raw pointers lead to the tables and entries of this very struct, which outlive their users.
unsafe impl Send for GateTables {}
// SAFETY: as above.
unsafe impl Sync for GateTables {}

/// Where an import leads that is not linked.
fn unlinked(lazy: &[GateEntry], slot: usize) -> *mut GateEntry {
    ptr::from_ref(lazy.get(slot).unwrap_or_else(|| GateEntry::none())).cast_mut()
}

impl GateTables {
    /// Tables with `imports` at their slots. Other slots below `count` are looked for at their first call, if the tables are `lazy`.
    pub fn new(
        imports: impl IntoIterator<Item = (u16, Gate)>,
        count: usize,
        lazy: bool,
        xsave_mask: u64,
    ) -> GateTables {
        let lazy: Box<[GateEntry]> = (0..count as u16).filter(|_| lazy).map(GateEntry::lazy).collect();
        let table: Box<[_]> = (0..count).map(|slot| AtomicPtr::new(unlinked(&lazy, slot))).collect();
        let gates = Box::new(Gates {
            imports: table.as_ptr().cast(),
            import_count: table.len() as u64,
            callbacks: AtomicPtr::new(ptr::null_mut()),
            callback_count: AtomicU64::new(0),
            xsave_mask,
        });
        let tables = GateTables {
            gates,
            imports: table,
            lazy,
            first: imports.into_iter().collect(),
            links: AtomicU64::new(0),
            found: AtomicU64::new(0),
            callbacks: OnceLock::new(),
            free: Mutex::default(),
            kept: Mutex::default(),
        };
        tables.link_first();
        tables
    }

    /// Imports go where they went when the domain was made, as far as that was said.
    fn link_first(&self) {
        for (slot, gate) in &self.first {
            self.set_import(*slot, gate.clone());
        }
        self.links.store(0, Ordering::Relaxed);
        self.found.store(0, Ordering::Relaxed);
    }

    /// Whether the host has linked imports since the domain was made, or reset: nothing would do so once more.
    pub fn are_linked_by_host(&self) -> bool {
        self.links.load(Ordering::Relaxed) > 0
    }

    /// Whether import `slot` leads anywhere, or will not: what a first call would find is not asked for any more.
    pub fn is_answered(&self, slot: u16) -> bool {
        !ptr::eq(self.import(slot), unlinked(&self.lazy, slot.into()))
    }

    /// What gates read.
    pub fn gates(&self) -> *const Gates {
        &raw const *self.gates
    }

    /// What calls of import `slot` go to now.
    pub fn import(&self, slot: u16) -> *const GateEntry {
        self.imports[usize::from(slot)].load(Ordering::Acquire)
    }

    /// Calls of import `slot` go to `new`, if they go to `old` now: what the host has linked meanwhile stays.
    pub fn replace_import(&self, slot: u16, old: &GateEntry, new: Gate) {
        let new = of_import(new);
        let place = &self.imports[usize::from(slot)];
        let mut entries = self.kept();
        let now = place.load(Ordering::Acquire);
        // SAFETY: what a table leads to is alive as long as the lock is held.
        let (function, context) = unsafe { ((*now).function, (*now).context) };
        if (function, context) == (old.function, old.context) {
            self.links.fetch_add(1, Ordering::Relaxed);
            keep(&mut entries, &new, place);
        }
    }

    /// Takes all functions away. Threads inside may still use what was there, until [`forget`](GateTables::forget).
    pub fn clear(&self) {
        let none = ptr::from_ref(GateEntry::none()).cast_mut();
        let mut kept = self.kept();
        kept.closed = true;
        for entry in self.imports.iter().chain(self.callbacks.get().into_iter().flatten()) {
            entry.store(none, Ordering::SeqCst);
        }
        // Threads that read a table before have shown their records since.
        barrier();
    }

    /// Lets go of all functions, after [`clear`](GateTables::clear). No thread that was inside then may be inside still.
    pub fn forget(&self) {
        let mut entries = self.kept();
        let kept = std::mem::take(&mut entries.by_contents);
        entries.retired = 0;
        drop(entries);
        drop(kept); // may end other domains
    }

    /// From now on the domain's calls of import `slot` go to `gate`: the host says so.
    pub fn set_import(&self, slot: u16, gate: Gate) {
        let gate = of_import(gate);
        self.links.fetch_add(1, Ordering::Relaxed);
        keep(&mut self.kept(), &gate, &self.imports[usize::from(slot)]);
    }

    /// The same, as the domain's first call of the import finds it, unless the import leads anywhere by now: what the host has said meanwhile
    /// stays. False if it does.
    pub fn answer_import(&self, slot: u16, gate: Gate) -> bool {
        let gate = of_import(gate);
        let mut entries = self.kept();
        let is_first = !self.is_answered(slot);
        if is_first {
            self.found.fetch_add(1, Ordering::Relaxed);
            keep(&mut entries, &gate, &self.imports[usize::from(slot)]);
        }
        is_first
    }

    /// The binding of another domain that answers the import at `slot`, if one does.
    pub fn binding_at(&self, slot: u16) -> Option<Arc<dyn Any + Send + Sync>> {
        let entries = self.kept();
        let entry = self.imports.get(usize::from(slot))?.load(Ordering::SeqCst);
        // SAFETY: what is in a table is alive as long as the lock of the entries is held.
        let kept = entries.by_contents.get(unsafe { &*entry })?;
        if kept.is_binding && ptr::eq(&raw const *kept.entry, entry) { kept.keeps.clone() } else { None }
    }

    /// Gives `gate` a callback number; `None` if all are taken.
    pub fn add_callback(&self, gate: Gate) -> Option<u64> {
        let table = self.callbacks.get_or_init(|| self.start_callbacks());
        let number = self.free().pop_front()?;
        keep(&mut self.kept(), &gate, &table[number as usize]);
        Some(number)
    }

    /// From now on the callback `number`, which is given, goes to `gate`.
    pub fn replace_callback(&self, number: u64, gate: Gate) {
        if let Some(table) = self.callbacks.get() {
            keep(&mut self.kept(), &gate, &table[number as usize]);
        }
    }

    fn start_callbacks(&self) -> Box<[AtomicPtr<GateEntry>]> {
        let none = || AtomicPtr::new(ptr::from_ref(GateEntry::none()).cast_mut());
        let table: Box<[_]> = (0..gate::CALLBACKS).map(|_| none()).collect();
        *self.free() = (0..gate::CALLBACKS).collect();
        self.gates.callbacks.store(table.as_ptr().cast_mut().cast(), Ordering::Release);
        self.gates.callback_count.store(gate::CALLBACKS, Ordering::Release);
        table
    }

    /// Takes a callback's function away: a later call through the old pointer ends that call of the domain. True if it is
    /// time for [`release`](GateTables::release).
    pub fn close_callback(&self, number: u64) -> bool {
        let Some(table) = self.callbacks.get() else { return false };
        let mut kept = self.kept();
        let none = ptr::from_ref(GateEntry::none()).cast_mut();
        let was_binding = kept.leave(table[number as usize].swap(none, Ordering::SeqCst));
        // A binding holds a domain.
        was_binding || kept.retired >= BATCH
    }

    /// The same, and its number is free.
    pub fn remove_callback(&self, number: u64) -> bool {
        let is_due = self.close_callback(number);
        // Behind all others: a pointer that the module has kept leads nowhere for as long as may be.
        self.free().push_back(number);
        is_due
    }

    /// Lets go of entries that no table leads to and no thread can hold: `held` tells of the entries that threads are in, and of the
    /// threads that run the domain's code. True if none is left.
    pub(super) fn release_unless_held(
        &self,
        held: impl FnOnce() -> (HashSet<*const GateEntry>, Vec<i32>),
    ) -> bool {
        let mut kept = self.kept();
        if kept.retired == 0 {
            return true;
        }
        let batch = kept.batch.take();
        let is_new = batch.is_none();
        if is_new {
            barrier();
        }
        let (held, inside) = held();
        let mut batch = batch.unwrap_or_else(|| Batch { number: kept.next_batch, suspects: inside.clone() });
        kept.next_batch += u64::from(is_new);
        batch.suspects.retain(|thread| inside.contains(thread));
        if !batch.suspects.is_empty() {
            kept.batch = Some(batch);
            return false;
        }
        let is_free = |kept: &Kept| {
            kept.places == 0 && kept.batch <= batch.number && !held.contains(&(&raw const *kept.entry))
        };
        let gone: Vec<_> = kept.by_contents.extract_if(|_, kept| is_free(kept)).collect();
        kept.retired -= gone.len();
        let is_done = kept.retired == 0;
        drop(kept);
        drop(gone); // may end other domains
        is_done
    }

    /// What the domain's last user has linked, and had as callbacks, is gone: imports are what the domain was made with. No thread may run in the
    /// domain.
    pub fn renew(&mut self) {
        let was_closed = std::mem::take(&mut self.kept().closed);
        let is_linked = |links: &AtomicU64| links.load(Ordering::Relaxed) > 0;
        if was_closed || is_linked(&self.links) || is_linked(&self.found) {
            let mut kept = self.kept();
            for (slot, place) in self.imports.iter().enumerate() {
                kept.leave(place.swap(unlinked(&self.lazy, slot), Ordering::SeqCst));
            }
            drop(kept);
            self.link_first();
        }
        let free = self.free.get_mut().unwrap_or_else(|e| e.into_inner());
        // How many the last user had must not be seen by the next.
        if free.len() as u64 == gate::CALLBACKS && free.front() != Some(&0) {
            *free = (0..gate::CALLBACKS).collect();
        }
        self.forget_callbacks();
    }

    /// Lets go of what only removed callbacks led to.
    fn forget_callbacks(&mut self) {
        let callbacks = self.callbacks.get().into_iter().flatten();
        let used: HashSet<_> =
            self.imports.iter().chain(callbacks).map(|entry| entry.load(Ordering::Relaxed)).collect();
        let kept = self.kept.get_mut().unwrap_or_else(|e| e.into_inner());
        kept.by_contents.retain(|_, kept| used.contains(&(&raw mut *kept.entry)));
        kept.retired = 0;
    }

    fn kept(&self) -> MutexGuard<'_, Entries> {
        self.kept.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn free(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.free.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What calls of an import go to: it is called through a thunk of the module, whose return address lies below the stack arguments.
fn of_import(gate: Gate) -> Gate {
    let stack_distance = gate.entry.stack_distance + gate::IMPORT_DEPTH;
    Gate { entry: GateEntry { stack_distance, ..gate.entry }, ..gate }
}

/// Puts the one entry with these contents, which lives as long as the domain, in a place of a table. In closed tables nothing changes. (What
/// is not kept goes when the lock is free again: it may be the host's own code.)
fn keep(entries: &mut Entries, gate: &Gate, place: &AtomicPtr<GateEntry>) {
    let &Gate { entry, is_binding, .. } = gate;
    if entries.closed {
        return;
    }
    // One that is known and in no place is not retired any more; a new one was not.
    let known = entries.by_contents.get(&entry).is_some_and(|kept| kept.places == 0);
    entries.retired -= usize::from(known);
    let new = || Kept { entry: Box::new(entry), keeps: gate.keeps.clone(), is_binding, places: 0, batch: 0 };
    let kept = entries.by_contents.entry(entry).or_insert_with(new);
    kept.places += 1;
    let entry = &raw const *kept.entry;
    entries.leave(place.swap(entry.cast_mut(), Ordering::SeqCst));
}
