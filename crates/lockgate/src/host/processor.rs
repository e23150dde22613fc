//! Whether the processor has what a module needs, as far as the verifier's report says (rule V6, decision 0130).
use lockgate_verify::Report;
use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};

/// What processors may lack for which proxies do something. (AVX they have: `host::prepare` asks for it.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Processor {
    pub avx512: bool,
}

impl Processor {
    /// The one at hand.
    pub fn here() -> Processor {
        Processor { avx512: std::arch::is_x86_feature_detected!("avx512f") }
    }
}

/// What the module's code is compiled for and this processor lacks, in words. A module that asks the processor (cpuid) may have code for several,
/// and is taken to use only what there is; what it uses all the same ends its call as an illegal instruction.
pub(crate) fn lacks(report: &Report) -> Option<String> {
    lacks_of(has, report)
}

fn lacks_of(has: impl Fn(&str) -> bool, report: &Report) -> Option<String> {
    let missing: Vec<_> = report.needs.iter().copied().filter(|name| !has(name)).collect();
    match &missing[..] {
        _ if report.cpuid => None,
        [] => None,
        [one] => Some((*one).to_owned()),
        [all @ .., last] => Some(format!("{} and {last}", all.join(", "))),
    }
}

/// Where the processor says what it has: leaf, part, register (eax to edx) and bit (Intel SDM volume 2A, `CPUID`).
const PLACES: [(&str, u32, u32, usize, u32); 34] = [
    ("ADX", 7, 0, 1, 19),
    ("AES", 1, 0, 2, 25),
    ("AVX2", 7, 0, 1, 5),
    ("AVX512BW", 7, 0, 1, 30),
    ("AVX512CD", 7, 0, 1, 28),
    ("AVX512DQ", 7, 0, 1, 17),
    ("AVX512F", 7, 0, 1, 16),
    ("AVX512VL", 7, 0, 1, 31),
    ("AVX512_BF16", 7, 1, 0, 5),
    ("AVX512_BITALG", 7, 0, 2, 12),
    ("AVX512_FP16", 7, 0, 3, 23),
    ("AVX512_IFMA", 7, 0, 1, 21),
    ("AVX512_VBMI", 7, 0, 2, 1),
    ("AVX512_VBMI2", 7, 0, 2, 6),
    ("AVX512_VNNI", 7, 0, 2, 11),
    ("AVX512_VP2INTERSECT", 7, 0, 3, 8),
    ("AVX512_VPOPCNTDQ", 7, 0, 2, 14),
    ("AVX_IFMA", 7, 1, 0, 23),
    ("AVX_NE_CONVERT", 7, 1, 3, 5),
    ("AVX_VNNI", 7, 1, 0, 4),
    ("BMI1", 7, 0, 1, 3),
    ("BMI2", 7, 0, 1, 8),
    ("F16C", 1, 0, 2, 29),
    ("FMA", 1, 0, 2, 12),
    ("GFNI", 7, 0, 2, 8),
    ("LZCNT", 0x8000_0001, 0, 2, 5),
    ("MOVBE", 1, 0, 2, 22),
    ("PCLMULQDQ", 1, 0, 2, 1),
    ("RDPID", 7, 0, 2, 22),
    ("RDRAND", 1, 0, 2, 30),
    ("RDSEED", 7, 0, 1, 18),
    ("SHA", 7, 0, 1, 29),
    ("VAES", 7, 0, 2, 9),
    ("VPCLMULQDQ", 7, 0, 2, 10),
];

/// Whether this processor has a feature. Of AVX-512 it has nothing where the kernel does not keep its registers.
fn has(name: &str) -> bool {
    let place = PLACES.iter().find(|(known, ..)| *known == name);
    (!name.starts_with("AVX512") || Processor::here().avx512)
        && place.is_some_and(|&(_, leaf, part, register, bit)| cpuid(leaf, part)[register] >> bit & 1 != 0)
}

/// What `cpuid` says: eax, ebx, ecx and edx; zeros for a leaf that it does not have.
fn cpuid(leaf: u32, part: u32) -> [u32; 4] {
    if __get_cpuid_max(leaf & 1 << 31).0 < leaf {
        return [0; 4];
    }
    let answer = __cpuid_count(leaf, part);
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processors of these days by what they have, and modules by what they need.
    #[test]
    fn what_the_processor_lacks_is_named() {
        let zen_4 = |_: &str| true;
        let zen_3 = |name: &str| !name.starts_with("AVX512");
        let ivy_bridge = |name: &str| ["AES", "F16C", "PCLMULQDQ", "RDRAND"].contains(&name);
        let report = |needs: &[&'static str]| Report { needs: needs.to_vec(), ..Report::default() };
        let v3 = ["AVX2", "BMI1", "BMI2", "FMA"];
        for (report, on_zen_3, on_ivy_bridge) in [
            (report(&[]), None, None),
            (report(&["AES"]), None, None),
            (report(&["BMI2"]), None, Some("BMI2")),
            (report(&v3), None, Some("AVX2, BMI1, BMI2 and FMA")),
            (
                report(&["AVX2", "AVX512F", "AVX512VL"]),
                Some("AVX512F and AVX512VL"),
                Some("AVX2, AVX512F and AVX512VL"),
            ),
            (Report { cpuid: true, ..report(&["AVX512F"]) }, None, None),
        ] {
            assert_eq!(lacks_of(zen_4, &report), None);
            assert_eq!(lacks_of(zen_3, &report).as_deref(), on_zen_3, "{report:?}");
            assert_eq!(lacks_of(ivy_bridge, &report).as_deref(), on_ivy_bridge, "{report:?}");
        }
    }

    /// Each feature has its place, and those that the standard library knows are where it looks for them.
    #[test]
    fn the_processor_is_asked_as_others_ask_it() {
        let names: Vec<_> = PLACES.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, lockgate_verify::FEATURES.split(' ').collect::<Vec<_>>());
        macro_rules! same {
            ($($name:literal = $other:tt)*) => {
                $(assert_eq!(has($name), std::arch::is_x86_feature_detected!($other), $name);)*
            };
        }
        same! {
            "ADX" = "adx" "AES" = "aes" "AVX2" = "avx2" "AVX512BW" = "avx512bw" "AVX512CD" = "avx512cd" "AVX512DQ" = "avx512dq"
            "AVX512F" = "avx512f" "AVX512VL" = "avx512vl" "AVX512_BF16" = "avx512bf16" "AVX512_BITALG" = "avx512bitalg"
            "AVX512_IFMA" = "avx512ifma" "AVX512_VBMI" = "avx512vbmi" "AVX512_VBMI2" = "avx512vbmi2" "AVX512_VNNI" = "avx512vnni"
            "AVX512_VP2INTERSECT" = "avx512vp2intersect" "AVX512_VPOPCNTDQ" = "avx512vpopcntdq" "BMI1" = "bmi1" "BMI2" = "bmi2"
            "F16C" = "f16c" "FMA" = "fma" "GFNI" = "gfni" "LZCNT" = "lzcnt" "PCLMULQDQ" = "pclmulqdq" "RDRAND" = "rdrand"
            "RDSEED" = "rdseed" "SHA" = "sha" "VAES" = "vaes" "VPCLMULQDQ" = "vpclmulqdq"
        }
    }
}
