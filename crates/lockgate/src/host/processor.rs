//! Whether the processor has what a module needs, as far as the verifier's report says (rule V6).
use lockgate_verify::Report;

/// What processors may lack. (AVX they have: `host::prepare` asks for it.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Processor {
    pub avx512: bool,
}

/// What the module's code is compiled for and this processor lacks. A module that asks the processor (cpuid) may have code for several, and
/// is taken to use only what there is; what it uses all the same ends its call as an illegal instruction.
pub(crate) fn lacks(report: &Report) -> Option<&'static str> {
    Processor::here().lacks(report)
}

impl Processor {
    /// The one at hand.
    pub fn here() -> Processor {
        Processor { avx512: std::arch::is_x86_feature_detected!("avx512f") }
    }

    fn lacks(self, report: &Report) -> Option<&'static str> {
        match report {
            Report { cpuid: true, .. } => None,
            Report { evex: true, .. } | Report { mask: true, .. } if !self.avx512 => Some("AVX-512"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_processor_lacks_is_named() {
        let [zen_4, zen_3] = [true, false].map(|avx512| Processor { avx512 });
        let plain = Report::default();
        let avx = Report { ymm: true, ..plain.clone() };
        let avx512 = Report { evex: true, ..avx.clone() };
        let mask = Report { mask: true, ..plain.clone() };
        let asks = Report { cpuid: true, ..avx512.clone() };
        for (report, on_zen_3) in [
            (&plain, None),
            (&avx, None),
            (&avx512, Some("AVX-512")),
            (&mask, Some("AVX-512")),
            (&asks, None),
        ] {
            assert_eq!(zen_4.lacks(report), None);
            assert_eq!(zen_3.lacks(report), on_zen_3, "{report:?}");
        }
    }
}
