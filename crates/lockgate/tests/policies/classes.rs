//! Every class of register that a secret may lie in: how a module plants it there and how it reads it.
use super::host_sys::{Place, avx512};
use std::iter::once;

/// What is planted: not a small number, not an address, different in every byte.
pub const SECRET: u64 = 0x5ec2_e7a1_9bd3_c4f7;

/// One part of one register.
pub struct Class {
    pub name: String,
    /// Assembly that leaves the secret there; may change rax.
    pub plant: String,
    /// Assembly that moves it to rax.
    pub read: String,
    /// The same in the host's probe.
    pub place: Place,
}

const GENERAL: [&str; 15] =
    ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// The registers that a callee keeps.
pub const CALLEE_SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

/// All of them, as far as the processor has them.
pub fn all() -> Vec<Class> {
    let general = GENERAL.iter().enumerate().map(|(number, name)| Class {
        name: (*name).to_owned(),
        plant: format!("movabs ${SECRET:#x},%{name}"),
        read: format!("mov %{name},%rax"),
        place: Place::General(number),
    });
    let mut classes: Vec<_> = general.chain((0..16).flat_map(low_vector)).chain((0..8).map(mmx)).collect();
    if avx512() {
        classes.extend((0..32).flat_map(high_vector));
        classes.extend((0..8).map(mask));
    } else {
        eprintln!("no AVX-512 here: zmm and mask registers are not tried");
    }
    classes
}

fn class(name: String, plant: &str, read: &str, place: Place) -> Class {
    Class { name, plant: format!("movabs ${SECRET:#x},%rax\n {plant}"), read: read.to_owned(), place }
}

/// The three parts of ymm0–15: bits 0–63, 64–127, 128–255.
fn low_vector(n: usize) -> Vec<Class> {
    vec![
        class(
            format!("xmm{n}_low"),
            &format!("vmovq %rax,%xmm{n}"),
            &format!("vmovq %xmm{n},%rax"),
            Place::Vector(n, 0),
        ),
        class(
            format!("xmm{n}_high"),
            &format!("vmovq %rax,%xmm{n}\n vpunpcklqdq %xmm{n},%xmm{n},%xmm{n}"),
            &format!("vpextrq $1,%xmm{n},%rax"),
            Place::Vector(n, 1),
        ),
        class(
            format!("ymm{n}_high"),
            &format!("vmovq %rax,%xmm{n}\n vinserti128 $1,%xmm{n},%ymm{n},%ymm{n}"),
            &format!("vextracti128 $1,%ymm{n},%xmm{n}\n vmovq %xmm{n},%rax"),
            Place::Vector(n, 2),
        ),
    ]
}

/// Bits 384–511 of any vector register, and bits 0–63 of zmm16–31.
fn high_vector(n: usize) -> Vec<Class> {
    let plant = format!("vpbroadcastq %rax,%zmm{n}");
    let top = class(
        format!("zmm{n}_high"),
        &plant,
        &format!("vextracti32x4 $3,%zmm{n},%xmm{n}\n vmovq %xmm{n},%rax"),
        Place::Vector(n, 6),
    );
    let low = class(format!("zmm{n}_low"), &plant, &format!("vmovq %xmm{n},%rax"), Place::Vector(n, 0));
    once(top).chain((n >= 16).then_some(low)).collect()
}

fn mask(n: usize) -> Class {
    class(format!("k{n}"), &format!("kmovq %rax,%k{n}"), &format!("kmovq %k{n},%rax"), Place::Mask(n))
}

/// MMX's names for x87 registers. `emms` leaves what is in them.
fn mmx(n: usize) -> Class {
    class(
        format!("mm{n}"),
        &format!("movq %rax,%mm{n}\n emms"),
        &format!("movq %mm{n},%rax\n emms"),
        Place::Mmx(n),
    )
}
