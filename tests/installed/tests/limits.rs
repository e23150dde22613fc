//! Processes that may have little: address space (`RLIMIT_AS`), memory (a cgroup's limit), instructions. What cannot be had is refused with a word, and
//! what there is goes on.
use installed::{Workshop, done};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many domains the program says that it has had.
fn domains(script: &str) -> u64 {
    let workshop = Workshop::get();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{script} exec \"$0\" poor guest.lg")]).arg(workshop.at("shared"));
    let said = done(shell.current_dir(workshop.at("")));
    match said.trim() {
        "none" => 0,
        number => number.parse().unwrap_or_else(|_| panic!("{script}: {said}")),
    }
}

/// From what the library alone needs to what all domains need: the limits in between are met at each of the steps of a domain's creation.
#[test]
fn little_address_space_is_refused_with_a_word() {
    assert_eq!(domains(""), 40);
    const GIB: u64 = 1 << 20; // KiB, as ulimit has it
    let limits = (0..6).map(|doubled| (GIB / 16) << doubled).chain((1..12).map(|of_16| of_16 * 16 * GIB));
    let most = limits.map(|limit| {
        let had = domains(&format!("ulimit -v {limit};"));
        assert!(had * 8 * GIB <= limit, "{had} domains in {limit} KiB");
        had
    });
    assert!(most.max() > Some(0), "no domain fits in 176 GiB");
}

/// A cgroup of this test's alone, which goes with it.
struct Group(PathBuf);

impl Group {
    /// With this limit, bytes; `None`, and said so by name, where it cannot be made.
    fn new(limit: u64, what: &str) -> Option<Group> {
        let version_2 =
            fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").is_ok_and(|all| all.contains("memory"));
        let (root, file) = match version_2 {
            true => ("/sys/fs/cgroup", "memory.max"),
            false => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        };
        let group = Group(Path::new(root).join(format!("lockgate-{}", std::process::id())));
        let made = fs::create_dir(&group.0).and_then(|()| fs::write(group.0.join(file), limit.to_string()));
        if let Err(error) = made {
            support::skipped(what, format_args!("no cgroup with a limit of memory can be made: {error}"));
            return None;
        }
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Forty domains fit in 48 MiB, and each call's fault is as it is elsewhere.
#[test]
fn a_small_cgroup_has_many_domains() {
    if let Some(group) = Group::new(48 << 20, "a_small_cgroup_has_many_domains") {
        assert_eq!(domains(&format!("echo $$ > {}/cgroup.procs;", group.0.display())), 40);
    }
}

/// Features, their names in `/proc/cpuinfo`, and an instruction of each.
const INSTRUCTIONS: [(&str, &str, &str); 10] = [
    ("AVX2", "avx2", "vpaddd %ymm0,%ymm1,%ymm2"),
    ("BMI2", "bmi2", "pdep %eax,%ecx,%edx"),
    ("FMA", "fma", "vfmadd231pd %xmm0,%xmm1,%xmm2"),
    ("LZCNT", "abm", "lzcnt %eax,%ecx"),
    ("SHA", "sha_ni", "sha1msg1 %xmm0,%xmm1"),
    ("GFNI", "gfni", "gf2p8mulb %xmm0,%xmm1"),
    ("AVX512F", "avx512f", "vaddps %zmm1,%zmm2,%zmm3"),
    ("AVX512_VNNI", "avx512_vnni", "vpdpbusd %zmm1,%zmm2,%zmm3"),
    // Too new for the assembler: vpmadd52luq and vcvtneps2bf16, coded as VEX.
    ("AVX_IFMA", "avx_ifma", ".byte 0xc4,0xe2,0xf1,0xb4,0xd0"),
    ("AVX_NE_CONVERT", "avx_ne_convert", ".byte 0xc4,0xe2,0x7a,0x72,0xc8"),
];

/// A module with an instruction that the kernel does not say the processor has is refused, and the word names it; one that asks by `cpuid` is not.
#[test]
fn what_the_processor_lacks_is_refused_when_a_module_is_loaded() {
    let workshop = Workshop::get();
    let information = fs::read_to_string("/proc/cpuinfo").expect("the kernel's word");
    let flags = information.lines().find(|line| line.starts_with("flags")).expect("flags");
    let mut lacks = 0;
    for (feature, flag, instruction) in INSTRUCTIONS {
        let has = flags.split_whitespace().any(|word| word == flag);
        lacks += u32::from(!has);
        for asks in [false, true] {
            let name = format!("needs-{feature}-{asks}");
            let source = workshop.at(&name).with_extension("c");
            let asking = if asks {
                "__asm__ volatile(\"cpuid\" : : : \"eax\", \"ebx\", \"ecx\", \"edx\");"
            } else {
                ""
            };
            let code = format!("void f(void) {{ {asking} __asm__ volatile(\"{instruction}\"); }}\n");
            fs::write(&source, code).expect("the folder is writable");
            workshop.module_of(&name, &source, &[]);
            let said =
                done(workshop.program("shared").arg("opens").arg(workshop.at(&name).with_extension("lg")));
            match has || asks {
                true => assert_eq!(said.trim(), "opened", "{feature}"),
                false => {
                    assert!(said.contains(&format!("needs {feature}, which this processor lacks")), "{said}")
                }
            }
        }
    }
    if lacks == 0 {
        support::skipped(
            "a module that is refused when it is loaded",
            "this processor lacks nothing that is tried",
        );
    }
}
