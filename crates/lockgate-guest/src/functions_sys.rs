//! The macros that make functions of one side callable by the other.

/// Makes functions callable by the host. Parameters and results are [`Value`](crate::Value)s. The functions stay what they are for
/// the rest of the crate.
#[macro_export]
macro_rules! export {
    ($($(#[$meta:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $visibility fn $name($($argument: $type),*) $(-> $result)? $body

        const _: () = {
            // SAFETY: the name is the crate's own; a second function of the name is an error of the link.
            #[unsafe(export_name = stringify!($name))]
            // A panic ends at the border, with all functions in progress for the report, where `extern "C"` would end it here.
            extern "C-unwind" fn entry($($argument: <$type as $crate::Value>::Raw),*) $(-> <$result as $crate::Value>::Raw)? {
                // SAFETY: the host gives values of the types that the module's notes name, and pointers into the domain.
                let result = $name($(unsafe { <$type as $crate::Value>::from_raw($argument) }),*);
                $crate::Value::into_raw(result)
            }
        };

        $crate::declare!("export", $name($($type),*) $(-> $result)?);
    )*};
}

/// Makes functions of the host's callable: gates, for which the host gives functions when it makes a domain. Parameters and results are
/// [`Value`](crate::Value)s.
#[macro_export]
macro_rules! import {
    ($($(#[$meta:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {$(
        $(#[$meta])*
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: what the link makes a gate of has the type that the module's notes name.
            unsafe extern "C" {
                #[link_name = stringify!($name)]
                fn gate($($argument: <$type as $crate::Value>::Raw),*) $(-> <$result as $crate::Value>::Raw)?;
            }
            // SAFETY: the host's function has that type, too: the runtime compares them. Its results are values of it.
            unsafe { $crate::Value::from_raw(gate($(<$type as $crate::Value>::into_raw($argument)),*)) }
        }

        $crate::declare!("gate", $name($($type),*) $(-> $result)?);
    )*};
}

/// Leaves a line for the link, which takes it with `--declared`.
#[doc(hidden)]
#[macro_export]
macro_rules! declare {
    ($kind:literal, $name:ident($($type:ty),*)) => { $crate::declare!($kind, $name($($type),*) -> ()); };
    ($kind:literal, $name:ident($($type:ty),*) -> $result:ty) => {
        const _: () = {
            const LINE: $crate::declare::Line = $crate::declare::Line {
                kind: $kind,
                result: <$result as $crate::Value>::C,
                name: stringify!($name),
                parameters: &[$(<$type as $crate::Value>::C),*],
            };
            // SAFETY: the link reads the section and leaves it out; nothing refers to it.
            #[used]
            #[unsafe(link_section = ".lockgate.declared")]
            static TEXT: [u8; LINE.length()] = LINE.text();
        };
    };
}
