// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Regfile: Host window

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

// Anonymous component instances
pub mod base_hi;
pub mod base_lo;
pub mod limit_hi;
pub mod limit_lo;

/// Host window
///
/// A range of physical memory in pages of 4 KiB, both ends included.
#[derive(Eq, PartialEq)]
pub struct Hostwin<'io, IO = peakrdl_rust::io::PtrIO> {
    ptr: *mut u8,
    io: &'io IO,
}

unsafe impl<IO: Sync> Send for Hostwin<'_, IO> {}
unsafe impl<IO: Sync> Sync for Hostwin<'_, IO> {}

// manually implement Copy to ease generic bounds
// (IO does not need to be Copy)
impl<IO> Copy for Hostwin<'_, IO> {}

// manually implement Clone to ease generic bounds
// (IO does not need to be Clone)
impl<IO> Clone for Hostwin<'_, IO> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Hostwin<'static> {
    /// # Safety
    ///
    /// The caller must guarantee that the provided address points to a
    /// hardware register block implementing this interface.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_ptr(ptr: *mut ()) -> Self {
        Self {
            ptr: ptr.cast::<u8>(),
            io: &peakrdl_rust::io::PtrIO,
        }
    }
}

impl<'io, IO> Hostwin<'io, IO> {
    /// Size in bytes of the underlying memory
    pub const SIZE: usize = 0x10;

    /// # Safety
    ///
    /// The caller must guarantee that the provided address points to a
    /// hardware register block implementing this interface.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_ptr_with(ptr: *mut (), io: &'io IO) -> Self {
        Self {
            ptr: ptr.cast::<u8>(),
            io,
        }
    }

    #[inline(always)]
    #[must_use]
    pub const fn as_ptr(&self) -> *mut () {
        self.ptr.cast::<()>()
    }
}

impl<'io, IO: peakrdl_rust::io::RegisterIO> Hostwin<'io, IO> {
    /// First page, low
    ///
    /// Physical address of the first page, bits 31:0.
    #[inline(always)]
    #[must_use]
    pub const fn base_lo(&self) -> peakrdl_rust::reg::Reg<'io, base_lo::BaseLo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x0).cast(), self.io)
        }
    }

    /// First page, high
    ///
    /// Physical address of the first page, bits 63:32.
    #[inline(always)]
    #[must_use]
    pub const fn base_hi(&self) -> peakrdl_rust::reg::Reg<'io, base_hi::BaseHi, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x4).cast(), self.io)
        }
    }

    /// Last page, low
    ///
    /// Physical address of the last page, bits 31:0.
    #[inline(always)]
    #[must_use]
    pub const fn limit_lo(&self) -> peakrdl_rust::reg::Reg<'io, limit_lo::LimitLo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x8).cast(), self.io)
        }
    }

    /// Last page, high
    ///
    /// Physical address of the last page, bits 63:32.
    #[inline(always)]
    #[must_use]
    pub const fn limit_hi(&self) -> peakrdl_rust::reg::Reg<'io, limit_hi::LimitHi, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC).cast(), self.io)
        }
    }
}
