//! Who has what: every grant of the process, under one lock, and the handles of them.
//!
//! Grants are made and revoked seldom, and each change ends in a system call that takes the process's own lock of its address
//! space: finer locks would gain nothing. What a grant allows now is asked often: that is a word of its own, and takes no lock.
use super::{GrantError, MAX_GRANTS, MAX_PASSED_ON, Region, Rights};
use crate::host::{PerProcess, end_process};
use crate::memory::Pointer;
use crate::space::{self, Stride};
use lockgate_syscall::Protection;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Index of the domain's stride, window offset of the region.
type Key = (u32, u64);

/// Where a region goes: a domain's window.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    /// Name of the domain.
    pub name: &'a str,
    pub stride: &'a Arc<Stride>,
}

/// A region in a window.
struct Entry {
    /// Tells it from earlier grants with the same key.
    serial: u64,
    rights: Rights,
    /// The same, for those who have the grant.
    allowed: Arc<Allowed>,
    region: Region,
    stride: Arc<Stride>,
    /// The domain from which it was passed on to this one, by the host, or
    from: Option<u32>,
    /// by that domain itself: what the host then gives takes its place.
    by_domain: bool,
    /// Domains that have it from this one.
    passed_on: Vec<u32>,
}

/// What a grant allows now. It is less before the kernel knows, and never more.
#[derive(Debug)]
struct Allowed(AtomicU8);

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

    fn get(&self) -> Option<Rights> {
        [Rights::Read, Rights::ReadWrite]
            .into_iter()
            .find(|rights| Allowed::number(*rights) == self.0.load(Ordering::Acquire))
    }
}

static BOOK: PerProcess<Mutex<BTreeMap<Key, Entry>>> = PerProcess::new(Mutex::default);

fn book() -> MutexGuard<'static, BTreeMap<Key, Entry>> {
    BOOK.lock().unwrap_or_else(|e| e.into_inner())
}

/// A domain's right on a region. Dropping it revokes it.
#[derive(Debug)]
#[must_use = "a grant that is dropped is revoked"]
pub struct Grant {
    key: Key,
    serial: u64,
    allowed: Arc<Allowed>,
    /// `W`.
    window: u64,
    /// The domain's name.
    domain: String,
    region: Region,
}

impl Grant {
    /// A right from the host.
    pub(crate) fn new(domain: Window<'_>, region: &Region, rights: Rights) -> Result<Grant, GrantError> {
        Grant::add(&mut book(), domain, region, rights, region.rights(), None)
    }

    fn add(
        book: &mut BTreeMap<Key, Entry>,
        domain: Window<'_>,
        region: &Region,
        rights: Rights,
        held: Rights,
        from: Option<u32>,
    ) -> Result<Grant, GrantError> {
        let (key, serial, allowed) = enter(book, domain, region, rights, held, (from, false))?;
        let (window, domain) = (domain.stride.base(), domain.name.to_owned());
        Ok(Grant { key, serial, allowed, window, domain, region: region.clone() })
    }

    /// The region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// What the domain may do with it now.
    ///
    /// # Errors
    /// [`GrantError::Revoked`].
    pub fn rights(&self) -> Result<Rights, GrantError> {
        if space::is_inherited(self.window) {
            return Err(GrantError::Forked { domain: self.domain.clone() });
        }
        self.allowed.get().ok_or(GrantError::Revoked { offset: self.key.1 })
    }

    /// Address for the domain of the value at byte `at` of the region.
    ///
    /// # Errors
    /// [`GrantError::Range`] if it is not inside the region or not aligned, [`GrantError::Revoked`].
    pub fn pointer<T>(&self, at: u64) -> Result<Pointer<T>, GrantError> {
        self.pointer_for(at, Rights::Read)
    }

    /// The same, if the domain has these rights.
    pub(super) fn pointer_for<T>(&self, at: u64, rights: Rights) -> Result<Pointer<T>, GrantError> {
        let held = self.rights()?;
        if rights > held {
            return Err(GrantError::Upgrade { asked: rights, held });
        }
        let at = self.region.part::<T>(at, 1)?;
        Ok(Pointer::from_address(self.window + self.key.1 + at))
    }

    /// Takes rights away, here and from everybody who has them from here. In force before it returns, also for threads
    /// that are in the domains.
    ///
    /// # Errors
    /// [`GrantError::Upgrade`] if `rights` are more than the grant has, [`GrantError::Revoked`].
    pub fn downgrade(&self, rights: Rights) -> Result<(), GrantError> {
        let mut book = book();
        let held = self.entry(&mut book)?.rights;
        if rights > held {
            return Err(GrantError::Upgrade { asked: rights, held });
        }
        for key in tree(&book, self.key) {
            let Some(entry) = book.get_mut(&key).filter(|entry| entry.rights > rights) else { continue };
            entry.allowed.set(Some(rights));
            let protected = entry.stride.protect(key.1, entry.region.length(), rights.into());
            protected.map_err(|error| {
                entry.allowed.set(Some(entry.rights));
                GrantError::system("lower the rights of the grant")(error)
            })?;
            entry.rights = rights;
        }
        Ok(())
    }

    /// The same region, in another window, with these rights or fewer than this grant has.
    ///
    /// # Errors
    /// As [`new`](Grant::new); [`GrantError::Upgrade`], [`GrantError::Revoked`].
    pub(crate) fn pass_on_to(&self, to: Window<'_>, rights: Rights) -> Result<Grant, GrantError> {
        let mut book = book();
        let held = self.entry(&mut book)?.rights;
        let grant = Grant::add(&mut book, to, &self.region, rights, held, Some(self.key.0))?;
        self.entry(&mut book)?.passed_on.push(grant.key.0);
        Ok(grant)
    }

    /// Takes the region away from the domain, and from everybody who has it from here. In force before it returns: a later
    /// access, also by a thread that is in one of the domains now, is a fault of its call.
    pub fn revoke(self) {
        drop(self);
    }

    fn entry<'a>(&self, book: &'a mut BTreeMap<Key, Entry>) -> Result<&'a mut Entry, GrantError> {
        if space::is_inherited(self.window) {
            return Err(GrantError::Forked { domain: self.domain.clone() });
        }
        let entry = book.get_mut(&self.key).filter(|entry| entry.serial == self.serial);
        entry.ok_or(GrantError::Revoked { offset: self.key.1 })
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let mut book = book();
        if self.entry(&mut book).is_ok() {
            remove(&mut book, self.key);
        }
    }
}

/// Maps a region into a window, and writes it down: who passed it on, and whether that was a domain itself.
fn enter(
    book: &mut BTreeMap<Key, Entry>,
    domain: Window<'_>,
    region: &Region,
    rights: Rights,
    held: Rights,
    (from, by_domain): (Option<u32>, bool),
) -> Result<(Key, u64, Arc<Allowed>), GrantError> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let name = || domain.name.to_owned();
    if space::is_inherited(domain.stride.base()) {
        return Err(GrantError::Forked { domain: name() });
    }
    let (stride, offset) = (domain.stride, region.place()?);
    let key = (stride.index(), offset);
    if rights > held {
        return Err(GrantError::Upgrade { asked: rights, held });
    }
    match book.get(&key) {
        Some(old) if old.by_domain && !by_domain => remove(book, key),
        Some(_) => return Err(GrantError::Overlap { domain: name(), offset }),
        None => {}
    }
    // No domain takes places away that are the host's to fill.
    let alike = |key: &Key| book.get(key).is_some_and(|entry| entry.by_domain == by_domain);
    let most = if by_domain { MAX_PASSED_ON } else { MAX_GRANTS };
    if of_domain(book, key.0).filter(alike).count() >= most {
        return Err(GrantError::TooMany { domain: name() });
    }
    let mapped = region.memory().map_into(stride, offset, rights);
    mapped.map_err(GrantError::system("map the region into the window"))?;
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let (stride, passed_on) = (stride.clone(), Vec::new());
    let allowed = Arc::new(Allowed::new(rights));
    let region = region.clone();
    let entry =
        Entry { serial, rights, allowed: allowed.clone(), region, stride, from, by_domain, passed_on };
    book.insert(key, entry);
    Ok((key, serial, allowed))
}
/// Passes the region that holds `size` bytes at window offset `at` of the domain `giver` on to `to`, by the wish of `giver`'s module: until the
/// giver loses it. `ended` is asked under the lock: what is given to a domain before it ends, its end takes away.
///
/// # Errors
/// [`GrantError::Range`] if no region is there; as [`Domain::grant`](crate::Domain::grant); [`GrantError::Revoked`] if `to` has ended.
pub(crate) fn pass_on_from(
    giver: u32,
    (at, size): (u64, u64),
    to: Window<'_>,
    rights: Rights,
    ended: impl FnOnce() -> bool,
) -> Result<(), GrantError> {
    let mut book = book();
    let found = book.range((giver, 0)..=(giver, at)).next_back();
    let (key, entry) = found.ok_or(GrantError::Range { at, size, length: 0 })?;
    let (length, from_start, key) = (entry.region.length(), at - key.1, *key);
    if from_start.checked_add(size).is_none_or(|end| end > length) || from_start >= length {
        return Err(GrantError::Range { at: from_start, size, length });
    }
    if ended() {
        return Err(GrantError::Revoked { offset: key.1 });
    }
    let (region, held) = (entry.region.clone(), entry.rights);
    let (new, ..) = enter(&mut book, to, &region, rights, held, (Some(giver), true))?;
    if let Some(entry) = book.get_mut(&key) {
        entry.passed_on.push(new.0);
    }
    Ok(())
}

/// Revokes every grant of a domain that goes, or goes back to its pristine image.
pub(crate) fn end_domain(id: u32) {
    let mut book = book();
    let all: Vec<Key> = of_domain(&book, id).collect();
    for key in all {
        remove(&mut book, key);
    }
}

/// Whether the domain has any region.
pub(crate) fn has_any(id: u32) -> bool {
    of_domain(&book(), id).next().is_some()
}

fn of_domain(book: &BTreeMap<Key, Entry>, id: u32) -> impl Iterator<Item = Key> + '_ {
    book.range((id, 0)..=(id, u64::MAX)).map(|(key, _)| *key)
}

/// `key` and all that was passed on from it. (A domain has a region once, so there are no circles.)
fn tree(book: &BTreeMap<Key, Entry>, key: Key) -> Vec<Key> {
    let mut all = vec![key];
    let mut next = 0;
    while let Some(&key) = all.get(next) {
        let children = book.get(&key).into_iter().flat_map(|entry| &entry.passed_on);
        all.extend(children.map(|child| (*child, key.1)));
        next += 1;
    }
    all
}

fn remove(book: &mut BTreeMap<Key, Entry>, key: Key) {
    let giver = book.get(&key).and_then(|entry| entry.from);
    if let Some(giver) = giver.and_then(|id| book.get_mut(&(id, key.1))) {
        giver.passed_on.retain(|id| *id != key.0);
    }
    for key in tree(book, key) {
        if let Some(entry) = book.remove(&key) {
            entry.allowed.set(None);
            withdraw(&entry, key.1);
        }
    }
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
