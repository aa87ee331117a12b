//! How elements lie in memory: tight, row after row, the last dimension fastest.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::format::PixelFormat;

/// The most bytes that one allocation of a Rust program may have.
pub(crate) const MOST_BYTES: usize = isize::MAX.unsigned_abs();

/// A shape with the sizes that follow from it. That it exists proves that none of them overflows.
#[derive(Debug)]
pub(crate) struct Layout {
    shape: Box<[usize]>,
    dtype: DType,
    row_elements: usize,
    bytes: usize,
}

impl Layout {
    /// A plain tensor: a row is its last dimension; any dimension may be zero.
    pub(crate) fn plain(shape: &[usize], dtype: DType) -> Result<Self> {
        Self::with_row_of(1, shape, dtype)
    }

    /// A picture of shape height x width x channels: a row is a line of pixels.
    pub(crate) fn image(width: usize, height: usize, format: PixelFormat, dtype: DType) -> Result<Self> {
        if width == 0 || height == 0 {
            return Err(Error::EmptyImage { width, height });
        }
        Self::with_row_of(2, &[height, width, format.channels()], dtype)
    }

    fn with_row_of(dimensions: usize, shape: &[usize], dtype: DType) -> Result<Self> {
        let row = &shape[shape.len().saturating_sub(dimensions)..];
        // Zeros are left out here: a tensor of no elements must not hide an absurd dimension, by
        // which a later reshape or view would multiply.
        shape
            .iter()
            .filter(|&&extent| extent != 0)
            .try_fold(dtype.size(), |bytes, &extent| bytes.checked_mul(extent))
            .filter(|&bytes| bytes <= MOST_BYTES)
            .map(|bytes| Self {
                shape: shape.into(),
                dtype,
                row_elements: row.iter().product(),
                bytes: if shape.contains(&0) { 0 } else { bytes },
            })
            .ok_or_else(|| Error::TooLarge { shape: shape.into(), dtype, limit: MOST_BYTES })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn elements(&self) -> usize {
        self.bytes / self.dtype.size()
    }

    pub(crate) fn row_elements(&self) -> usize {
        self.row_elements
    }

    pub(crate) fn row_pitch(&self) -> usize {
        self.row_elements * self.dtype.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_last_dimension_or_a_line_of_pixels() {
        let plain = Layout::plain(&[4, 5, 6], DType::F32).unwrap();
        assert_eq!((plain.row_pitch(), plain.bytes()), (24, 480));
        let image = Layout::image(341, 256, PixelFormat::Rgb, DType::U8).unwrap();
        assert_eq!((image.row_pitch(), image.bytes()), (1023, 261_888));
        assert_eq!(image.shape(), [256, 341, 3]);
    }

    #[test]
    fn a_scalar_has_one_element() {
        let scalar = Layout::plain(&[], DType::F64).unwrap();
        assert_eq!((scalar.elements(), scalar.row_pitch()), (1, 8));
    }

    #[test]
    fn zero_is_a_size_of_tensors_but_not_of_pictures() {
        assert_eq!(Layout::plain(&[3, 0, 2], DType::U16).unwrap().bytes(), 0);
        for (width, height) in [(0, 8), (8, 0), (0, 0)] {
            let refused = Layout::image(width, height, PixelFormat::Rgb, DType::U8);
            assert!(matches!(refused, Err(Error::EmptyImage { .. })));
        }
    }

    #[test]
    fn the_limit_is_exact_and_zero_hides_no_overflow() {
        assert_eq!(Layout::plain(&[MOST_BYTES], DType::U8).unwrap().bytes(), MOST_BYTES);
        for shape in [&[MOST_BYTES + 1][..], &[usize::MAX, 2], &[0, usize::MAX, usize::MAX]] {
            let refused = Layout::plain(shape, DType::U8);
            assert!(
                matches!(&refused, Err(Error::TooLarge { limit, .. }) if *limit == MOST_BYTES),
                "{shape:?}: {refused:?}"
            );
        }
        assert!(Layout::plain(&[MOST_BYTES / 8 + 1], DType::U64).is_err());
        assert!(Layout::image(usize::MAX / 3, 2, PixelFormat::Rgba, DType::U8).is_err());
    }
}
