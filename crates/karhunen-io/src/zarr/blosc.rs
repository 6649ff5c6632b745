//! Blosc, version 1: the compression that Zarr 2 writes by default. A frame holds blocks, and a block one stream for
//! each byte of an element, or one for all.
//!
//! <https://www.blosc.org/c-blosc/>, `README_CHUNK_FORMAT.rst`. The shuffles are as in the frame; the streams are
//! unpacked by the crates of their compressions, except BloscLZ, which only Blosc uses.

use std::io::Read;

use flate2::read::ZlibDecoder;
use karhunen::memory;
use zstd::bulk::Decompressor;

/// Bytes of the header of a frame.
const HEADER: usize = 16;
/// Blocks of larger elements, and of fewer elements, are one stream.
const MOST_STREAMS: usize = 16;
const LEAST_ELEMENTS: usize = 128;

/// The header of a frame.
struct Header {
    flags: u8,
    element: usize,
    n_bytes: usize,
    block: usize,
}

/// The compression of the streams.
enum Codec {
    BloscLz,
    Lz4,
    Zlib,
    Zstd(Box<Decompressor<'static>>),
}

type Unpacked<T> = Result<T, String>;

/// Unpacks a frame to at most `most` bytes.
///
/// # Errors
/// The fault of the frame.
pub(crate) fn unpack(frame: &[u8], most: usize) -> Unpacked<Vec<u8>> {
    let header = Header::read(frame)?;
    if header.n_bytes > most {
        return Err(format!("a Blosc frame declares {} bytes, at most {most} are expected", header.n_bytes));
    }
    let mut out = Vec::new();
    memory::reserve(&mut out, header.n_bytes).map_err(|error| error.to_string())?;
    if header.flags & 2 != 0 {
        let stored = frame.get(HEADER..HEADER + header.n_bytes).ok_or_else(cut_off)?;
        out.extend_from_slice(stored);
        return Ok(out);
    }
    out.resize(header.n_bytes, 0);
    let mut codec = Codec::of(header.flags)?;
    let n_blocks = header.n_bytes.div_ceil(header.block.max(1));
    let mut shuffled = vec![0; header.block.min(header.n_bytes)];
    for (number, block) in out.chunks_mut(header.block.max(1)).enumerate() {
        let begin = number_at(frame, HEADER + 4 * number)?;
        // The table of the beginnings is not a stream.
        if begin < HEADER + 4 * n_blocks {
            return Err("a block of a Blosc frame begins within its header".to_owned());
        }
        let is_whole = block.len() == header.block;
        let n_streams = if is_whole { header.n_streams() } else { 1 };
        let shuffled = &mut shuffled[..block.len()];
        streams(frame, begin, n_streams, &mut codec, shuffled)?;
        header.unshuffle(shuffled, block);
    }
    Ok(out)
}

fn cut_off() -> String {
    "a Blosc frame is cut off".to_owned()
}

/// A number of four bytes at a place.
fn number_at(frame: &[u8], at: usize) -> Unpacked<usize> {
    let bytes = at.checked_add(4).and_then(|end| frame.get(at..end)).ok_or_else(cut_off)?;
    let number = bytes.try_into().map(u32::from_le_bytes).map_err(|_| cut_off())?;
    usize::try_from(number).map_err(|_| cut_off())
}

/// Unpacks the streams of a block, which follow each other, each after its length.
fn streams(
    frame: &[u8],
    mut at: usize,
    n_streams: usize,
    codec: &mut Codec,
    block: &mut [u8],
) -> Unpacked<()> {
    let length = block.len() / n_streams;
    for out in block.chunks_exact_mut(length) {
        let n = number_at(frame, at)?;
        let end = (at + 4).checked_add(n).ok_or_else(cut_off)?;
        let packed = frame.get(at + 4..end).ok_or_else(cut_off)?;
        if n == length {
            out.copy_from_slice(packed);
        } else {
            codec.unpack(packed, out)?;
        }
        at = end;
    }
    Ok(())
}

impl Header {
    fn read(frame: &[u8]) -> Unpacked<Self> {
        let [version, _, flags, element, ..] = *frame else { return Err(cut_off()) };
        if version != 2 {
            return Err(format!("bytes are not a Blosc frame of version 2 but of version {version}"));
        }
        let (n_bytes, block) = (number_at(frame, 4)?, number_at(frame, 8)?);
        if frame.len() < HEADER || number_at(frame, 12)? > frame.len() {
            return Err(cut_off());
        }
        if block == 0 && n_bytes > 0 && flags & 2 == 0 {
            return Err("a Blosc frame has blocks of no bytes".to_owned());
        }
        Ok(Self { flags, element: usize::from(element).max(1), n_bytes, block })
    }

    /// Number of streams of a whole block.
    fn n_streams(&self) -> usize {
        let in_one = self.flags & 0x10 != 0
            || self.element > MOST_STREAMS
            || self.block / self.element < LEAST_ELEMENTS
            || !self.block.is_multiple_of(self.element);
        if in_one { 1 } else { self.element }
    }

    /// Puts the bytes or bits of a block in the order of its elements.
    fn unshuffle(&self, shuffled: &[u8], out: &mut [u8]) {
        let size = self.element;
        let n = out.len() / size;
        if self.flags & 1 != 0 && size > 1 {
            unshuffle_bytes(shuffled, size, out);
        } else if self.flags & 4 != 0 && n.is_multiple_of(8) {
            let (whole, rest) = out.split_at_mut(n * size);
            // A row holds one bit of one byte of every element.
            let row = n / 8;
            for byte in 0..size {
                for eight in 0..row {
                    let bits: [u8; 8] = std::array::from_fn(|bit| shuffled[(byte * 8 + bit) * row + eight]);
                    for element in 0..8 {
                        let value = (0..8).fold(0, |value, bit| value | ((bits[bit] >> element & 1) << bit));
                        whole[(eight * 8 + element) * size + byte] = value;
                    }
                }
            }
            rest.copy_from_slice(&shuffled[n * size..]);
        } else {
            out.copy_from_slice(shuffled);
        }
    }
}

/// Puts the bytes of elements of `size` bytes, of which the bytes of the same place lie together, in the order of the
/// elements. `out` is as long as `shuffled`; bytes beyond the last whole element stay where they are.
pub(crate) fn unshuffle_bytes(shuffled: &[u8], size: usize, out: &mut [u8]) {
    let n = shuffled.len() / size;
    let (whole, rest) = out.split_at_mut(n * size);
    for (byte, of_elements) in shuffled.chunks_exact(n.max(1)).take(size).enumerate() {
        for (element, &value) in whole.chunks_exact_mut(size).zip(of_elements) {
            element[byte] = value;
        }
    }
    rest.copy_from_slice(&shuffled[n * size..]);
}

impl Codec {
    fn of(flags: u8) -> Unpacked<Self> {
        match flags >> 5 {
            0 => Ok(Self::BloscLz),
            1 => Ok(Self::Lz4),
            3 => Ok(Self::Zlib),
            4 => {
                Decompressor::new().map(|zstd| Self::Zstd(Box::new(zstd))).map_err(|error| error.to_string())
            }
            2 => Err("a Blosc frame is packed with Snappy, which is not read".to_owned()),
            other => Err(format!("a Blosc frame has an unknown compression ({other})")),
        }
    }

    /// Unpacks a stream, which fills `out`.
    fn unpack(&mut self, packed: &[u8], out: &mut [u8]) -> Unpacked<()> {
        let n = match self {
            Self::BloscLz => blosclz(packed, out),
            Self::Lz4 => lz4_flex::block::decompress_into(packed, out).ok(),
            Self::Zlib => ZlibDecoder::new(packed).read_exact(out).ok().map(|()| out.len()),
            Self::Zstd(zstd) => zstd.decompress_to_buffer(packed, out).ok(),
        };
        if n == Some(out.len()) { Ok(()) } else { Err("a block of a Blosc frame is damaged".to_owned()) }
    }
}

/// BloscLZ: as LZF, with longer references. Returns the number of bytes written; `None` for damaged bytes.
fn blosclz(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    /// Beyond it a distance has two bytes more.
    const FAR: usize = 8191;
    let mut rest = packed.iter().copied();
    let mut control = usize::from(rest.next()? & 31);
    let mut n = 0;
    loop {
        if control < 32 {
            for _ in 0..=control {
                *out.get_mut(n)? = rest.next()?;
                n += 1;
            }
        } else {
            let mut length = (control >> 5) + 2;
            if control >> 5 == 7 {
                loop {
                    let more = rest.next()?;
                    length += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let high = (control & 31) << 8;
            let low = usize::from(rest.next()?);
            let back = if low == 255 && high == 31 << 8 {
                FAR + (usize::from(rest.next()?) << 8) + usize::from(rest.next()?) + 1
            } else {
                high + low + 1
            };
            let begin = n.checked_sub(back)?;
            for from in begin..begin + length {
                // The bytes may overlap those that they become.
                *out.get_mut(n)? = out[from];
                n += 1;
            }
        }
        match rest.next() {
            Some(next) => control = usize::from(next),
            None => return Some(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that numcodecs wrote, one for each compression, shuffle and size of elements, whose numbers are in
    /// `expected`; see `tests/data/make_zarr.py`.
    const FRAMES: &[u8] = include_bytes!("../../tests/data/zarr/blosc.bin");

    struct Frame<'a> {
        name: &'a str,
        size: usize,
        n: usize,
        packed: &'a [u8],
    }

    fn frames() -> Vec<Frame<'static>> {
        let mut rest = FRAMES;
        let mut found = Vec::new();
        while let Some((line, after)) = rest.split_once_newline() {
            let words: Vec<&str> = std::str::from_utf8(line).unwrap().split(' ').collect();
            let numbers: Vec<usize> = words[1..].iter().map(|word| word.parse().unwrap()).collect();
            let (packed, after) = after.split_at(numbers[2]);
            found.push(Frame { name: words[0], size: numbers[0], n: numbers[1], packed });
            rest = after;
        }
        found
    }

    trait Lines<'a> {
        fn split_once_newline(&self) -> Option<(&'a [u8], &'a [u8])>;
    }

    impl<'a> Lines<'a> for &'a [u8] {
        fn split_once_newline(&self) -> Option<(&'a [u8], &'a [u8])> {
            let at = self.iter().position(|&byte| byte == b'\n')?;
            Some((&self[..at], &self[at + 1..]))
        }
    }

    /// The square of the index modulo 1009, then its index modulo 7 in the other bytes, little-endian.
    fn expected(frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        for i in 0..frame.n {
            let number = ((i * i) % 1009) as u32;
            let mut element = vec![(i % 7) as u8; frame.size];
            let low = number.to_le_bytes();
            element.iter_mut().zip(&low[..2]).for_each(|(byte, value)| *byte = *value);
            bytes.extend(element);
        }
        bytes
    }

    #[test]
    fn frames_of_every_compression_and_shuffle_are_unpacked() {
        let frames = frames();
        assert!(frames.len() > 60, "{}", frames.len());
        for frame in frames {
            let expected = expected(&frame);
            let found = unpack(frame.packed, expected.len());
            let Frame { name, size, n, .. } = frame;
            assert!(
                found.as_ref() == Ok(&expected),
                "{name}, {n} elements of {size} bytes: {:?}",
                found.err()
            );
        }
    }

    #[test]
    fn frames_that_lie_are_refused_and_damage_never_panics() {
        let mut n_refused = 0;
        for frame in frames() {
            let most = frame.size * frame.n;
            let beyond = unpack(frame.packed, most - 1).unwrap_err();
            assert!(beyond.contains("at most"), "{beyond}");
            for length in (0..frame.packed.len()).step_by(frame.packed.len() / 10 + 1) {
                assert!(unpack(&frame.packed[..length], most).is_err(), "{}: {length}", frame.name);
            }
            for at in (0..frame.packed.len().min(40)).chain((40..frame.packed.len()).step_by(97)) {
                for flip in [1, 0x80, 0xff] {
                    let mut bytes = frame.packed.to_vec();
                    bytes[at] ^= flip;
                    n_refused += usize::from(unpack(&bytes, most).is_err());
                }
            }
        }
        assert!(n_refused > 1000, "{n_refused}");
    }
}
