//! Copies of many values to a GPU.
#![allow(unsafe_code)]

use std::sync::PoisonError;

use cudarc::driver::{CudaEvent, CudaSlice, CudaViewMut, DeviceRepr, PinnedHostSlice, ValidAsZeroBits};
use rayon::prelude::*;

use crate::DeviceError;
use crate::cuda::gpu::{Gpu, Result, driver};

/// Bytes of a buffer.
const BUFFER: usize = 16 << 20;
/// Fewest bytes that a thread copies at a time.
const PART: usize = 1 << 16;

/// Memory of the host that the GPU reads by itself. Two are kept for the process: taking them takes 15 ms.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: PinnedHostSlice<u8>,
    /// The end of the last copy from it. cudarc records the end of its own only where there are several streams.
    read: Option<CudaEvent>,
}

/// Copies bytes through two buffers: all threads fill one while the GPU reads the other. The driver alone
/// copies by one thread, at a fraction of the speed.
pub(super) struct Upload<'a> {
    gpu: &'a Gpu,
    /// Taken from the GPU, not locked: a thread that waits for its part of a copy may begin another.
    buffers: Vec<Buffer>,
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        self.gpu.buffers.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.buffers);
    }
}

impl<'a> Upload<'a> {
    pub(super) fn new(gpu: &'a Gpu) -> Self {
        let mut kept = gpu.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let n_kept = kept.len().min(2);
        Self { gpu, buffers: kept.drain(..n_kept).collect() }
    }

    /// Copies values to new memory of the GPU.
    pub(super) fn new_slice<T>(&mut self, what: &'static str, values: &[T]) -> Result<CudaSlice<T>>
    where
        T: DeviceRepr + ValidAsZeroBits + bytemuck::Pod,
    {
        let mut slice = self.gpu.zeros::<T>(what, values.len())?;
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        let mut whole = slice.slice_mut(..);
        // SAFETY: the view has the bytes of the values, for which every pattern is valid.
        let place = unsafe { whole.transmute_mut::<u8>(bytes.len()) };
        let short = DeviceError::Memory { what, needed: bytes.len() as f64, free: 0.0 };
        self.put(bytes, place.ok_or(short)?)?;
        Ok(slice)
    }

    /// Copies `values` to `place`, which has as many bytes.
    pub(super) fn put(&mut self, values: &[u8], mut place: CudaViewMut<'_, u8>) -> Result<()> {
        let (stream, copy) = (&self.gpu.stream, driver("cuMemcpyHtoD"));
        let through = if values.len() < 4 * BUFFER { 0 } else { values.len() / BUFFER * BUFFER };
        let (many, few) = values.split_at(through);
        while !many.is_empty() && self.buffers.len() < 2 {
            // SAFETY: a buffer is written before it is read.
            let bytes = unsafe { stream.context().alloc_pinned(BUFFER) };
            self.buffers.push(Buffer { bytes: bytes.map_err(driver("cuMemHostAlloc"))?, read: None });
        }
        for (index, chunk) in many.chunks(BUFFER).enumerate() {
            let Buffer { bytes, read } = &mut self.buffers[index % 2];
            if let Some(read) = read.take() {
                read.synchronize().map_err(driver("cuEventSynchronize"))?;
            }
            let room = bytes.as_mut_slice().map_err(driver("cuEventSynchronize"))?;
            let part = chunk.len().div_ceil(rayon::current_num_threads()).max(PART);
            room.par_chunks_mut(part).zip(chunk.par_chunks(part)).for_each(|(room, part)| {
                room.copy_from_slice(part);
            });
            let mut place = place.slice_mut(index * BUFFER..(index + 1) * BUFFER);
            stream.memcpy_htod(bytes, &mut place).map_err(&copy)?;
            *read = Some(stream.record_event(None).map_err(driver("cuEventRecord"))?);
        }
        if few.is_empty() {
            return Ok(());
        }
        stream.memcpy_htod(few, &mut place.slice_mut(through..)).map_err(copy)
    }
}
