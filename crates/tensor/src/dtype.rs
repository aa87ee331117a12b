//! What one element is.

use std::fmt;

/// The type of a tensor's elements, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// `u8`
    U8,
    /// `i8`
    I8,
    /// `u16`
    U16,
    /// `i16`
    I16,
    /// `u32`
    U32,
    /// `i32`
    I32,
    /// `u64`
    U64,
    /// `i64`
    I64,
    /// `f32`
    F32,
    /// `f64`
    F64,
}

/// A Rust type that elements can have. Sealed: every bit pattern of it is a value, so that bytes
/// which a device or another process wrote can be read as it.
pub trait Element: sealed::AnyBits + Copy + Send + Sync + 'static {
    /// The same type as a value.
    const DTYPE: DType;
}

mod sealed {
    /// Any bits are a valid value, all-zero ones included.
    pub trait AnyBits {}
}

/// One row per type keeps the enum, its size, its name and the trait together.
macro_rules! elements {
    ($($rust:ty => $dtype:ident),+ $(,)?) => {
        $(
            impl sealed::AnyBits for $rust {}
            impl Element for $rust {
                const DTYPE: DType = DType::$dtype;
            }
        )+

        impl DType {
            /// Bytes that one element takes.
            pub const fn size(self) -> usize {
                match self {
                    $(Self::$dtype => size_of::<$rust>(),)+
                }
            }

            const fn name(self) -> &'static str {
                match self {
                    $(Self::$dtype => stringify!($rust),)+
                }
            }
        }
    };
}

elements! {
    u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
    f32 => F32, f64 => F64,
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
