//! The C++ libraries that there are.

/// A C++ library.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CxxLibrary {
    /// gcc's, which clang takes, too.
    #[default]
    Libstdcxx,
    /// clang's, for `-stdlib=libc++`.
    Libcxx,
}

impl CxxLibrary {
    /// The library of which `-lname` is a part.
    pub(crate) fn named(name: &str) -> Option<CxxLibrary> {
        match name {
            "stdc++" | "stdc++fs" | "supc++" => Some(CxxLibrary::Libstdcxx),
            "c++" | "c++abi" => Some(CxxLibrary::Libcxx),
            _ => None,
        }
    }

    /// The folder, among our headers, of those that stand in for its own.
    pub(crate) fn own_headers(self) -> &'static str {
        match self {
            CxxLibrary::Libstdcxx => "c++",
            CxxLibrary::Libcxx => "libc++",
        }
    }
}
