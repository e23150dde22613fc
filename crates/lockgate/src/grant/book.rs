//! Who has what: every grant of the process, under one lock.
//!
//! A domain has a region because the host has granted it, because domains that have it have passed it on by themselves, or both. The host comes
//! first: what it grants bounds what others give. Each of them may end alone, so each is written down; what is mapped is the most that
//! any of them allows. A domain counts as one that gives only as long as there is a way from a grant of the host's to it: two that give to
//! each other do not keep each other's right.
//!
//! Grants are made and revoked seldom, and each change ends in a system call that takes the process's own lock of its address
//! space: finer locks would gain nothing. What a grant allows now is asked often: that is a word of its own, and takes no lock.
use super::{GrantError, MAX_GRANTS, MAX_PASSED_ON, Region, Rights};
use crate::host::{PerProcess, end_process, locked};
use crate::space::{self, Stride};
use lockgate_abi::window;
use lockgate_syscall::Protection;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Index of the domain's stride, window offset of the region.
pub(super) type Key = (u32, u64);

/// Where a region goes: a domain's window.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    /// Name of the domain.
    pub name: &'a str,
    pub stride: &'a Arc<Stride>,
}

/// A region in a window.
struct Entry {
    region: Region,
    stride: Arc<Stride>,
    /// What is mapped: the most that any giver allows.
    rights: Rights,
    host: Option<ByHost>,
    /// Domains that have passed it on to this one by themselves, each with what it gives: never more than it has, nor than the host grants.
    givers: BTreeMap<u32, Rights>,
    /// Domains that have it from this one, by the host or by itself.
    receivers: BTreeSet<u32>,
}

/// What the host allows a domain.
struct ByHost {
    /// Tells it from earlier grants with the same key.
    serial: u64,
    rights: Rights,
    /// The same, for those who have the grant.
    allowed: Arc<Allowed>,
    /// The domain from whose grant the host has passed it on: it ends with that.
    from: Option<u32>,
}

/// What a grant allows now. It is less before the kernel knows, and never more.
#[derive(Debug)]
pub(super) struct Allowed(AtomicU8);

impl Allowed {
    const NOTHING: u8 = 0;

    fn new(rights: Rights) -> Allowed {
        Allowed(AtomicU8::new(Allowed::number(rights)))
    }

    fn number(rights: Rights) -> u8 {
        match rights {
            Rights::Read => 1,
            Rights::ReadWrite => 2,
        }
    }

    fn set(&self, rights: Option<Rights>) {
        self.0.store(rights.map_or(Allowed::NOTHING, Allowed::number), Ordering::Release);
    }

    pub(super) fn get(&self) -> Option<Rights> {
        [Rights::Read, Rights::ReadWrite]
            .into_iter()
            .find(|rights| Allowed::number(*rights) == self.0.load(Ordering::Acquire))
    }
}

#[derive(Default)]
pub(super) struct Book(BTreeMap<Key, Entry>);

static BOOK: PerProcess<Mutex<Book>> = PerProcess::new(Mutex::default);

pub(super) fn book() -> MutexGuard<'static, Book> {
    locked(&BOOK)
}

impl Book {
    /// Writes down that the host grants `region` to `domain`, `from` the grant of another domain perhaps, and maps it. Its serial number, and
    /// what it allows.
    ///
    /// # Errors
    /// [`GrantError::Overlap`]: the host has granted it already. [`GrantError::TooMany`], [`GrantError::Forked`], the kernel's. Nothing has
    /// changed then, unless the kernel could not lower the rights that domains had passed on: some have lost the region.
    pub(super) fn grant(
        &mut self,
        domain: Window<'_>,
        region: &Region,
        rights: Rights,
        from: Option<u32>,
    ) -> Result<(Key, u64, Arc<Allowed>), GrantError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let key = place(domain, region)?;
        let by_host = |entry: &Entry| entry.host.is_some();
        if self.0.get(&key).is_some_and(by_host) {
            return Err(GrantError::Overlap { domain: domain.name.to_owned(), offset: key.1 });
        }
        // (What domains have passed on takes no place of the host's.)
        if self.count(key.0, by_host) >= MAX_GRANTS {
            return Err(GrantError::TooMany { domain: domain.name.to_owned() });
        }
        let entry = self.mapped(key, domain.stride, region, rights)?;
        let (serial, allowed) = (SERIAL.fetch_add(1, Ordering::Relaxed), Arc::new(Allowed::new(rights)));
        entry.host = Some(ByHost { serial, rights, allowed: allowed.clone(), from });
        if rights < entry.rights
            && let Err(error) = self.settle(key.1, [key.0])
        {
            self.revoke(key);
            return Err(GrantError::system("lower rights that a domain has passed on")(error));
        }
        if let Some(from) = from.and_then(|from| self.0.get_mut(&(from, key.1))) {
            from.receivers.insert(key.0);
        }
        Ok((key, serial, allowed))
    }

    /// What the host's grant with this serial number allows.
    ///
    /// # Errors
    /// [`GrantError::Revoked`].
    pub(super) fn granted(&self, key: Key, serial: u64) -> Result<Rights, GrantError> {
        let host = self.0.get(&key).and_then(|entry| entry.host.as_ref());
        let host = host.filter(|host| host.serial == serial);
        host.map(|host| host.rights).ok_or(GrantError::Revoked { offset: key.1 })
    }

    /// The host grants these rights only, here and to whom it has passed the grant on.
    ///
    /// # Errors
    /// The kernel's: some have lost the region instead.
    pub(super) fn lower(&mut self, key: Key, rights: Rights) -> Result<(), GrantError> {
        let domains = self.passed_on_by_host(key);
        for id in &domains {
            let host = self.0.get_mut(&(*id, key.1)).and_then(|entry| entry.host.as_mut());
            if let Some(host) = host.filter(|host| host.rights > rights) {
                host.allowed.set(Some(rights));
                host.rights = rights;
            }
        }
        self.settle(key.1, domains).map_err(GrantError::system("lower the rights of the grant"))
    }

    /// The host's grant ends, and what it has passed on from it.
    pub(super) fn revoke(&mut self, key: Key) {
        let domains = self.passed_on_by_host(key);
        for id in &domains {
            let host = self.0.get_mut(&(*id, key.1)).and_then(|entry| entry.host.take());
            if let Some(host) = host {
                host.allowed.set(None);
                host.from.inspect(|from| self.part(*from, *id, key.1));
            }
        }
        // (It loses rights that it was to keep at worst.)
        let _ = self.settle(key.1, domains);
    }

    /// The region is in the window, with these rights at least.
    fn mapped(
        &mut self,
        key: Key,
        stride: &Arc<Stride>,
        region: &Region,
        rights: Rights,
    ) -> Result<&mut Entry, GrantError> {
        match self.0.entry(key) {
            btree_map::Entry::Occupied(entry) => {
                let entry = entry.into_mut();
                if rights > entry.rights {
                    let raised = entry.stride.protect(key.1, entry.region.length(), rights.into());
                    raised.map_err(GrantError::system("raise the rights on the region"))?;
                    entry.rights = rights;
                }
                Ok(entry)
            }
            btree_map::Entry::Vacant(vacant) => {
                let mapped = region.memory().map_into(stride, key.1, rights);
                mapped.map_err(GrantError::system("map the region into the window"))?;
                let (region, stride) = (region.clone(), stride.clone());
                let (givers, receivers) = (BTreeMap::new(), BTreeSet::new());
                Ok(vacant.insert(Entry { region, stride, rights, host: None, givers, receivers }))
            }
        }
    }

    /// Brings what domains have into line with what their givers have, after rights of the domains `changed` have shrunk: theirs, and those
    /// of all who have it from them.
    ///
    /// # Errors
    /// The kernel's, which could not lower some rights: those domains have lost the region.
    fn settle(&mut self, offset: u64, changed: impl IntoIterator<Item = u32>) -> Result<(), Errno> {
        let affected = self.behind(offset, changed);
        let writers = self.who_has(offset, &affected, Rights::ReadWrite);
        let readers = self.who_has(offset, &affected, Rights::Read);
        let now = |id: u32| match (writers.contains(&id), readers.contains(&id)) {
            (true, _) => Some(Rights::ReadWrite),
            (false, true) => Some(Rights::Read),
            (false, false) => None,
        };
        let (mut parted, mut lost, mut result) = (Vec::new(), Vec::new(), Ok(()));
        for &id in &affected {
            let Some(mut entry) = self.0.remove(&(id, offset)) else { continue };
            let most = entry.host.as_ref().map_or(Rights::ReadWrite, |host| host.rights);
            entry.givers.retain(|giver, given| {
                let held = if affected.contains(giver) { now(*giver) } else { self.rights(*giver, offset) };
                match held {
                    Some(held) => *given = held.min(*given).min(most),
                    None => parted.push((*giver, id)),
                }
                held.is_some()
            });
            let Some(rights) = now(id) else {
                withdraw(&entry, offset);
                continue;
            };
            if rights < entry.rights {
                let lowered = entry.stride.protect(offset, entry.region.length(), rights.into());
                if let Err(error) = lowered {
                    result = Err(error);
                    lost.push(id);
                }
                entry.rights = rights;
            }
            self.0.insert((id, offset), entry);
        }
        for (giver, receiver) in parted {
            self.part(giver, receiver, offset);
        }
        for id in lost {
            self.end(id, offset);
        }
        result
    }

    /// These domains and all who have the region from them.
    fn behind(&self, offset: u64, domains: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
        let (mut all, mut next) = (BTreeSet::new(), Vec::from_iter(domains));
        while let Some(id) = next.pop() {
            if all.insert(id) {
                next.extend(self.receivers(id, offset));
            }
        }
        all
    }

    /// Of the domains `affected`, those that are given these rights by the host, or by a domain that has them, which is none of
    /// `affected` or found to have them itself.
    fn who_has(&self, offset: u64, affected: &BTreeSet<u32>, rights: Rights) -> BTreeSet<u32> {
        let outside = |giver| !affected.contains(&giver) && self.rights(giver, offset) >= Some(rights);
        let is_given_outside = |id: &u32| {
            self.0.get(&(*id, offset)).is_some_and(|entry| match &entry.host {
                Some(host) => host.rights >= rights,
                None => entry.givers.iter().any(|(giver, given)| *given >= rights && outside(*giver)),
            })
        };
        let gives = |giver: u32, to: u32| {
            let entry = self.0.get(&(to, offset)).filter(|entry| entry.host.is_none());
            entry.and_then(|entry| entry.givers.get(&giver)) >= Some(&rights)
        };
        let mut next: Vec<u32> = affected.iter().copied().filter(is_given_outside).collect();
        let mut found = BTreeSet::new();
        while let Some(id) = next.pop() {
            if found.insert(id) {
                next.extend(self.receivers(id, offset).filter(|to| affected.contains(to) && gives(id, *to)));
            }
        }
        found
    }

    /// Takes the region away from a domain, and from all who have it from there.
    fn end(&mut self, id: u32, offset: u64) {
        self.revoke((id, offset));
        let givers = self.0.get_mut(&(id, offset)).map(|entry| std::mem::take(&mut entry.givers));
        for giver in givers.into_iter().flatten() {
            self.part(giver.0, id, offset);
        }
        let _ = self.settle(offset, [id]);
    }

    /// `receiver` has lost what it had from `giver`, by the host or by itself; perhaps it has it still the other way.
    fn part(&mut self, giver: u32, receiver: u32, offset: u64) {
        let has = |entry: &Entry| {
            let by_host = entry.host.as_ref().is_some_and(|host| host.from == Some(giver));
            by_host || entry.givers.contains_key(&giver)
        };
        if !self.0.get(&(receiver, offset)).is_some_and(has)
            && let Some(giver) = self.0.get_mut(&(giver, offset))
        {
            giver.receivers.remove(&receiver);
        }
    }

    /// A domain and those to whom the host has passed its grant on. (The host grants a region to a domain once, so this is a tree.)
    fn passed_on_by_host(&self, (id, offset): Key) -> Vec<u32> {
        let mut all = vec![id];
        let mut next = 0;
        while let Some(&giver) = all.get(next) {
            let receivers = self.receivers(giver, offset);
            let host = |to: &u32| self.0.get(&(*to, offset)).and_then(|entry| entry.host.as_ref());
            all.extend(receivers.filter(|to| host(to).is_some_and(|host| host.from == Some(giver))));
            next += 1;
        }
        all
    }

    fn receivers(&self, id: u32, offset: u64) -> impl Iterator<Item = u32> {
        self.0.get(&(id, offset)).into_iter().flat_map(|entry| entry.receivers.iter().copied())
    }

    fn rights(&self, id: u32, offset: u64) -> Option<Rights> {
        self.0.get(&(id, offset)).map(|entry| entry.rights)
    }

    fn of_domain(&self, id: u32) -> impl Iterator<Item = (&Key, &Entry)> {
        self.0.range((id, 0)..=(id, u64::MAX))
    }

    /// The region of a domain that holds all of the `size` bytes at window offset `at`, and its offset.
    fn around(&self, id: u32, (at, size): (u64, u64)) -> Result<(u64, &Entry), GrantError> {
        let found = self.0.range((id, 0)..=(id, at)).next_back();
        let (&(_, offset), entry) = found.ok_or(GrantError::Range { at, size, length: 0 })?;
        let (length, from_start) = (entry.region.length(), at - offset);
        if from_start.checked_add(size).is_none_or(|end| end > length) || from_start >= length {
            return Err(GrantError::Range { at: from_start, size, length });
        }
        Ok((offset, entry))
    }

    fn count(&self, id: u32, which: impl Fn(&Entry) -> bool) -> usize {
        self.of_domain(id).filter(|(_, entry)| which(entry)).count()
    }
}

/// Where the region is in the domain's window.
fn place(domain: Window<'_>, region: &Region) -> Result<Key, GrantError> {
    if space::is_inherited(domain.stride.base()) {
        return Err(GrantError::Forked { domain: domain.name.to_owned() });
    }
    Ok((domain.stride.index(), region.place()?))
}

/// Passes the region that holds `size` bytes at window offset `at` of the domain `giver` on to `to`, by the wish of `giver`'s module: until the
/// giver loses it. `may` is asked under the lock: what is given to a domain before it ends, its end takes away, and a host that has forbidden
/// it, and [waits](wait_for_givers), knows that nothing more is given.
///
/// # Errors
/// [`GrantError::Range`] if no region is there; [`GrantError::Upgrade`]: the giver has less, or the host has granted less to `to`;
/// [`GrantError::Overlap`]: `to` has it from the giver already, with these rights or more; [`GrantError::TooMany`]; the kernel's;
/// [`GrantError::Revoked`]: it may not.
pub(crate) fn pass_on_from(
    giver: u32,
    (at, size): (u64, u64),
    to: Window<'_>,
    rights: Rights,
    may: impl FnOnce() -> bool,
) -> Result<(), GrantError> {
    let mut book = book();
    let (offset, entry) = book.around(giver, (at, size))?;
    if !may() {
        return Err(GrantError::Revoked { offset });
    }
    let (region, held) = (entry.region.clone(), entry.rights);
    let key = place(to, &region)?;
    let before = book.0.get(&key);
    let granted = before.and_then(|entry| entry.host.as_ref()).map_or(held, |host| host.rights);
    let held = held.min(granted);
    GrantError::unless_within(rights, held)?;
    if key.0 == giver || before.and_then(|entry| entry.givers.get(&giver)) >= Some(&rights) {
        return Err(GrantError::Overlap { domain: to.name.to_owned(), offset });
    }
    // By giver: none takes places away that are others' to fill.
    let has_passed_on = |entry: &Entry| entry.givers.contains_key(&giver);
    if !before.is_some_and(has_passed_on) && book.count(key.0, has_passed_on) >= MAX_PASSED_ON {
        return Err(GrantError::TooMany { domain: to.name.to_owned() });
    }
    book.mapped(key, to.stride, &region, rights)?.givers.insert(giver, rights);
    if let Some(entry) = book.0.get_mut(&(giver, offset)) {
        entry.receivers.insert(key.0);
    }
    Ok(())
}

/// What a domain may do now with the region that holds all of the `size` bytes at window offset `at`.
///
/// # Errors
/// [`GrantError::Range`] if no region is there.
pub(crate) fn rights_at(id: u32, at: u64, size: u64) -> Result<Rights, GrantError> {
    Ok(book().around(id, (at, size))?.1.rights)
}

/// The region that holds the word at window offset `at` of a domain, the word's place in it, and what the domain may do there.
pub(crate) fn shared_word(id: u32, at: u64) -> Option<(Region, u64, Rights)> {
    // (All others need no lock.)
    if !(window::SHARED..window::SHARED_END).contains(&at) {
        return None;
    }
    let book = book();
    let (&(_, offset), entry) = book.0.range((id, 0)..=(id, at)).next_back()?;
    let from_start = at - offset;
    (from_start + 4 <= entry.region.length()).then(|| (entry.region.clone(), from_start, entry.rights))
}

/// When this returns, no domain passes anything on that has asked before whether it may.
pub(crate) fn wait_for_givers() {
    drop(book());
}

/// Revokes every grant of a domain that goes, or goes back to its pristine image.
pub(crate) fn end_domain(id: u32) {
    let mut book = book();
    let all: Vec<u64> = book.of_domain(id).map(|(key, _)| key.1).collect();
    for offset in all {
        book.end(id, offset);
    }
}

/// Whether the domain has any region.
pub(crate) fn has_any(id: u32) -> bool {
    book().of_domain(id).next().is_some()
}

/// When this returns no processor has a translation of the pages left: the kernel has interrupted those that had.
fn withdraw(entry: &Entry, offset: u64) {
    let length = entry.region.length();
    let cleared = entry.stride.clear(offset, length);
    // Taking rights needs no memory where replacing the mapping does. If even that fails the kernel breaks its word, and
    // a domain keeps what it must not have.
    let withdrawn = cleared.or_else(|_| entry.stride.protect(offset, length, Protection::None));
    if let Err(error) = withdrawn {
        end_process(format_args!("a grant cannot be revoked ({error})"));
    }
}
