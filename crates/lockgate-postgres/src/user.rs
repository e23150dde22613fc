//! The user that servers run as.

use anyhow::Context as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Accounts without rights, the first of which that exists is taken.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// A user other than root; `None` in [`User::of_servers`] stands for who runs this.
#[derive(Debug, Clone, Copy)]
pub struct User {
    id: u32,
    group: u32,
}

impl User {
    /// Who servers run as, if not the caller.
    ///
    /// # Errors
    /// The caller is root and there is no other user.
    pub fn of_servers() -> anyhow::Result<Option<User>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = std::fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        let account = |name: &str| {
            let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut fields = line.split(':').skip(2);
            Some(User { id: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
        };
        let found = ACCOUNTS.into_iter().find_map(account);
        found.map(Some).with_context(|| {
            format!("PostgreSQL does not run as root, and there is no user {}", ACCOUNTS.join(" or "))
        })
    }

    /// Has `command` run as this user.
    pub fn run(self, command: &mut Command) {
        command.uid(self.id).gid(self.group);
    }

    /// Gives the user a file or folder.
    pub fn own(self, path: &Path) -> anyhow::Result<()> {
        std::os::unix::fs::chown(path, Some(self.id), Some(self.group))
            .with_context(|| format!("cannot give {} to another user", path.display()))
    }
}
