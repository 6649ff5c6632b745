//! The compressions of data sets, besides those that the decoder has: gzip, shuffle, Fletcher, szip, LZ4 and others.

use std::io::Read;

use hdf5_reader::FilterRegistry;
use hdf5_reader::error::Error;

use super::lzf;

/// Numbers of filters in the registry of HDF5.
const LZF: u16 = 32_000;
const ZSTD: u16 = 32_015;

/// Most bytes of a chunk.
const MOST: usize = 256 << 20;

/// The filters of h5py, and Zstandard.
pub(super) fn registry() -> FilterRegistry {
    let mut registry = FilterRegistry::new();
    registry.register(
        LZF,
        Box::new(|filter, packed, _| {
            // The third number of h5py is the size of a chunk.
            let size = filter.client_data.get(2).map_or(MOST, |&size| (size as usize).min(MOST));
            lzf::unpack(packed, size).ok_or_else(|| Error::InvalidData("bytes are not LZF".to_owned()))
        }),
    );
    registry.register(
        ZSTD,
        Box::new(|_, packed, _| {
            let mut unpacked = Vec::new();
            let decoder = zstd::stream::read::Decoder::with_buffer(packed);
            let read = decoder.and_then(|decoder| decoder.take(MOST as u64 + 1).read_to_end(&mut unpacked));
            match read {
                Ok(_) if unpacked.len() <= MOST => Ok(unpacked),
                Ok(_) => Err(Error::InvalidData("a chunk unpacks to more than 256 MiB".to_owned())),
                Err(error) => Err(Error::InvalidData(format!("bytes are not Zstandard ({error})"))),
            }
        }),
    );
    registry
}
