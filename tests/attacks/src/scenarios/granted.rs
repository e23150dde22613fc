//! A domain with two folders: `/data`, for reading and writing, in which somebody has left symbolic links to all that is near; and `/fixed`, for reading.
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Result, ensure};
use lockgate::syscall::{Access, Grants};
use lockgate::{Domain, DomainOptions};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::{fs, io};

pub(super) fn run(world: &mut World) -> Result<Ending> {
    with_folders(world, |world, options| {
        let domain = Domain::new(&world.module()?, options)?;
        world.attack(&domain)
    })
}

/// Leaves symbolic links in the folder `granted` to all that is near; `outside` is beside it.
///
/// # Errors
/// The system's.
pub fn leave_links(granted: &Path, outside: &Path) -> io::Result<()> {
    for (name, to) in [
        ("out", "../outside/secret.txt".as_ref()),
        ("folder", "../outside".as_ref()),
        ("loop", "loop".as_ref()),
        ("proc", "/proc".as_ref()),
        ("root", "/".as_ref()),
        ("absolute", outside.join("secret.txt").as_path()),
    ] {
        symlink(to, granted.join(name))?;
    }
    Ok(())
}

/// Sets the folders up, lets `work` make domains with these options, and leaves everything as it was. What the tripwires watch besides must not have changed.
pub(super) fn with_folders(
    world: &mut World,
    work: impl FnOnce(&mut World, DomainOptions) -> Result<Ending>,
) -> Result<Ending> {
    let (data, fixed) = (world.folder("granted"), world.folder("fixed"));
    fs::create_dir(&fixed)?;
    fs::write(fixed.join("secret.txt"), "granted")?;
    let outside = world.folder("outside");
    leave_links(&data, &outside)?;
    let grants = Grants::default().directory("/data", &data, Access::ReadWrite)?.directory(
        "/fixed",
        &fixed,
        Access::ReadOnly,
    )?;
    let options = world.options().grants(grants);
    let ending = work(world, options);
    let names = fs::read_dir(&fixed)?.count();
    ensure!(
        names == 1 && fs::read(fixed.join("secret.txt"))? == b"granted",
        "a folder granted for reading has changed"
    );
    fs::remove_dir_all(&fixed)?;
    fs::remove_dir_all(&data)?;
    fs::create_dir(&data)?;
    fs::write(data.join("secret.txt"), "granted")?;
    ending
}
