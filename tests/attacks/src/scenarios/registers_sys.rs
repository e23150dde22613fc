//! What the host has in registers and in the x87 when it calls.
use crate::expect::Ending;
use crate::world::{OWN, World};
use anyhow::{Result, bail, ensure};
use lockgate::{Policy, take_call_error};
use std::arch::asm;

/// The host has its secret in every register that carries no argument, in vectors to their last bit.
pub(super) fn with_secrets(world: &mut World) -> Result<Ending> {
    let domain = world.domain()?;
    let own = domain.alloc_slice(&[0_u8; OWN])?;
    let attack = domain.bind_with::<extern "C" fn(u64) -> i64>("attack", Policy::MUTUAL_DISTRUST)?;
    attack.call(own.address())?; // so that the next one takes the quick way in
    let secret = world.secret[0];
    let value: u64;
    ensure!(is_x86_feature_detected!("avx2"), "this processor has no vectors of 256 bits");
    // SAFETY: a C function of one word, called on an aligned stack; all that it may change is said, rbx and rbp are put back.
    unsafe {
        asm!(
            "push rbx", "push rbp",
            "mov rbx, rax", "mov rbp, rax",
            "vmovq xmm0, rax", "vpbroadcastq ymm0, xmm0",
            "vmovdqa ymm1, ymm0", "vmovdqa ymm2, ymm0", "vmovdqa ymm3, ymm0", "vmovdqa ymm4, ymm0", "vmovdqa ymm5, ymm0",
            "vmovdqa ymm6, ymm0", "vmovdqa ymm7, ymm0", "vmovdqa ymm8, ymm0", "vmovdqa ymm9, ymm0", "vmovdqa ymm10, ymm0",
            "vmovdqa ymm11, ymm0", "vmovdqa ymm12, ymm0", "vmovdqa ymm13, ymm0", "vmovdqa ymm14, ymm0", "vmovdqa ymm15, ymm0",
            "call r11",
            "vzeroupper",
            "pop rbp", "pop rbx",
            inout("rax") secret => value,
            inout("rdi") own.address() => _,
            inout("r11") attack.as_ptr() => _,
            inout("rcx") secret => _, inout("rdx") secret => _, inout("rsi") secret => _,
            inout("r8") secret => _, inout("r9") secret => _, inout("r10") secret => _,
            in("r12") secret, in("r13") secret, in("r14") secret, in("r15") secret,
            clobber_abi("C"),
        );
    }
    if let Some(error) = take_call_error() {
        bail!("the call failed: {error}");
    }
    world.keep_secret(&domain)?;
    Ok(Ending::Returned(value as i64))
}

/// The host computes on the x87 right before.
pub(super) fn after_the_x87(world: &mut World) -> Result<Ending> {
    let domain = world.domain()?;
    let attack = domain.bind_with::<extern "C" fn() -> i64>("attack", Policy::MUTUAL_DISTRUST)?;
    attack.call()?;
    let secret = &raw const world.secret[0];
    // SAFETY: loads a number and drops it.
    unsafe { asm!("fld qword ptr [{}]", "fstp st(0)", in(reg) secret, out("st(0)") _) };
    Ok(Ending::Returned(attack.call()?))
}
