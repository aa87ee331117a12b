//! The host's guards: bytes as slices.
//!
//! # Safety argument
//!
//! A guard holds its storage, so the bytes stay where they are, and holds the borrow of it, so
//! nobody writes while a reader looks and nobody looks while a writer writes: other guards are
//! refused, and a device map ends only when its work has ended. The layout was made for the
//! storage, so its elements lie inside; the storage is aligned for every element, and any bits,
//! zeroes first, are a valid one.

#![expect(unsafe_code, reason = "makes slices of a storage's bytes")]

use std::marker::PhantomData;
use std::ops::Deref;
use std::slice;
use std::sync::Arc;

use crate::dtype::Element;
use crate::layout::Layout;
use crate::storage::Hold;

/// The elements, for reading. Made by [`Tensor::map`](crate::Tensor::map).
#[derive(Debug)]
pub struct HostMap<'t, T: Element> {
    hold: Hold,
    layout: Arc<Layout>,
    borrowed: PhantomData<&'t [T]>,
}

impl<'t, T: Element> HostMap<'t, T> {
    pub(crate) fn new(hold: Hold, layout: &Arc<Layout>) -> Self {
        Self { hold, layout: Arc::clone(layout), borrowed: PhantomData }
    }

    /// Every element, the last dimension fastest.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: that many elements lie in the storage, aligned and initialised; nobody writes them
        // while this guard holds its borrow, which `&self` outlives no further than the guard.
        unsafe { slice::from_raw_parts(self.start(), self.layout.elements()) }
    }

    /// Row after row: lines of pixels of an image, the last dimension of a plain tensor.
    pub fn rows(&self) -> slice::ChunksExact<'_, T> {
        self.as_slice().chunks_exact(row_elements(&self.layout))
    }

    /// Elements in each dimension; height, width, channels of an image.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Bytes from the start of one row to the start of the next.
    pub fn row_pitch(&self) -> usize {
        self.layout.row_pitch()
    }

    /// The same guard, free of the tensor's lifetime: it keeps the storage, also when the tensor is
    /// gone, and other maps meet it as [`Error::Mapped`](crate::Error::Mapped).
    pub fn into_owned(self) -> HostMap<'static, T> {
        HostMap::new(self.hold, &self.layout)
    }

    fn start(&self) -> *mut T {
        self.hold.storage().heap.start().cast().as_ptr()
    }
}

/// The elements, for reading and writing. Made by [`Tensor::map_mut`](crate::Tensor::map_mut).
#[derive(Debug)]
pub struct HostMapMut<'t, T: Element> {
    map: HostMap<'t, T>,
    borrowed: PhantomData<&'t mut [T]>,
}

impl<'t, T: Element> HostMapMut<'t, T> {
    pub(crate) fn new(hold: Hold, layout: &Arc<Layout>) -> Self {
        Self { map: HostMap::new(hold, layout), borrowed: PhantomData }
    }

    /// Every element, the last dimension fastest.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; the borrow is a writer's, so no other guard exists, and `&mut
        // self` leaves no slice of this one.
        unsafe { slice::from_raw_parts_mut(self.map.start(), self.map.layout.elements()) }
    }

    /// Row after row: lines of pixels of an image, the last dimension of a plain tensor.
    pub fn rows_mut(&mut self) -> slice::ChunksExactMut<'_, T> {
        let row = row_elements(&self.map.layout);
        self.as_mut_slice().chunks_exact_mut(row)
    }

    /// The same guard, free of the tensor's lifetime; see [`HostMap::into_owned`].
    pub fn into_owned(self) -> HostMapMut<'static, T> {
        HostMapMut { map: self.map.into_owned(), borrowed: PhantomData }
    }
}

/// What can be looked at can be looked at while writing, too.
impl<'t, T: Element> Deref for HostMapMut<'t, T> {
    type Target = HostMap<'t, T>;

    fn deref(&self) -> &Self::Target {
        &self.map
    }
}

/// A tensor of no elements has no rows; no iterator has rows of none.
fn row_elements(layout: &Layout) -> usize {
    layout.row_elements().max(1)
}
