//! Section "Other processes" of the header: the side that has the functions.
use crate::call::{freed, made};
use crate::described::Described;
use crate::error::Failure;
use crate::handle::{Handle, Handled};
use crate::registry_sys::RegistryObject;
use crate::text_sys::{bytes, text};
use lockgate_programs::share::{Limits, Offer, Served, serve};
use std::ffi::c_char;
use std::path::Path;
use std::sync::Mutex;

/// What `lg_offer` stands for.
pub type OfferObject = Described<(Offer, Limits)>;

impl Handled for OfferObject {
    const WHAT: &'static str = "an offer";
}

/// What `lg_served` stands for.
pub struct ServedObject {
    /// Its end is what it is for.
    _served: Mutex<Served>,
}

impl Handled for ServedObject {
    const WHAT: &'static str = "what is served";
}

/// Nothing is offered.
#[unsafe(no_mangle)]
pub extern "C" fn lg_offer_new() -> Handle<OfferObject> {
    made(|| Ok(OfferObject::new((Offer::new(), Limits::default()))))
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn lg_offer_free(offer: Handle<OfferObject>) -> i32 {
    freed(offer)
}

/// Offers a name whose function takes values.
///
/// # Safety
/// `name` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_offer_name(offer: Handle<OfferObject>, name: *const c_char) -> i32 {
    // SAFETY: the caller's string.
    offer.change(|(offer, limits)| Ok((offer.name(unsafe { text(name, "name")? }), limits)))
}

/// Offers a name whose function takes arrays, too.
///
/// # Safety
/// `name` and `prototype` are strings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_offer_function(
    offer: Handle<OfferObject>,
    name: *const c_char,
    prototype: *const c_char,
) -> i32 {
    offer.change(|(offer, limits)| {
        // SAFETY: the caller's strings.
        let (name, prototype) = unsafe { (text(name, "name")?, text(prototype, "prototype")?) };
        Ok((offer.function(name, prototype), limits))
    })
}

/// A number that must not be 0.
fn some<T: PartialEq + From<u8>>(number: T, what: &str) -> Result<T, Failure> {
    if number == T::from(0) { Err(Failure::argument(format!("{what} is 0"))) } else { Ok(number) }
}

/// How many clients there may be.
#[unsafe(no_mangle)]
pub extern "C" fn lg_offer_limit_clients(offer: Handle<OfferObject>, clients: u32, of_user: u32) -> i32 {
    offer.change(|(offer, limits)| {
        let (clients, clients_of_user) =
            (some(clients, "clients")? as usize, some(of_user, "of_user")? as usize);
        Ok((offer, Limits { clients, clients_of_user, ..limits }))
    })
}

/// How many calls a client may make at once, and how many functions it may have bound.
#[unsafe(no_mangle)]
pub extern "C" fn lg_offer_limit_client(offer: Handle<OfferObject>, calls: u32, functions: u32) -> i32 {
    offer.change(|(offer, limits)| {
        let (threads, functions) = (some(calls, "calls")?, some(functions, "functions")? as usize);
        Ok((offer, Limits { threads, functions, ..limits }))
    })
}

/// How many bytes the arrays of a call may have.
#[unsafe(no_mangle)]
pub extern "C" fn lg_offer_limit_bytes(offer: Handle<OfferObject>, bytes: u64) -> i32 {
    offer.change(|(offer, limits)| Ok((offer, Limits { bytes: some(bytes, "bytes")?, ..limits })))
}

/// Offers names of a registry to other processes.
///
/// # Safety
/// `path` is a string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lg_registry_serve(
    registry: Handle<RegistryObject>,
    path: *const c_char,
    offer: Handle<OfferObject>,
) -> Handle<ServedObject> {
    made(|| {
        // SAFETY: the caller's string.
        let path = Path::new(unsafe { bytes(path, "path")? });
        let (offer, limits) = offer.described()?;
        let served = serve(&registry.registry()?, path, offer.limits(limits))?;
        Ok(ServedObject { _served: Mutex::new(served) })
    })
}

/// Ends that.
#[unsafe(no_mangle)]
pub extern "C" fn lg_served_free(served: Handle<ServedObject>) -> i32 {
    freed(served)
}
