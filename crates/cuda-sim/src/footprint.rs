//! Which bytes an access touches: rows at a pitch.

/// Rows of equal length at equal distance, in one piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) start: usize,
    pub(crate) row: usize,
    pub(crate) pitch: usize,
    pub(crate) rows: usize,
}

impl Footprint {
    /// Bytes without gaps.
    pub(crate) fn linear(start: usize, bytes: usize) -> Footprint {
        Footprint { start, row: bytes, pitch: bytes, rows: 1 }
    }

    /// From the first byte to behind the last.
    pub(crate) fn hull(&self) -> (usize, usize) {
        let last = self.pitch * self.rows.saturating_sub(1);
        (self.start, self.start + last + self.row)
    }

    /// Number of bytes touched.
    pub(crate) fn bytes(&self) -> usize {
        self.row * self.rows
    }

    /// Whether a byte is common to both. Exact, so that two tiles of one picture do not meet.
    pub(crate) fn overlaps(&self, other: &Footprint) -> bool {
        let (few, many) = if self.rows <= other.rows { (self, other) } else { (other, self) };
        (0..few.rows).any(|row| {
            let start = few.start + row * few.pitch;
            many.touches(start, start + few.row)
        })
    }

    /// Whether every byte of the other lies within this one. Only gapless ones are known to cover.
    pub(crate) fn covers(&self, other: &Footprint) -> bool {
        let (start, end) = other.hull();
        self == other || self.rows == 1 && self.start <= start && end <= self.start + self.row
    }

    fn touches(&self, start: usize, end: usize) -> bool {
        let (first, last) = self.hull();
        if start >= end || end <= first || last <= start || self.row == 0 {
            return false;
        }
        if self.pitch == 0 {
            return true;
        }
        // The first row that ends behind `start` decides: if it begins before `end`, they meet.
        let row = (start + 1).saturating_sub(self.start + self.row).div_ceil(self.pitch);
        row < self.rows && self.start + row * self.pitch < end
    }
}

#[cfg(test)]
mod tests {
    use super::Footprint;

    #[test]
    fn tiles_side_by_side_do_not_meet() {
        let left = Footprint { start: 0, row: 32, pitch: 100, rows: 10 };
        let right = Footprint { start: 32, row: 68, pitch: 100, rows: 10 };
        assert!(!left.overlaps(&right));
        assert!(left.overlaps(&Footprint { start: 31, ..right }));
    }

    #[test]
    fn agrees_with_counting_bytes() {
        let bytes = |f: &Footprint| -> Vec<usize> {
            (0..f.rows).flat_map(|row| (0..f.row).map(move |at| f.start + row * f.pitch + at)).collect()
        };
        let all = (0..12).flat_map(|start| {
            (1..4).flat_map(move |row| {
                (row..6).flat_map(move |pitch| (1..4).map(move |rows| Footprint { start, row, pitch, rows }))
            })
        });
        let fixed = Footprint { start: 6, row: 2, pitch: 5, rows: 3 };
        for other in all {
            let common = bytes(&fixed).iter().any(|byte| bytes(&other).contains(byte));
            assert_eq!(fixed.overlaps(&other), common, "{fixed:?} {other:?}");
            assert_eq!(other.overlaps(&fixed), common, "{other:?} {fixed:?}");
        }
    }
}
