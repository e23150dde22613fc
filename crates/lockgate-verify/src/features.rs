//! What instructions need of the processor beyond x86-64 with AVX, which each host has (rule V6): `needs=` in `encodings.txt`.

/// All that the list names, as Intel's manual calls them, spaces between.
pub const FEATURES: &str = "ADX AES AVX2 AVX512BW AVX512CD AVX512DQ AVX512F AVX512VL AVX512_BF16 AVX512_BITALG AVX512_FP16 AVX512_IFMA \
     AVX512_VBMI AVX512_VBMI2 AVX512_VNNI AVX512_VP2INTERSECT AVX512_VPOPCNTDQ AVX_IFMA AVX_NE_CONVERT AVX_VNNI BMI1 BMI2 F16C FMA GFNI LZCNT \
     MOVBE PCLMULQDQ RDPID RDRAND RDSEED SHA VAES VPCLMULQDQ";

/// The names of a set, which has one bit for each of them.
pub(crate) fn names(set: u64) -> Vec<&'static str> {
    (0..).zip(FEATURES.split(' ')).filter(|(bit, _)| set >> bit & 1 != 0).map(|(_, name)| name).collect()
}

/// The set of these names, commas between.
pub(crate) fn set(list: &str) -> Result<u64, String> {
    list.split(',').try_fold(0, |set, name| {
        let bit = FEATURES.split(' ').position(|known| known == name);
        bit.map(|bit| set | 1 << bit).ok_or_else(|| format!("unknown feature '{name}'"))
    })
}
