//! `lg_policy`: a policy in one word.
use crate::error::Failure;
use lockgate::{CallLimit, Expiry, OnFailure, Policy, Properties, Rights};
use std::time::Duration;

/// Bits of `lg_policy`: the client's properties, the server's, and what is counted.
const SERVER: u32 = 8;
const COUNTED: u32 = 1 << 16;
const TIMED: u32 = 1 << 17;
/// Stands for the default where a policy is asked for.
const DEFAULT: u32 = 1 << 31;
const PROPERTIES: [(u32, Properties); 3] = [
    (1, Properties::REGISTER_INTEGRITY),
    (2, Properties::REGISTER_CONFIDENTIALITY),
    (4, Properties::CPU_STATE),
];

/// The policy of a word.
///
/// # Errors
/// Bits that mean nothing.
pub(crate) fn policy(word: u32, default: Policy) -> Result<Policy, Failure> {
    if word == DEFAULT {
        return Ok(default);
    }
    let side = |word: u32| {
        let asked = PROPERTIES.iter().filter(|(bit, _)| word & bit != 0);
        asked.fold(Properties::NONE, |all, (_, property)| all.union(*property))
    };
    if word & !(7 | 7 << SERVER | COUNTED | TIMED) != 0 {
        return Err(Failure::argument(format!(
            "{word:#x} is no policy: see LG_CLIENT, LG_SERVER and the presets"
        )));
    }
    let timed = word & TIMED != 0;
    let counted = timed || word & COUNTED != 0;
    Ok(Policy { client: side(word), server: side(word >> SERVER), counted, timed })
}

/// The word of a policy.
pub(crate) fn word(policy: Policy) -> u32 {
    let side = |properties: Properties| {
        PROPERTIES
            .iter()
            .filter(|(_, property)| properties.contains(*property))
            .map(|(bit, _)| bit)
            .sum::<u32>()
    };
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    side(policy.client)
        | side(policy.server) << SERVER
        | flag(policy.counted, COUNTED)
        | flag(policy.timed, TIMED)
}

/// `struct lg_on_failure`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COnFailure {
    propagate: i32,
    value: u64,
}

/// What a domain gets when its call fails; the default if the program does not say.
pub(crate) fn on_failure(asked: Option<&COnFailure>) -> OnFailure {
    match asked {
        None => OnFailure::default(),
        Some(c) if c.propagate != 0 => OnFailure::Propagate,
        Some(c) => OnFailure::Return(c.value),
    }
}

/// A caller's limit, with `enum lg_expiry`.
pub(crate) fn call_limit(milliseconds: u64, on_expiry: i32) -> Result<CallLimit, Failure> {
    let on_expiry = match on_expiry {
        0 => Expiry::Stop,
        1 => Expiry::Detach,
        _ => return Err(Failure::argument(format!("{on_expiry} is no expiry: LG_STOP or LG_DETACH"))),
    };
    Ok(CallLimit::new(Duration::from_millis(milliseconds)).on_expiry(on_expiry))
}

/// `enum lg_rights`.
pub(crate) fn rights(number: i32) -> Result<Rights, Failure> {
    match number {
        1 => Ok(Rights::Read),
        3 => Ok(Rights::ReadWrite),
        _ => Err(Failure::argument(format!("{number} are no rights: LG_READ or LG_READ_WRITE"))),
    }
}

pub(crate) fn rights_number(rights: Rights) -> i32 {
    match rights {
        Rights::Read => 1,
        Rights::ReadWrite => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_a_word() {
        let presets =
            [Policy::MUTUAL_TRUST, Policy::SERVER_TRUSTED, Policy::INTEGRITY, Policy::MUTUAL_DISTRUST];
        for preset in presets {
            for policy in [preset, preset.counted(), preset.timed()] {
                let again = super::policy(word(policy), Policy::INTEGRITY);
                assert_eq!(again.ok(), Some(policy), "{policy}");
            }
        }
        for unknown in [8, 1 << 11, 1 << 18, DEFAULT | 1] {
            assert!(super::policy(unknown, Policy::INTEGRITY).is_err(), "{unknown:#x}");
        }
        assert_eq!(super::policy(DEFAULT, Policy::INTEGRITY).ok(), Some(Policy::INTEGRITY));
    }
}
