//! The functions by name, for a program that links this crate instead of loading a library.

use std::ffi::{CStr, c_void};
use std::ptr;

macro_rules! find {
    ($_major:ident; $($symbol:ident($($argument:ident: $type:ty),*) -> $result:ty = $topic:ident::$function:ident;)*) => {
        /// The address of a function by its symbol, or null. It behaves as major 12.
        #[must_use]
        pub fn resolve(name: &CStr) -> *const c_void {
            let Ok(name) = name.to_str() else {
                return ptr::null();
            };
            match name {
                $(stringify!($symbol) => crate::api::$topic::$function as *const c_void,)*
                _ => ptr::null(),
            }
        }
    };
}

crate::symbols_v12!(find, V12);
