//! What a call keeps apart: properties that each side asks for itself, and the protocols made of them.
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Properties of one side of a call.
///
/// Two guarantees need no instruction, always hold, and are no property: neither side can reach the other's stack or return
/// addresses, and arguments on the stack are the callee's own copy, which the caller cannot change any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Properties(u8);

impl Properties {
    /// Nothing is asked for.
    pub const NONE: Properties = Properties(0);
    /// Callee-saved registers have their values again after the call, whatever the callee did. For callers.
    pub const REGISTER_INTEGRITY: Properties = Properties(1);
    /// Registers that carry no argument (a caller's) or no result (a callee's) are cleared before the other side runs:
    /// general, vector and mask registers, x87, flags, and what a small argument leaves unused of its register. A callee's also clears
    /// the room for a result in memory, of which the callee may leave a part as its earlier calls left it.
    pub const REGISTER_CONFIDENTIALITY: Properties = Properties(2);
    /// x87 state, MXCSR and upper halves of vector registers are clean when the side runs (again).
    pub const CPU_STATE: Properties = Properties(4);

    /// True if all of `other` is asked for.
    pub const fn contains(self, other: Properties) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    pub const fn union(self, other: Properties) -> Properties {
        Properties(self.0 | other.0)
    }
}

impl BitOr for Properties {
    type Output = Properties;

    fn bitor(self, other: Properties) -> Properties {
        self.union(other)
    }
}

impl BitOrAssign for Properties {
    fn bitor_assign(&mut self, other: Properties) {
        *self = *self | other;
    }
}

impl fmt::Display for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Properties::REGISTER_INTEGRITY, "register integrity"),
            (Properties::REGISTER_CONFIDENTIALITY, "register confidentiality"),
            (Properties::CPU_STATE, "cpu state"),
        ];
        let asked: Vec<_> = names.iter().filter(|(p, _)| self.contains(*p)).map(|(_, name)| *name).collect();
        f.write_str(if asked.is_empty() { "nothing".to_owned() } else { asked.join(", ") }.as_str())
    }
}

/// What the two sides of a call ask for; the proxy enforces the union of both sides' policies and nothing else.
///
/// The presets are the protocols of ARPC (1993).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    /// For the caller.
    pub client: Properties,
    /// For the callee.
    pub server: Properties,
    /// Calls are counted.
    pub counted: bool,
    /// Calls are counted and timed.
    pub timed: bool,
}

impl Policy {
    /// Neither side trusts the other.
    pub const MUTUAL_DISTRUST: Policy = Policy {
        client: Properties::REGISTER_INTEGRITY
            .union(Properties::REGISTER_CONFIDENTIALITY)
            .union(Properties::CPU_STATE),
        server: Properties::REGISTER_CONFIDENTIALITY.union(Properties::CPU_STATE),
        ..Policy::MUTUAL_TRUST
    };
    /// The client trusts the server, as programs trust their system; the server does not trust the client.
    pub const SERVER_TRUSTED: Policy = Policy {
        server: Properties::REGISTER_CONFIDENTIALITY.union(Properties::CPU_STATE),
        ..Policy::MUTUAL_TRUST
    };
    /// Both sides trust each other to follow the calling convention; faults stay contained all the same.
    pub const MUTUAL_TRUST: Policy =
        Policy { client: Properties::NONE, server: Properties::NONE, counted: false, timed: false };
    /// The client's registers and processor state survive whatever the server does. The contents of registers are no secret.
    pub const INTEGRITY: Policy = Policy {
        client: Properties::REGISTER_INTEGRITY.union(Properties::CPU_STATE),
        ..Policy::MUTUAL_TRUST
    };

    /// What either policy asks for.
    pub const fn union(self, other: Policy) -> Policy {
        Policy {
            client: self.client.union(other.client),
            server: self.server.union(other.server),
            counted: self.counted || other.counted,
            timed: self.timed || other.timed,
        }
    }

    /// The same, with calls counted.
    pub const fn counted(self) -> Policy {
        Policy { counted: true, ..self }
    }

    /// The same, with calls counted and timed.
    pub const fn timed(self) -> Policy {
        Policy { counted: true, timed: true, ..self }
    }
}

impl Default for Policy {
    /// [`Policy::MUTUAL_DISTRUST`]: who wants less says so.
    fn default() -> Policy {
        Policy::MUTUAL_DISTRUST
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let preset = [
            (Policy::MUTUAL_DISTRUST, "mutual distrust"),
            (Policy::SERVER_TRUSTED, "server trusted"),
            (Policy::MUTUAL_TRUST, "mutual trust"),
            (Policy::INTEGRITY, "integrity"),
        ]
        .into_iter()
        .find(|(policy, _)| (policy.client, policy.server) == (self.client, self.server));
        match preset {
            Some((_, name)) => f.write_str(name)?,
            None => write!(f, "client: {}; server: {}", self.client, self.server)?,
        }
        if self.timed {
            f.write_str(", timed")
        } else if self.counted {
            f.write_str(", counted")
        } else {
            Ok(())
        }
    }
}
