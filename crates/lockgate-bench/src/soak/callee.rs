//! The procedures of `bench/soak.c`, bound, and what each must answer.

use crate::preset::Preset;
use fastrand::Rng;
use lockgate::{CallError, Callback, Domain, FaultKind, Function, HostFunction, OnFailure, Pointer};
use std::sync::{Arc, Mutex, PoisonError};

/// Prototypes of the procedures.
pub const EXPORTS: [&str; 7] = [
    "uint64_t mix(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t)",
    "double weigh(double, double, double, double, double, double, double, double, double)",
    "struct { uint64_t a, b, c, d; } spread(uint64_t)",
    "uint64_t exchange(uint32_t, uint64_t)",
    "uint64_t fold(uint64_t)",
    "uint64_t ask(void *, uint64_t)",
    "uint64_t crash(uint32_t)",
];

/// Arguments of `crash`, and what the call's error has to be.
pub const CRASHES: [(u32, FaultKind); 5] = [
    (0, FaultKind::Segv),
    (1, FaultKind::Ill),
    (2, FaultKind::Fpe),
    (3, FaultKind::StackOverflow),
    (4, FaultKind::Abort),
];

/// The argument of `crash` that never comes back.
pub const FOR_EVER: u32 = 5;

/// Slots of the module's memory that one user has.
const SLOTS: usize = 16;

lockgate::structure! {
    struct Spread { a: u64, b: u64, c: u64, d: u64 }
}

type Mix = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
type Weigh = extern "C" fn(f64, f64, f64, f64, f64, f64, f64, f64, f64) -> f64;

/// A callback.
pub type Answer = extern "C" fn(u64) -> u64;

/// The procedures of one domain under one preset, and what its user left in its slots.
pub struct Callee {
    mix: Function<Mix>,
    weigh: Function<Weigh>,
    spread: Function<extern "C" fn(u64) -> Spread>,
    exchange: Function<extern "C" fn(u32, u64) -> u64>,
    ask: Function<extern "C" fn(Pointer<u8>, u64) -> u64>,
    back: Pointer<u8>,
    /// The other domain's `fold`, under the same preset.
    across: Callback,
    first_slot: u32,
    /// Unknown until this user has put something there.
    slots: [Option<u64>; SLOTS],
}

impl Callee {
    /// Binds the procedures of `domain`, and lets it call `other`; `back` is a callback like [`answer`], `user` different for all who
    /// use the domain at one time.
    pub fn bind(
        domain: &Domain,
        other: &Domain,
        preset: Preset,
        back: Pointer<u8>,
        user: u32,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            mix: preset.bind(domain, "mix")?,
            weigh: preset.bind(domain, "weigh")?,
            spread: preset.bind(domain, "spread")?,
            exchange: preset.bind(domain, "exchange")?,
            ask: preset.bind(domain, "ask")?,
            back,
            across: domain.function_pointer(
                other,
                "uint64_t fold(uint64_t)",
                preset.policy,
                OnFailure::Propagate,
            )?,
            first_slot: user * SLOTS as u32,
            slots: [None; SLOTS],
        })
    }

    /// Has the domain call `function`, which must not return.
    pub fn ask_in_vain(&self, function: &Callback, argument: u64) -> Result<u64, CallError> {
        self.ask.call(function.pointer(), argument)
    }

    /// Makes one call of some kind; false if the answer is wrong.
    pub fn call(&mut self, random: &mut Rng) -> anyhow::Result<bool> {
        let x = random.u64(..);
        Ok(match random.u64(..9) {
            0..=2 => {
                let [a, b, c, d, e, f, g, h] = eight(x);
                self.mix.call(a, b, c, d, e, f, g, h)? == mix(eight(x))
            }
            3 | 4 => {
                // Whole numbers, so that the sum is exact.
                let [a, b, c, d, e, f, g, h] = eight(x).map(|n| (n >> 40) as f64);
                let sum = a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * e + 6.0 * f + 7.0 * g + 8.0 * h + 9.0 * a;
                self.weigh.call(a, b, c, d, e, f, g, h, a)? == sum
            }
            5 => {
                let Spread { a, b, c, d } = self.spread.call(x)?;
                [a, b, c, d] == [x, !x, x.wrapping_add(1), x.rotate_left(32)]
            }
            6 => {
                let slot = random.u64(..SLOTS as u64) as usize;
                let before = self.exchange.call(self.first_slot + slot as u32, x)?;
                self.slots[slot].replace(x).is_none_or(|expected| expected == before)
            }
            7 => self.ask.call(self.back, x)? == answer(x).wrapping_add(1),
            _ => self.ask.call(self.across.pointer(), x)? == answer(x).wrapping_add(1),
        })
    }
}

/// What the callbacks answer.
pub extern "C" fn answer(x: u64) -> u64 {
    mix(eight(x))
}

/// A callback like [`answer`] that asks the domain which calls it: a call within a callback within a call.
///
/// A domain keeps what its callbacks captured, and a bound function keeps its domain; so the function is taken out of
/// the closure at the end, lest both stay for ever.
pub struct Nested(Arc<Mutex<Option<Function<Mix>>>>);

impl Nested {
    /// The callback for `domain`, which stays useful as long as this does.
    pub fn new(domain: &Domain) -> anyhow::Result<(Nested, HostFunction)> {
        let nested = Nested(Arc::new(Mutex::new(Some(domain.bind::<Mix>("mix")?))));
        let mix = nested.0.clone();
        let function = HostFunction::new(move |_: &Domain, x: u64| {
            let [a, b, c, d, e, f, g, h] = eight(x);
            let mix = mix.lock().unwrap_or_else(PoisonError::into_inner);
            mix.as_ref().and_then(|mix| mix.call(a, b, c, d, e, f, g, h).ok()).unwrap_or_else(|| {
                lockgate::end_call("the nested call failed");
                0
            })
        });
        Ok((nested, function))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Eight numbers from one.
fn eight(x: u64) -> [u64; 8] {
    std::array::from_fn(|n| x.rotate_left(n as u32 * 7).wrapping_add(n as u64))
}

/// `mix` of `bench/soak.c`.
fn mix(numbers: [u64; 8]) -> u64 {
    numbers.iter().zip(0..).fold(0, |mixed, (number, n)| mixed ^ number.rotate_left(8 * n))
}
