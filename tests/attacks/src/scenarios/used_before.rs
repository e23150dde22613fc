//! Somebody has used the domain, its place or a thread's place before, and has left secrets everywhere: `plant`. Then the attacker comes.
use super::granted;
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Context, Result, ensure};
use lockgate::{Domain, DomainOptions, Pool};

/// What is planted where the module has to be told.
const SECRET: u64 = 0x5ec2_e7c0_ffee_5ec2;

type Plant = extern "C" fn(u64, u64, u64, u64, u64, u64) -> i64;

fn plant(domain: &Domain) -> Result<()> {
    let planted = domain.bind::<Plant>("plant")?.call(SECRET, SECRET, SECRET, SECRET, SECRET, SECRET)?;
    domain.alloc_slice(&[SECRET; 4096])?;
    ensure!(planted != -1, "nothing was planted");
    Ok(())
}

/// A reset lies between them: of a domain of its own, and of one that a pool keeps.
pub(super) fn after_a_reset(world: &mut World) -> Result<Ending> {
    granted::with_folders(world, |world, options| {
        let module = world.module()?;
        let mut domain = Domain::new(&module, options.clone())?;
        plant(&domain)?;
        domain.reset()?;
        let first = world.attack(&domain)?;
        let pool = Pool::new(&module, options, 1);
        let domain = pool.take()?;
        plant(&domain)?;
        ensure!(domain.give_back().is_ok() && pool.ready() == 1, "the pool does not take the domain back");
        let next = pool.take()?;
        let second = world.attack(&next)?;
        Ok(if matches!(first, Ending::Returned(0)) { second } else { first })
    })
}

/// The attacker's thread gets the place of a thread that has ended, as second thread of the domain.
pub(super) fn next_thread(world: &mut World) -> Result<Ending> {
    let domain = world.domain()?;
    let on_thread = |work: &mut (dyn FnMut() -> Result<Option<Ending>> + Send)| {
        std::thread::scope(|scope| {
            scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    };
    on_thread(&mut || plant(&domain).map(|()| None))?;
    on_thread(&mut || world.attack(&domain).map(Some))?.context("an attack ends somehow")
}

/// The attacker's domain gets the window of one that is gone.
pub(super) fn next_domain(world: &mut World) -> Result<Ending> {
    let module = world.module()?;
    let base = {
        let domain = Domain::new(&module, DomainOptions::new())?;
        plant(&domain)?;
        domain.base()
    };
    let domain = Domain::new(&module, world.options())?;
    ensure!(domain.base() == base, "the attacker got another window");
    world.attack(&domain)
}
