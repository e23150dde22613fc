//! Who holds what: every handle of the process, under one lock.
//!
//! No code of a module or of the host runs under the lock, and each look-up takes a few steps in ordered maps. What was given is a forest: an
//! owner's handle is a root, one that was passed on hangs from the one that it was passed on from. Who releases a handle, or ends,
//! takes nothing away from those to whom it has passed it on: they hang from its own giver then, who can still revoke them.
//!
//! An object without holders is in its owner's list of released ones, unless a call still uses it ([`ObjectInUse`]): the owner asks for the list
//! when it likes, so nothing of it runs on a thread, or within a call, of another.
use super::{
    Handle, HandleError, HandleGone, HandleRights, MAX_DEPTH, MAX_HANDLES, MAX_HANDLES_FROM, MAX_OBJECTS,
};
use crate::host::{PerProcess, locked};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A domain that takes part.
#[derive(Clone, Copy)]
pub(crate) struct Party<'a> {
    pub id: u32,
    pub name: &'a str,
    /// Whether it was killed. Asked under the lock: what is given before a domain ends, its end takes away.
    pub is_killed: &'a dyn Fn() -> bool,
}

impl Party<'_> {
    fn lives(&self) -> Result<(), HandleError> {
        if (self.is_killed)() { Err(HandleError::Ended { domain: self.name.to_owned() }) } else { Ok(()) }
    }
}

/// Holder, index in its table.
type Place = (u32, u32);

/// Owner, type, the owner's number.
type Name = (u32, u16, u64);

/// What a holder has.
struct Share {
    object: Name,
    rights: HandleRights,
    /// The domain that has given it, and the share that it was passed on from; none for the owner's own.
    giver: u32,
    from: Option<Place>,
    passed_on: BTreeSet<Place>,
    depth: u32,
}

/// A place in a holder's table.
struct Slot {
    /// Of the handle that is here, or was last.
    generation: u32,
    /// What the holder has, or what has ended it: none in a life of the holder that never had it.
    share: Result<Share, Option<HandleGone>>,
}

#[derive(Default)]
struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Of each giver, how many are here.
    givers: BTreeMap<u32, usize>,
    count: usize,
}

impl Table {
    fn has_room(&self, giver: u32) -> bool {
        self.count < MAX_HANDLES && self.givers.get(&giver).is_none_or(|count| *count < MAX_HANDLES_FROM)
    }

    fn put(&mut self, share: Share) -> (u32, u32) {
        *self.givers.entry(share.giver).or_default() += 1;
        self.count += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.generation += 1;
            slot.share = Ok(share);
            return (index, slot.generation);
        }
        self.slots.push(Slot { generation: 1, share: Ok(share) });
        (self.slots.len() as u32 - 1, 1)
    }

    fn share(&mut self, index: u32) -> Option<&mut Share> {
        self.slots.get_mut(index as usize)?.share.as_mut().ok()
    }

    fn take(&mut self, index: u32, why: HandleGone) -> Option<Share> {
        let slot = self.slots.get_mut(index as usize)?;
        slot.share.as_ref().ok()?;
        let share = mem::replace(&mut slot.share, Err(Some(why))).ok()?;
        // (A place whose generations are used up is never used again: no number ever means a second handle.)
        if slot.generation < u32::MAX {
            self.free.push(index);
        }
        self.count -= 1;
        self.uncount(share.giver);
        Some(share)
    }

    fn uncount(&mut self, giver: u32) {
        if let Some(count) = self.givers.get_mut(&giver) {
            *count -= 1;
            if *count == 0 {
                self.givers.remove(&giver);
            }
        }
    }
}

/// An object for which there are handles, or were until its owner is told.
struct Object {
    /// Tells it from earlier ones of the same name.
    serial: u64,
    holders: BTreeSet<Place>,
    uses: usize,
}

#[derive(Default)]
struct Book {
    tables: BTreeMap<u32, Table>,
    objects: BTreeMap<Name, Object>,
    /// Of each owner, how many objects it has here.
    counts: BTreeMap<u32, usize>,
    /// Those without holders that no call uses.
    released: BTreeSet<Name>,
}

static BOOK: PerProcess<Mutex<Book>> = PerProcess::new(Mutex::default);

fn book() -> MutexGuard<'static, Book> {
    locked(&BOOK)
}

/// An object that a call of its owner uses: it is not in the list of released ones before this is dropped, even if it is revoked meanwhile.
#[derive(Debug)]
pub struct ObjectInUse {
    name: Name,
    serial: u64,
    rights: HandleRights,
}

impl ObjectInUse {
    /// The owner's number of the object, as it was given.
    pub fn object(&self) -> u64 {
        self.name.2
    }

    /// The rights that the holder had when the use began.
    pub fn rights(&self) -> HandleRights {
        self.rights
    }
}

impl Drop for ObjectInUse {
    fn drop(&mut self) {
        let mut book = book();
        // (Its owner may have ended meanwhile, and another one have its number, or this be a child of the process.)
        let object = book.objects.get_mut(&self.name).filter(|object| object.serial == self.serial);
        if let Some(object) = object {
            object.uses -= 1;
            book.note_release(self.name);
        }
    }
}

impl Book {
    fn find(&self, holder: Party<'_>, handle: Handle) -> Result<&Share, HandleError> {
        let (name, number) = (|| holder.name.to_owned(), handle.number());
        let unknown = || HandleError::Unknown { holder: name(), number };
        let table = self.tables.get(&holder.id).ok_or_else(unknown)?;
        let slot = table.slots.get(handle.index() as usize).ok_or_else(unknown)?;
        if slot.generation != handle.generation() {
            return Err(unknown());
        }
        let gone = |why: &Option<HandleGone>| match *why {
            Some(why) => HandleError::Gone { holder: name(), number, why },
            None => unknown(),
        };
        let share = slot.share.as_ref().map_err(gone)?;
        if share.object.1 != handle.kind() {
            return Err(unknown());
        }
        Ok(share)
    }

    fn put(&mut self, holder: Party<'_>, giver: Party<'_>, share: Share) -> Result<Handle, HandleError> {
        let (object, from) = (share.object, share.from);
        let table = self.tables.entry(holder.id).or_default();
        if !table.has_room(giver.id) {
            return Err(HandleError::TooMany {
                holder: holder.name.to_owned(),
                giver: giver.name.to_owned(),
            });
        }
        let (index, generation) = table.put(share);
        if let Some(object) = self.objects.get_mut(&object) {
            object.holders.insert((holder.id, index));
        }
        if let Some(from) = from.and_then(|place| self.share(place)) {
            from.passed_on.insert((holder.id, index));
        }
        Ok(Handle::new(index, object.1, generation))
    }

    fn share(&mut self, (holder, index): Place) -> Option<&mut Share> {
        self.tables.get_mut(&holder)?.share(index)
    }

    /// Takes one share away. What was passed on from it hangs from its giver.
    fn take(&mut self, place: Place, why: HandleGone) {
        let Some(share) = self.tables.get_mut(&place.0).and_then(|table| table.take(place.1, why)) else {
            return;
        };
        for next in &share.passed_on {
            let Some(table) = self.tables.get_mut(&next.0) else { continue };
            let Some(child) = table.share(next.1) else { continue };
            let before = mem::replace(&mut child.giver, share.giver);
            child.from = share.from;
            table.uncount(before);
            *table.givers.entry(share.giver).or_default() += 1;
        }
        if let Some(from) = share.from.and_then(|place| self.share(place)) {
            from.passed_on.remove(&place);
            from.passed_on.extend(share.passed_on);
        }
        if let Some(object) = self.objects.get_mut(&share.object) {
            object.holders.remove(&place);
            self.note_release(share.object);
        }
    }

    /// Takes a share away, and all that was passed on from it.
    fn take_tree(&mut self, place: Place, why: HandleGone) {
        let mut next = vec![place];
        while let Some(place) = next.pop() {
            next.extend(self.share(place).into_iter().flat_map(|share| mem::take(&mut share.passed_on)));
            self.take(place, why);
        }
    }

    fn note_release(&mut self, name: Name) {
        if self.objects.get(&name).is_some_and(|object| object.holders.is_empty() && object.uses == 0) {
            self.released.insert(name);
        }
    }

    fn forget(&mut self, name: Name) {
        self.released.remove(&name);
        if self.objects.remove(&name).is_some()
            && let Some(count) = self.counts.get_mut(&name.0)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&name.0);
            }
        }
    }

    /// Whether `giver` owns the object of this share, or has given it, itself or by others.
    fn has_given(&mut self, giver: u32, place: Place) -> bool {
        let mut next = Some(place);
        while let Some(share) = next.and_then(|place| self.share(place)) {
            if share.object.0 == giver || share.giver == giver {
                return true;
            }
            next = share.from;
        }
        false
    }

    fn of_owner(&self, owner: u32) -> Vec<Name> {
        self.objects.range((owner, 0, 0)..=(owner, u16::MAX, u64::MAX)).map(|(name, _)| *name).collect()
    }
}

/// A handle of `holder` for an object of `owner`.
pub(crate) fn give(
    owner: Party<'_>,
    holder: Party<'_>,
    kind: u16,
    object: u64,
    rights: HandleRights,
) -> Result<Handle, HandleError> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    if kind > Handle::MAX_TYPE {
        return Err(HandleError::NoType { kind });
    }
    let name = (owner.id, kind, object);
    let mut book = book();
    owner.lives()?;
    holder.lives()?;
    let is_new = !book.objects.contains_key(&name);
    if is_new {
        let count = book.counts.entry(owner.id).or_default();
        if *count >= MAX_OBJECTS {
            return Err(HandleError::TooManyObjects { owner: owner.name.to_owned() });
        }
        *count += 1;
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        book.objects.insert(name, Object { serial, holders: BTreeSet::new(), uses: 0 });
    }
    let share =
        Share { object: name, rights, giver: owner.id, from: None, passed_on: BTreeSet::new(), depth: 0 };
    let given = book.put(holder, owner, share);
    match given {
        Ok(_) => _ = book.released.remove(&name),
        Err(_) if is_new => book.forget(name),
        Err(_) => {}
    }
    given
}

/// A handle of `to` for the object of `handle`, which `giver` holds.
pub(crate) fn pass_on(
    giver: Party<'_>,
    handle: Handle,
    to: Party<'_>,
    rights: HandleRights,
) -> Result<Handle, HandleError> {
    let mut book = book();
    giver.lives()?;
    to.lives()?;
    let share = book.find(giver, handle)?;
    let missing = (rights | HandleRights::PASS_ON).beyond(share.rights);
    if missing != 0 {
        let holder = giver.name.to_owned();
        return Err(HandleError::Rights { holder, number: handle.number(), missing });
    }
    if share.depth + 1 >= MAX_DEPTH {
        return Err(HandleError::TooDeep { number: handle.number() });
    }
    let share = Share {
        object: share.object,
        rights,
        giver: giver.id,
        from: Some((giver.id, handle.index())),
        passed_on: BTreeSet::new(),
        depth: share.depth + 1,
    };
    book.put(to, giver, share)
}

/// The object of `owner` that `holder` names by `handle`.
pub(crate) fn resolve(
    owner: Party<'_>,
    holder: Party<'_>,
    handle: Handle,
    kind: u16,
    rights: HandleRights,
) -> Result<ObjectInUse, HandleError> {
    let mut book = book();
    owner.lives()?;
    holder.lives()?;
    let share = book.find(holder, handle)?;
    let number = handle.number();
    if share.object.0 != owner.id {
        let (holder, owner) = (holder.name.to_owned(), owner.name.to_owned());
        return Err(HandleError::NotOwner { holder, number, owner });
    }
    if share.object.1 != kind {
        return Err(HandleError::Type { number, is: share.object.1, asked: kind });
    }
    let missing = (rights | HandleRights::USE).beyond(share.rights);
    if missing != 0 {
        return Err(HandleError::Rights { holder: holder.name.to_owned(), number, missing });
    }
    let (name, rights) = (share.object, share.rights);
    let unknown = || HandleError::Unknown { holder: holder.name.to_owned(), number };
    let object = book.objects.get_mut(&name).ok_or_else(unknown)?;
    object.uses += 1;
    Ok(ObjectInUse { name, serial: object.serial, rights })
}

/// `holder` gives its handle back.
pub(crate) fn release(holder: Party<'_>, handle: Handle) -> Result<(), HandleError> {
    let mut book = book();
    book.find(holder, handle)?;
    book.take((holder.id, handle.index()), HandleGone::Released);
    Ok(())
}

/// `giver` takes the handle of `holder` away, and all that were passed on from it.
pub(crate) fn revoke(giver: Party<'_>, holder: Party<'_>, handle: Handle) -> Result<(), HandleError> {
    let mut book = book();
    book.find(holder, handle)?;
    let place = (holder.id, handle.index());
    if !book.has_given(giver.id, place) {
        let (giver, holder) = (giver.name.to_owned(), holder.name.to_owned());
        return Err(HandleError::NotGiver { giver, holder, number: handle.number() });
    }
    book.take_tree(place, HandleGone::Revoked);
    Ok(())
}

/// The objects of `owner` without holders, with their types; each is told once.
pub(crate) fn take_released(owner: Party<'_>) -> Vec<(u16, u64)> {
    let mut book = book();
    let range = (owner.id, 0, 0)..=(owner.id, u16::MAX, u64::MAX);
    let names: Vec<Name> = book.released.range(range).copied().collect();
    for name in &names {
        book.forget(*name);
    }
    names.into_iter().map(|(_, kind, object)| (kind, object)).collect()
}

/// How many handles the domain holds.
pub(crate) fn held(holder: Party<'_>) -> usize {
    book().tables.get(&holder.id).map_or(0, |table| table.count)
}

/// A domain goes, or goes back to its pristine image: its handles end, and those for its objects.
pub(crate) fn end_domain(id: u32) {
    let mut book = book();
    let places = book.tables.get(&id).map_or(0, |table| table.slots.len() as u32);
    for index in 0..places {
        book.take((id, index), HandleGone::Released);
    }
    // The next life, or the next domain of this number, knows nothing of it.
    for slot in book.tables.get_mut(&id).into_iter().flat_map(|table| &mut table.slots) {
        slot.share = Err(None);
    }
    for name in book.of_owner(id) {
        let holders = book.objects.get_mut(&name).map(|object| mem::take(&mut object.holders));
        for place in holders.into_iter().flatten() {
            book.take(place, HandleGone::OwnerEnded);
        }
        book.forget(name);
    }
}
