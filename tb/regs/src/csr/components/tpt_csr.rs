// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Addrmap: OpenTPT registers

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

// Anonymous component instances
pub mod alarm;
pub mod alarm_blocked;
pub mod alarm_clear;
pub mod alarm_pd;
pub mod alarm_select;
pub mod alarm_stream;
pub mod cap;
pub mod cap2;
pub mod client_reset;
pub mod cmdq_base_hi;
pub mod cmdq_base_lo;
pub mod cmdq_head;
pub mod cmdq_log_size;
pub mod cmdq_tail;
pub mod cnt_bad_done;
pub mod cnt_evict;
pub mod cnt_fences;
pub mod cnt_late;
pub mod cnt_mpt_hit;
pub mod cnt_mpt_miss;
pub mod cnt_mpt_read;
pub mod cnt_mtt_hit;
pub mod cnt_mtt_miss;
pub mod cnt_mtt_read;
pub mod cnt_refused;
pub mod cnt_requests;
pub mod cnt_segments;
pub mod cplq_base_hi;
pub mod cplq_base_lo;
pub mod cplq_head;
pub mod cplq_log_size;
pub mod cplq_tail;
pub mod ctrl;
pub mod error;
pub mod fault_count;
pub mod fault_info;
pub mod fault_page_hi;
pub mod fault_page_lo;
pub mod fault_pop;
pub mod fence_time;
pub mod hostwin;
pub mod hostwin_enable;
pub mod id;
pub mod int_enable;
pub mod int_status;
pub mod isolation;
pub mod log;
pub mod log_count;
pub mod mpt_base_hi;
pub mod mpt_base_lo;
pub mod mpt_size;
pub mod part_map;
pub mod perm_secret;
pub mod queue_ctrl;
pub mod queue_status;
pub mod refusal_time;
pub mod status;
pub mod syn_count;
pub mod tag_secret;
pub mod version;

/// OpenTPT registers
///
/// Registers of the translation and protection unit: AXI4-Lite, 32 bits each, 4 KiB.
#[derive(Eq, PartialEq)]
pub struct TptCsr<'io, IO = peakrdl_rust::io::PtrIO> {
    ptr: *mut u8,
    io: &'io IO,
}

unsafe impl<IO: Sync> Send for TptCsr<'_, IO> {}
unsafe impl<IO: Sync> Sync for TptCsr<'_, IO> {}

// manually implement Copy to ease generic bounds
// (IO does not need to be Copy)
impl<IO> Copy for TptCsr<'_, IO> {}

// manually implement Clone to ease generic bounds
// (IO does not need to be Clone)
impl<IO> Clone for TptCsr<'_, IO> {
    fn clone(&self) -> Self {
        *self
    }
}

impl TptCsr<'static> {
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

impl<'io, IO> TptCsr<'io, IO> {
    /// Size in bytes of the underlying memory
    pub const SIZE: usize = 0x34C;

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

impl<'io, IO: peakrdl_rust::io::RegisterIO> TptCsr<'io, IO> {
    /// Identification
    ///
    /// "TPT0".
    #[inline(always)]
    #[must_use]
    pub const fn id(&self) -> peakrdl_rust::reg::Reg<'io, id::Id, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x0).cast(), self.io)
        }
    }

    /// Version
    ///
    /// Version of the hardware.
    #[inline(always)]
    #[must_use]
    pub const fn version(&self) -> peakrdl_rust::reg::Reg<'io, version::Version, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x4).cast(), self.io)
        }
    }

    /// Capabilities
    ///
    /// Sizes of this instance.
    #[inline(always)]
    #[must_use]
    pub const fn cap(&self) -> peakrdl_rust::reg::Reg<'io, cap::Cap, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x8).cast(), self.io)
        }
    }

    /// Capabilities 2
    ///
    /// What is built into this instance.
    #[inline(always)]
    #[must_use]
    pub const fn cap2(&self) -> peakrdl_rust::reg::Reg<'io, cap2::Cap2, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xC).cast(), self.io)
        }
    }

    /// Control
    ///
    /// Enabling is refused with bad settings, and with other values of the locked bits.
    #[inline(always)]
    #[must_use]
    pub const fn ctrl(&self) -> peakrdl_rust::reg::Reg<'io, ctrl::Ctrl, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x10).cast(), self.io)
        }
    }

    /// Status
    ///
    /// State of the unit.
    #[inline(always)]
    #[must_use]
    pub const fn status(&self) -> peakrdl_rust::reg::Reg<'io, status::Status, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x14).cast(), self.io)
        }
    }

    /// MPT base, low
    ///
    /// Physical address of the MPT, bits 31:0; bits 11:0 must be 0.
    #[inline(always)]
    #[must_use]
    pub const fn mpt_base_lo(&self) -> peakrdl_rust::reg::Reg<'io, mpt_base_lo::MptBaseLo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x18).cast(), self.io)
        }
    }

    /// MPT base, high
    ///
    /// Physical address of the MPT, bits 63:32.
    #[inline(always)]
    #[must_use]
    pub const fn mpt_base_hi(&self) -> peakrdl_rust::reg::Reg<'io, mpt_base_hi::MptBaseHi, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1C).cast(), self.io)
        }
    }

    /// MPT size
    ///
    /// Entries of the MPT, 1 to 2^23.
    #[inline(always)]
    #[must_use]
    pub const fn mpt_size(&self) -> peakrdl_rust::reg::Reg<'io, mpt_size::MptSize, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x20).cast(), self.io)
        }
    }

    /// Permutation secret
    ///
    /// Secret of the permutation of key index fields, word 0 in bits 31:0. Reads as 0.
    #[inline(always)]
    #[must_use]
    pub const fn perm_secret(
        &self,
    ) -> [peakrdl_rust::reg::Reg<'io, perm_secret::PermSecret, IO>; 4] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 4];

        let mut i0 = 0;
        while i0 < 4 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, perm_secret::PermSecret, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x30 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// Tag secret
    ///
    /// Secret of the tags of keys, word 0 in bits 31:0. Reads as 0.
    #[inline(always)]
    #[must_use]
    pub const fn tag_secret(&self) -> [peakrdl_rust::reg::Reg<'io, tag_secret::TagSecret, IO>; 4] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 4];

        let mut i0 = 0;
        while i0 < 4 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, tag_secret::TagSecret, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x40 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// Client reset
    ///
    /// Write 1 to start, reads 1 until finished.
    #[inline(always)]
    #[must_use]
    pub const fn client_reset(&self) -> peakrdl_rust::reg::Reg<'io, client_reset::ClientReset, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x50).cast(), self.io)
        }
    }

    /// Fence time
    ///
    /// Time limit of fences in clocks; 0: none. A driver that forgets it still has a limit.
    #[inline(always)]
    #[must_use]
    pub const fn fence_time(&self) -> peakrdl_rust::reg::Reg<'io, fence_time::FenceTime, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x54).cast(), self.io)
        }
    }

    /// Errors
    ///
    /// Sticky; write 1 to clear.
    #[inline(always)]
    #[must_use]
    pub const fn error(&self) -> peakrdl_rust::reg::Reg<'io, error::Error, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x58).cast(), self.io)
        }
    }

    /// Interrupt status
    ///
    /// What has happened; write 1 to clear. Bits that INT_ENABLE lets through raise irq_o.
    #[inline(always)]
    #[must_use]
    pub const fn int_status(&self) -> peakrdl_rust::reg::Reg<'io, int_status::IntStatus, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x60).cast(), self.io)
        }
    }

    /// Interrupt enable
    ///
    /// Which bits of INT_STATUS make an interrupt.
    #[inline(always)]
    #[must_use]
    pub const fn int_enable(&self) -> peakrdl_rust::reg::Reg<'io, int_enable::IntEnable, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x64).cast(), self.io)
        }
    }

    /// CNT_REQUESTS
    ///
    /// Requests accepted.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_requests(&self) -> peakrdl_rust::reg::Reg<'io, cnt_requests::CntRequests, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x80).cast(), self.io)
        }
    }

    /// CNT_MPT_HIT
    ///
    /// MPT look-ups found at once.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_mpt_hit(&self) -> peakrdl_rust::reg::Reg<'io, cnt_mpt_hit::CntMptHit, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x84).cast(), self.io)
        }
    }

    /// CNT_MPT_MISS
    ///
    /// MPT look-ups that asked for a read.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_mpt_miss(&self) -> peakrdl_rust::reg::Reg<'io, cnt_mpt_miss::CntMptMiss, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x88).cast(), self.io)
        }
    }

    /// CNT_MPT_READ
    ///
    /// MPT entries read from memory.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_mpt_read(&self) -> peakrdl_rust::reg::Reg<'io, cnt_mpt_read::CntMptRead, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x8C).cast(), self.io)
        }
    }

    /// CNT_MTT_HIT
    ///
    /// MTT look-ups, one per level, found at once.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_mtt_hit(&self) -> peakrdl_rust::reg::Reg<'io, cnt_mtt_hit::CntMttHit, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x90).cast(), self.io)
        }
    }

    /// CNT_MTT_MISS
    ///
    /// MTT look-ups that asked for a read.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_mtt_miss(&self) -> peakrdl_rust::reg::Reg<'io, cnt_mtt_miss::CntMttMiss, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x94).cast(), self.io)
        }
    }

    /// CNT_MTT_READ
    ///
    /// MTT lines read from memory.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_mtt_read(&self) -> peakrdl_rust::reg::Reg<'io, cnt_mtt_read::CntMttRead, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x98).cast(), self.io)
        }
    }

    /// CNT_SEGMENTS
    ///
    /// Segments (OK beats with an address).
    #[inline(always)]
    #[must_use]
    pub const fn cnt_segments(&self) -> peakrdl_rust::reg::Reg<'io, cnt_segments::CntSegments, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x9C).cast(), self.io)
        }
    }

    /// CNT_REFUSED
    ///
    /// Requests that ended with a syndrome.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_refused(&self) -> peakrdl_rust::reg::Reg<'io, cnt_refused::CntRefused, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xA0).cast(), self.io)
        }
    }

    /// CNT_BAD_DONE
    ///
    /// Done messages that were ignored.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_bad_done(&self) -> peakrdl_rust::reg::Reg<'io, cnt_bad_done::CntBadDone, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xA4).cast(), self.io)
        }
    }

    /// CNT_FENCES
    ///
    /// Grace periods that began.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_fences(&self) -> peakrdl_rust::reg::Reg<'io, cnt_fences::CntFences, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xA8).cast(), self.io)
        }
    }

    /// CNT_EVICT
    ///
    /// Stored cache lines replaced by others.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_evict(&self) -> peakrdl_rust::reg::Reg<'io, cnt_evict::CntEvict, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xAC).cast(), self.io)
        }
    }

    /// CNT_LATE
    ///
    /// Refusals that were known too late for REFUSAL_TIME.
    #[inline(always)]
    #[must_use]
    pub const fn cnt_late(&self) -> peakrdl_rust::reg::Reg<'io, cnt_late::CntLate, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0xB0).cast(), self.io)
        }
    }

    /// Refusals by syndrome
    ///
    /// Requests that ended with syndrome n, at 0x100 + 4 n, n from 1 on.
    #[inline(always)]
    #[must_use]
    pub const fn syn_count(&self) -> [peakrdl_rust::reg::Reg<'io, syn_count::SynCount, IO>; 20] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 20];

        let mut i0 = 0;
        while i0 < 20 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, syn_count::SynCount, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x104 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// Refusals logged
    ///
    /// Refused requests logged since reset, modulo 2^32.
    #[inline(always)]
    #[must_use]
    pub const fn log_count(&self) -> peakrdl_rust::reg::Reg<'io, log_count::LogCount, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x180).cast(), self.io)
        }
    }

    /// Log of refusals
    ///
    /// The last four refused requests, the newest first; 0 if there were fewer.
    #[inline(always)]
    #[must_use]
    pub const fn log(&self) -> [peakrdl_rust::reg::Reg<'io, log::Log, IO>; 4] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 4];

        let mut i0 = 0;
        while i0 < 4 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, log::Log, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x190 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// Page faults waiting
    ///
    /// Page faults that nobody has taken yet.
    #[inline(always)]
    #[must_use]
    pub const fn fault_count(&self) -> peakrdl_rust::reg::Reg<'io, fault_count::FaultCount, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1C0).cast(), self.io)
        }
    }

    /// Oldest page fault
    ///
    /// All 0 if none waits.
    #[inline(always)]
    #[must_use]
    pub const fn fault_info(&self) -> peakrdl_rust::reg::Reg<'io, fault_info::FaultInfo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1C4).cast(), self.io)
        }
    }

    /// Page of the oldest page fault, low
    ///
    /// Number of the page in its region, bits 31:0.
    #[inline(always)]
    #[must_use]
    pub const fn fault_page_lo(
        &self,
    ) -> peakrdl_rust::reg::Reg<'io, fault_page_lo::FaultPageLo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1C8).cast(), self.io)
        }
    }

    /// Page of the oldest page fault, high
    ///
    /// Rest of the number, and the request.
    #[inline(always)]
    #[must_use]
    pub const fn fault_page_hi(
        &self,
    ) -> peakrdl_rust::reg::Reg<'io, fault_page_hi::FaultPageHi, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1CC).cast(), self.io)
        }
    }

    /// Take page fault
    ///
    /// Takes the oldest page fault out of the queue. Reads as 0.
    #[inline(always)]
    #[must_use]
    pub const fn fault_pop(&self) -> peakrdl_rust::reg::Reg<'io, fault_pop::FaultPop, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x1D0).cast(), self.io)
        }
    }

    /// Queue control
    ///
    /// Enabling is refused with bad settings, and if the unit has no queues (CAP2.queues).
    #[inline(always)]
    #[must_use]
    pub const fn queue_ctrl(&self) -> peakrdl_rust::reg::Reg<'io, queue_ctrl::QueueCtrl, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x200).cast(), self.io)
        }
    }

    /// Queue status
    ///
    /// State of the queues.
    #[inline(always)]
    #[must_use]
    pub const fn queue_status(&self) -> peakrdl_rust::reg::Reg<'io, queue_status::QueueStatus, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x204).cast(), self.io)
        }
    }

    /// Command queue base, low
    ///
    /// Physical address of the command queue, bits 31:0.
    #[inline(always)]
    #[must_use]
    pub const fn cmdq_base_lo(&self) -> peakrdl_rust::reg::Reg<'io, cmdq_base_lo::CmdqBaseLo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x210).cast(), self.io)
        }
    }

    /// Command queue base, high
    ///
    /// Physical address of the command queue, bits 63:32.
    #[inline(always)]
    #[must_use]
    pub const fn cmdq_base_hi(&self) -> peakrdl_rust::reg::Reg<'io, cmdq_base_hi::CmdqBaseHi, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x214).cast(), self.io)
        }
    }

    /// Command queue size
    ///
    /// Size of the command queue.
    #[inline(always)]
    #[must_use]
    pub const fn cmdq_log_size(
        &self,
    ) -> peakrdl_rust::reg::Reg<'io, cmdq_log_size::CmdqLogSize, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x218).cast(), self.io)
        }
    }

    /// Command queue doorbell
    ///
    /// The slot behind the last command that the host has written. Moves forward only.
    #[inline(always)]
    #[must_use]
    pub const fn cmdq_tail(&self) -> peakrdl_rust::reg::Reg<'io, cmdq_tail::CmdqTail, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x21C).cast(), self.io)
        }
    }

    /// Command queue head
    ///
    /// The slot of the next command that the unit takes.
    #[inline(always)]
    #[must_use]
    pub const fn cmdq_head(&self) -> peakrdl_rust::reg::Reg<'io, cmdq_head::CmdqHead, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x220).cast(), self.io)
        }
    }

    /// Completion queue base, low
    ///
    /// Physical address of the completion queue, bits 31:0.
    #[inline(always)]
    #[must_use]
    pub const fn cplq_base_lo(&self) -> peakrdl_rust::reg::Reg<'io, cplq_base_lo::CplqBaseLo, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x230).cast(), self.io)
        }
    }

    /// Completion queue base, high
    ///
    /// Physical address of the completion queue, bits 63:32.
    #[inline(always)]
    #[must_use]
    pub const fn cplq_base_hi(&self) -> peakrdl_rust::reg::Reg<'io, cplq_base_hi::CplqBaseHi, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x234).cast(), self.io)
        }
    }

    /// Completion queue size
    ///
    /// Size of the completion queue.
    #[inline(always)]
    #[must_use]
    pub const fn cplq_log_size(
        &self,
    ) -> peakrdl_rust::reg::Reg<'io, cplq_log_size::CplqLogSize, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x238).cast(), self.io)
        }
    }

    /// Completion queue doorbell
    ///
    /// The slot of the next completion that the host takes. Not beyond CPLQ_TAIL.
    #[inline(always)]
    #[must_use]
    pub const fn cplq_head(&self) -> peakrdl_rust::reg::Reg<'io, cplq_head::CplqHead, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x23C).cast(), self.io)
        }
    }

    /// Completion queue tail
    ///
    /// The slot behind the last completion that the unit has written.
    #[inline(always)]
    #[must_use]
    pub const fn cplq_tail(&self) -> peakrdl_rust::reg::Reg<'io, cplq_tail::CplqTail, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x240).cast(), self.io)
        }
    }

    /// Host windows
    ///
    /// Which windows are in force. If none is, every address is allowed.
    #[inline(always)]
    #[must_use]
    pub const fn hostwin_enable(
        &self,
    ) -> peakrdl_rust::reg::Reg<'io, hostwin_enable::HostwinEnable, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x280).cast(), self.io)
        }
    }

    /// Alarm of bad keys
    ///
    /// Bad keys: requests refused with KEY_INDEX, KEY_STATE, KEY_TAG, PD or QP.
    #[inline(always)]
    #[must_use]
    pub const fn alarm(&self) -> peakrdl_rust::reg::Reg<'io, alarm::Alarm, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x300).cast(), self.io)
        }
    }

    /// What is shown and cleared
    ///
    /// Chooses for ALARM_STREAM, ALARM_PD and ALARM_CLEAR.
    #[inline(always)]
    #[must_use]
    pub const fn alarm_select(&self) -> peakrdl_rust::reg::Reg<'io, alarm_select::AlarmSelect, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x304).cast(), self.io)
        }
    }

    /// Bad keys of a stream
    ///
    /// Of the stream that ALARM_SELECT names; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub const fn alarm_stream(&self) -> peakrdl_rust::reg::Reg<'io, alarm_stream::AlarmStream, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x308).cast(), self.io)
        }
    }

    /// Bad keys of a slot of PDs
    ///
    /// Of the slot that ALARM_SELECT names.
    #[inline(always)]
    #[must_use]
    pub const fn alarm_pd(&self) -> peakrdl_rust::reg::Reg<'io, alarm_pd::AlarmPd, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x30C).cast(), self.io)
        }
    }

    /// Clear counts of bad keys
    ///
    /// What is cleared. Reads as 0.
    #[inline(always)]
    #[must_use]
    pub const fn alarm_clear(&self) -> peakrdl_rust::reg::Reg<'io, alarm_clear::AlarmClear, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x310).cast(), self.io)
        }
    }

    /// Blocked streams
    ///
    /// Streams 32 n to 32 n + 31, counted over the clients: 64 to each.
    #[inline(always)]
    #[must_use]
    pub const fn alarm_blocked(
        &self,
    ) -> [peakrdl_rust::reg::Reg<'io, alarm_blocked::AlarmBlocked, IO>; 8] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 8];

        let mut i0 = 0;
        while i0 < 8 {
            array[i0].write(unsafe {
                peakrdl_rust::reg::Reg::<'io, alarm_blocked::AlarmBlocked, IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x320 + i0 * 0x4).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }

    /// Partitions
    ///
    /// How caches, contexts and slots for page faults are divided among tenants.
    #[inline(always)]
    #[must_use]
    pub const fn isolation(&self) -> peakrdl_rust::reg::Reg<'io, isolation::Isolation, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x340).cast(), self.io)
        }
    }

    /// Partition of each group
    ///
    /// Bits 2 g + 1 to 2 g: partition of group g, modulo the number of partitions.
    #[inline(always)]
    #[must_use]
    pub const fn part_map(&self) -> peakrdl_rust::reg::Reg<'io, part_map::PartMap, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x344).cast(), self.io)
        }
    }

    /// Time of a refusal
    ///
    /// When the refusal of a peer's request leaves.
    #[inline(always)]
    #[must_use]
    pub const fn refusal_time(&self) -> peakrdl_rust::reg::Reg<'io, refusal_time::RefusalTime, IO> {
        unsafe {
            peakrdl_rust::reg::Reg::from_ptr_with(self.ptr.wrapping_byte_add(0x348).cast(), self.io)
        }
    }

    /// Host window
    ///
    /// A range of physical memory in pages of 4 KiB, both ends included.
    #[inline(always)]
    #[must_use]
    pub const fn hostwin(&self) -> [hostwin::Hostwin<'io, IO>; 4] {
        // SAFETY: We will initialize every element before using the array
        let mut array = [core::mem::MaybeUninit::uninit(); 4];

        let mut i0 = 0;
        while i0 < 4 {
            array[i0].write(unsafe {
                hostwin::Hostwin::<IO>::from_ptr_with(
                    self.ptr.wrapping_byte_add(0x2c0 + i0 * 0x10).cast(),
                    self.io,
                )
            });
            i0 += 1;
        }

        // SAFETY: All elements have been initialized above
        unsafe { core::mem::transmute(array) }
    }
}
