//! A registry in which the neighbour serves `answer`. The attacker's host exports and binds whatever the attacker asks for.
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Result, bail};
use lockgate::{Allow, Domain, Export, Principal, Registry, Request, Version};

type Answer = extern "C" fn(i64) -> i64;

const PROTOTYPE: &str = "long answer(long)";
const ATTACK: &str = "long attack(long)";

fn registry(world: &World, allowed: Allow) -> Result<(Registry, Domain)> {
    let registry = Registry::new();
    registry.export(
        &world.neighbour.domain,
        Export::new("answer", Version::new(1, 0)).of(PROTOTYPE).allow(allowed),
    )?;
    Ok((registry, world.domain()?))
}

/// The same name again, in every version in which somebody might look for it.
pub(super) fn squatting(world: &mut World) -> Result<Ending> {
    let (registry, attacker) = registry(world, Allow::Everyone)?;
    let mut refusal = None;
    for (major, minor) in [(1, 0), (1, 1), (0, 9), (2, 0), (u16::MAX, u16::MAX)] {
        let export = Export::new("answer", Version::new(major, minor)).of(ATTACK).allow(Allow::Everyone);
        match registry.export(&attacker, export) {
            Ok(()) => bail!("the attacker exports version {major}.{minor} of the neighbour's name"),
            Err(error) => refusal = Some(error.to_string()),
        }
    }
    let answer = registry.bind::<Answer>(&Principal::nobody(), &Request::newest("answer"))?.call(41)?;
    match refusal {
        Some(refusal) if answer == 42 => Ok(Ending::Refused(refusal)),
        _ => bail!("whoever asks for the name gets another function, which answers {answer}"),
    }
}

/// Names that a reader takes for it. They are names of their own.
pub(super) fn look_alikes(world: &mut World) -> Result<Ending> {
    let (registry, attacker) = registry(world, Allow::Everyone)?;
    for name in [
        "Answer",
        "answer ",
        " answer",
        "answer\0",
        "answer\u{200b}",
        "аnswer",
        "answer@2",
        "answer(long)",
        "../answer",
    ] {
        // Refused or not: the question is who is called.
        let _ = registry
            .export(&attacker, Export::new(name, Version::new(9, 0)).of(ATTACK).allow(Allow::Everyone));
    }
    let answer = registry.bind::<Answer>(&Principal::nobody(), &Request::newest("answer"))?;
    Ok(Ending::Returned(answer.call(41)?))
}

/// The name is for others.
pub(super) fn for_others(world: &mut World) -> Result<Ending> {
    let (registry, _attacker) = registry(world, Allow::Domain("friend".to_owned()))?;
    let attacker = Principal::domain("attacker");
    for name in ["answe", "answers", "Answer"] {
        if let Err(error) = registry.bind::<Answer>(&attacker, &Request::newest(name))
            && error.to_string().contains("\"answer\"")
        {
            bail!("who may not bind the name is told of it: {error}");
        }
    }
    match registry.bind::<Answer>(&attacker, &Request::newest("answer")) {
        Ok(_) => bail!("the attacker binds a name that is for others"),
        Err(error) => Ok(Ending::Refused(error.to_string())),
    }
}
