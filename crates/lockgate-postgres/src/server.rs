//! Servers of their own.

use crate::done;
use crate::user::User;
use crate::{Installation, Session};
use anyhow::{Context as _, bail};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What differs from the defaults: reachable through a socket in its own folder, by every user as every role.
const SETTINGS: &str = "
listen_addresses = ''
fsync = off
max_connections = 50
log_min_messages = warning
";

/// How long a server may take to start, or to stop.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A server with data checksums, which ends, and leaves nothing, when this is dropped.
#[derive(Debug)]
pub struct Server<'a> {
    installation: &'a Installation,
    folder: TempDir,
    user: Option<User>,
    process: Child,
}

impl<'a> Server<'a> {
    /// Makes a cluster, with lines for `postgresql.conf`, and starts it.
    ///
    /// # Errors
    /// What initdb or the server's log say.
    pub fn start(installation: &'a Installation, settings: &str) -> anyhow::Result<Server<'a>> {
        let (folder, user) = place(installation)?;
        let mut initdb = installation.program("initdb");
        initdb.arg("-D").arg(folder.path().join("data"));
        initdb.args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--data-checksums",
            "--no-sync",
        ]);
        done(as_user(&mut initdb, user, folder.path()))?;
        let file = folder.path().join("data/postgresql.conf");
        let given = fs::read_to_string(&file)?;
        let sockets = format!("unix_socket_directories = '{}'\n", folder.path().display());
        fs::write(&file, given + SETTINGS + &sockets + settings)?;
        Server::launch(installation, folder, user)
    }

    /// A hot standby of another server, which it follows.
    ///
    /// # Errors
    /// What pg_basebackup or the server's log say.
    pub fn standby(installation: &'a Installation, primary: &Server<'_>) -> anyhow::Result<Server<'a>> {
        let (folder, user) = place(installation)?;
        let mut backup = primary.client("pg_basebackup");
        backup
            .args(["--checkpoint=fast", "--write-recovery-conf", "--no-sync", "-D"])
            .arg(folder.path().join("data"));
        done(as_user(&mut backup, user, folder.path()))?;
        let sockets = format!("unix_socket_directories = '{}'\n", folder.path().display());
        let file = folder.path().join("data/postgresql.conf");
        let given = fs::read_to_string(&file)?;
        fs::write(&file, given + &sockets)?;
        Server::launch(installation, folder, user)
    }

    fn launch(
        installation: &'a Installation,
        folder: TempDir,
        user: Option<User>,
    ) -> anyhow::Result<Server<'a>> {
        let process = launch(installation, folder.path(), user)?;
        let mut server = Server { installation, folder, user, process };
        server.wait()?;
        Ok(server)
    }

    /// Waits until it answers.
    fn wait(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let mut ready = self.installation.program("pg_isready");
            if ready.arg("-q").arg("-h").arg(self.folder.path()).status()?.success() {
                return Ok(());
            }
            if self.process.try_wait()?.is_some() || begun.elapsed() > TIMEOUT {
                bail!("the server does not start:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it as `signal` says (`INT`: fast; `QUIT`: at once), and waits for that; `None` if it takes too long.
    pub fn stop(&mut self, signal: &str) -> anyhow::Result<Option<Duration>> {
        let begun = Instant::now();
        let id = self.process.id().to_string();
        done(Command::new("kill").arg(format!("-{signal}")).arg(id))?;
        while self.process.try_wait()?.is_none() {
            if begun.elapsed() > TIMEOUT {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Some(begun.elapsed()))
    }

    /// Starts it again.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        self.process = launch(self.installation, self.folder.path(), self.user)?;
        self.wait()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Where its socket is.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// One of PostgreSQL's client programs, on its way to this server.
    pub fn client(&self, program: &str) -> Command {
        let mut command = self.installation.program(program);
        command.env("PGHOST", self.folder.path()).env("PGUSER", "postgres").env("PGOPTIONS", "");
        command
    }

    /// A new database with the extension, of a role of the same name: `ordinary` is another role, which may make functions there.
    ///
    /// # Errors
    /// What the server says.
    pub fn database(&self, name: &str) -> anyhow::Result<Database<'_>> {
        let database = self.existing(name);
        let create = format!(
            "CREATE ROLE {name} LOGIN; CREATE ROLE {name}_user LOGIN;\nCREATE DATABASE {name} OWNER {name};"
        );
        // (One statement each: CREATE DATABASE does not run in a transaction.)
        let mut psql = self.client("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres"]);
        for statement in create.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            psql.arg("-c").arg(statement);
        }
        done(&mut psql)?;
        database.run(name, "CREATE EXTENSION lockgate")?;
        database.run(name, &format!("GRANT CREATE ON SCHEMA public TO {name}_user"))?;
        Ok(database)
    }

    /// A database that is there.
    pub fn existing(&self, name: &str) -> Database<'_> {
        Database { server: self, name: name.to_owned() }
    }

    /// Fails if a page of the stopped server's data has a wrong checksum.
    pub fn checksums(&self) -> anyhow::Result<()> {
        let mut check = self.installation.program("pg_checksums");
        check.args(["--check", "-D"]).arg(self.folder.path().join("data"));
        done(as_user(&mut check, self.user, self.folder.path())).map(drop)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.stop("QUIT");
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder for a server's data, and who it runs as.
fn place(installation: &Installation) -> anyhow::Result<(TempDir, Option<User>)> {
    let folder = tempfile::Builder::new().prefix("data-").tempdir_in(installation.folder())?;
    let user = User::of_servers()?;
    if let Some(user) = user {
        user.own(folder.path())?;
    }
    Ok((folder, user))
}

fn as_user<'c>(command: &'c mut Command, user: Option<User>, folder: &Path) -> &'c mut Command {
    if let Some(user) = user {
        user.run(command);
    }
    command.current_dir(folder)
}

fn launch(installation: &Installation, folder: &Path, user: Option<User>) -> anyhow::Result<Child> {
    let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("log"))?;
    let mut postgres = installation.program("postgres");
    postgres.arg("-D").arg(folder.join("data"));
    postgres.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    as_user(&mut postgres, user, folder).spawn().context("cannot start postgres")
}

/// A database of a server, with the extension.
#[derive(Debug)]
pub struct Database<'a> {
    server: &'a Server<'a>,
    name: String,
}

impl Database<'_> {
    /// Its server.
    pub fn server(&self) -> &Server<'_> {
        self.server
    }

    /// Its name, which is its owner's, too.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The role that owns nothing, and may make functions.
    pub fn user(&self) -> String {
        format!("{}_user", self.name)
    }

    /// psql, as this role.
    pub fn psql(&self, role: &str) -> Command {
        let mut psql = self.server.client("psql");
        psql.env("PGUSER", role).args(["-X", "-q", "-d", &self.name]);
        psql
    }

    /// Runs SQL as a role; returns rows, a line each, with `|` between columns.
    ///
    /// # Errors
    /// What the server says.
    pub fn run(&self, role: &str, sql: &str) -> anyhow::Result<String> {
        done(self.psql(role).args(["-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]))
    }

    /// A session of a role.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn session(&self, role: &str) -> anyhow::Result<Session> {
        Session::new(self.psql(role))
    }

    /// Installs the module in this file, as the database's owner.
    ///
    /// # Errors
    /// What the server says.
    pub fn install(&self, name: &str, file: &Path) -> anyhow::Result<()> {
        let file = fs::canonicalize(file)?;
        let call = format!(
            "SELECT lockgate.install_module('{name}', pg_read_binary_file('{}'), true)",
            file.display()
        );
        self.run("postgres", &call).map(drop)
    }

    /// Fails if a table or an index is damaged.
    ///
    /// # Errors
    /// What pg_amcheck says.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut check = self.server.client("pg_amcheck");
        done(check.args(["--install-missing", "--heapallindexed", "-d", &self.name])).map(drop)
    }
}
