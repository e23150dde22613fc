//! Who asks, and who may.
use crate::error::CallError;
use rustix::process::Gid;
use std::fmt;

/// A capability: a holder may bind what was exported for it. 128 random bits, compared in constant time.
#[derive(Clone)]
pub struct Token([u8; 16]);

impl Token {
    /// A new one, from the kernel's random numbers.
    ///
    /// # Errors
    /// The kernel's, if it has none yet.
    pub fn new() -> Result<Token, CallError> {
        let mut bytes = [0; 16];
        let got = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
        match got.map_err(CallError::memory)? {
            16 => Ok(Token(bytes)),
            _ => Err(CallError::memory(rustix::io::Errno::AGAIN)),
        }
    }

    /// The token with these bits, as another process or a file gave them.
    pub fn from_bytes(bytes: [u8; 16]) -> Token {
        Token(bytes)
    }

    /// Its bits, to be given to those that may bind.
    pub fn to_bytes(&self) -> [u8; 16] {
        self.0
    }
}

impl PartialEq for Token {
    /// Looks at every bit, wherever the first difference is.
    fn eq(&self, other: &Token) -> bool {
        let differing =
            self.0.iter().zip(&other.0).fold(0, |bits, (a, b)| std::hint::black_box(bits | (a ^ b)));
        differing == 0
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    /// Reports do not tell secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What the kernel's calls take for no user and no group.
const NONE: u32 = u32::MAX;

/// On whose behalf something is bound: the host says so, because modules cannot.
#[derive(Debug, Clone, Default)]
pub struct Principal {
    user: Option<u32>,
    groups: Vec<u32>,
    domain: Option<String>,
    tokens: Vec<Token>,
}

impl Principal {
    /// No principal in particular: may bind what is exported to everyone.
    pub fn nobody() -> Principal {
        Principal::default()
    }

    /// The user and groups that the process runs as.
    pub fn process() -> Principal {
        let groups = rustix::process::getgroups().unwrap_or_default();
        let effective = rustix::process::getegid();
        Principal {
            user: Some(rustix::process::geteuid().as_raw()),
            groups: groups.into_iter().chain([effective]).map(Gid::as_raw).collect(),
            ..Principal::default()
        }
    }

    /// A user by number; as [`nobody`](Principal::nobody) if it is `u32::MAX`, which is no user's.
    pub fn user(user: u32) -> Principal {
        Principal { user: (user != NONE).then_some(user), ..Principal::default() }
    }

    /// The domain called `name`.
    pub fn domain(name: impl Into<String>) -> Principal {
        Principal { domain: Some(name.into()), ..Principal::default() }
    }

    /// The same, in a group, too; `u32::MAX` is none.
    pub fn in_group(mut self, group: u32) -> Principal {
        self.groups.extend((group != NONE).then_some(group));
        self
    }

    /// The same, with a token.
    pub fn with(mut self, token: &Token) -> Principal {
        self.tokens.push(token.clone());
        self
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.domain, self.user) {
            (Some(domain), _) => write!(f, "domain {domain}")?,
            (None, Some(user)) => write!(f, "user {user}")?,
            (None, None) => f.write_str("nobody")?,
        }
        if !self.tokens.is_empty() {
            write!(f, " with {} token(s)", self.tokens.len())?;
        }
        Ok(())
    }
}

/// Who may bind an export. Any one that fits is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// Every client.
    Everyone,
    /// A user, by number.
    User(u32),
    /// A group, by number.
    Group(u32),
    /// A domain, by name.
    Domain(String),
    /// Holders of a token.
    Token(Token),
}

impl Allow {
    pub(super) fn admits(&self, principal: &Principal) -> bool {
        match self {
            Allow::Everyone => true,
            Allow::User(user) => principal.user == Some(*user),
            Allow::Group(group) => principal.groups.contains(group),
            Allow::Domain(domain) => principal.domain.as_ref() == Some(domain),
            Allow::Token(token) => principal.tokens.iter().any(|held| held == token),
        }
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allow::Everyone => f.write_str("everyone"),
            Allow::User(user) => write!(f, "user {user}"),
            Allow::Group(group) => write!(f, "group {group}"),
            Allow::Domain(domain) => write!(f, "domain {domain}"),
            Allow::Token(_) => f.write_str("a token"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_every_bit_counts() {
        let (one, two) = (Token::new().unwrap(), Token::new().unwrap());
        assert_ne!(one, two);
        for bit in 0..128 {
            let mut bytes = one.to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(one, Token::from_bytes(bytes), "bit {bit}");
        }
        assert_eq!(one, Token::from_bytes(one.to_bytes()));
        assert!(!format!("{one:?}").contains(&one.to_bytes()[0].to_string()), "{one:?}");
    }

    #[test]
    fn each_principal_fits_its_own_rule_only() {
        let token = Token::from_bytes([7; 16]);
        let rules =
            [Allow::User(5), Allow::Group(6), Allow::Domain("five".to_owned()), Allow::Token(token.clone())];
        let principals = [
            Principal::user(5),
            Principal::nobody().in_group(6),
            Principal::domain("five"),
            Principal::nobody().with(&token),
        ];
        for (i, rule) in rules.iter().enumerate() {
            for (j, principal) in principals.iter().enumerate() {
                assert_eq!(rule.admits(principal), i == j, "{rule} and {principal}");
            }
            assert!(!rule.admits(&Principal::nobody()));
            // Another one of each kind.
            for principal in [
                Principal::user(6),
                Principal::nobody().in_group(5),
                Principal::domain("six"),
                Principal::nobody().with(&Token::from_bytes([8; 16])),
            ] {
                assert!(!rule.admits(&principal), "{rule} and {principal}");
            }
        }
        assert!(principals.iter().all(|principal| Allow::Everyone.admits(principal)));
    }
}
