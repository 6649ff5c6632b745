//! Mutations of arrays, alone or in archives, and of gzip content; sizes and checksums are updated.

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

use super::bytes::{self, choose, position};
use super::{Rng, Structure, strategies};

/// Largest unpacked size in bytes.
const MOST_UNPACKED: u64 = 256 << 10;

/// Mutates the content by its own structure and packs it again.
pub(super) fn change_gzip(rng: &mut Rng, packed: &mut Vec<u8>) {
    let mut content = Vec::new();
    if MultiGzDecoder::new(packed.as_slice()).take(MOST_UNPACKED).read_to_end(&mut content).is_err() {
        return bytes::change(rng, packed);
    }
    change_inner(rng, &mut content);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    if encoder.write_all(&content).is_ok()
        && let Ok(again) = encoder.finish()
    {
        *packed = again;
    }
}

fn change_inner(rng: &mut Rng, content: &mut Vec<u8>) {
    match Structure::of(content) {
        // Bounds the recursion.
        Structure::Gzip | Structure::Zip => bytes::change(rng, content),
        structure => {
            let all: u32 = strategies(structure).iter().map(|(weight, _)| weight).sum();
            let mut draw = position(rng, all as usize) as u32;
            for (weight, strategy) in strategies(structure) {
                if draw < *weight {
                    return strategy(rng, content);
                }
                draw -= weight;
            }
        }
    }
}

/// Mutates one word of the header of an array and updates its length, or mutates one number.
pub(super) fn change_npy(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const DESCR: [&str; 16] = [
        "<f8", "<f4", "<f2", ">f8", ">f4", "|b1", "|u1", "|i1", "<i8", "<u8", ">i2", "<U3", "|S2", "<c16",
        "|O", "<f16",
    ];
    const SHAPES: [&str; 14] = [
        "()",
        "(0,)",
        "(1,)",
        "(3,)",
        "(0, 3)",
        "(3, 0)",
        "(2, 3)",
        "(3, 2)",
        "(6, 1)",
        "(1, 6)",
        "(2, 3, 1)",
        "(4294967296, 4294967296)",
        "(18446744073709551616,)",
        "(-1, 3)",
    ];
    let (at, wide) = match bytes.get(6) {
        Some(1) => (10, false),
        Some(2 | 3) => (12, true),
        _ => return bytes::change(rng, bytes),
    };
    let length = match (wide, bytes.get(8..at)) {
        (false, Some(&[a, b])) => usize::from(u16::from_le_bytes([a, b])),
        (true, Some(&[a, b, c, d])) => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => return bytes::change(rng, bytes),
    };
    let Some(header) = bytes.get(at..).and_then(|rest| rest.get(..length)) else {
        return bytes::change(rng, bytes);
    };
    let mut text = String::from_utf8_lossy(header).into_owned();
    let word = |text: &str, key: &str, new: &str| {
        let (before, after) = text.split_once(key)?;
        // Up to the comma before the next key.
        let (_, rest) = after.split_once(", '").or_else(|| after.split_once(", }")).unwrap_or((after, ""));
        let next = if after.contains(", '") { ", '" } else { ", }" };
        Some(format!("{before}{key} {new}{next}{rest}"))
    };
    let changed = match rng.gen_u8() % 8 {
        0..=1 => {
            let new = format!("'{}'", choose(rng, &DESCR));
            word(&text, "'descr':", &new)
        }
        2..=3 => {
            let new = choose(rng, &SHAPES);
            word(&text, "'shape':", new)
        }
        4 => {
            let new = choose(rng, &["True", "False", "0", "None"]);
            word(&text, "'fortran_order':", new)
        }
        5 => {
            let mut inner = text.clone().into_bytes();
            super::text::change(rng, &mut inner);
            Some(String::from_utf8_lossy(&inner).into_owned())
        }
        6 => {
            // Deep nesting, because the header is a Python literal.
            let depth = choose(rng, &[1, 60, 5000]);
            Some(format!("{{'descr': {}'a'{}}}", "[".repeat(depth), "]".repeat(depth)))
        }
        _ => {
            let end = at + length;
            if end < bytes.len() {
                bytes::number(rng, &mut bytes[end..]);
            }
            return;
        }
    };
    text = changed.unwrap_or(text);
    let mut new = bytes[..8].to_vec();
    if wide {
        new.extend((text.len() as u32).to_le_bytes());
    } else {
        new.extend((text.len() as u16).to_le_bytes());
    }
    new.extend(text.into_bytes());
    new.extend_from_slice(&bytes[at + length..]);
    *bytes = new;
}

/// Mutates one member of an archive, or its name, and packs all members again.
pub(super) fn change_zip(rng: &mut Rng, packed: &mut Vec<u8>) {
    let Some(mut members) = members(packed) else { return bytes::change(rng, packed) };
    let at = position(rng, members.len());
    match (rng.gen_u8() % 10, members.len()) {
        (0, _) => {
            members.remove(at);
        }
        (1, _) => {
            let copy = members[at].clone();
            members.push((format!("{}2.npy", at), copy.1));
        }
        (2, 2..) => {
            let other = position(rng, members.len());
            members[at].1 = members[other].1.clone();
        }
        (3, _) => {
            members[at].0 =
                choose(rng, &["indptr.npy", "data.npy", "format.npy", "row.npy", "é.npy", "a", "../x.npy"])
                    .to_owned()
        }
        _ => change_inner(rng, &mut members[at].1),
    }
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in &members {
        let method = if rng.gen_bool() { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method);
        if writer.start_file(name.as_str(), options).is_err() || writer.write_all(content).is_err() {
            return;
        }
    }
    if let Ok(cursor) = writer.finish() {
        *packed = cursor.into_inner();
    }
}

fn members(packed: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut archive = ZipArchive::new(Cursor::new(packed)).ok()?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let member = archive.by_index(index).ok()?;
        let name = member.name().ok()?.into_owned();
        let mut content = Vec::new();
        member.take(MOST_UNPACKED).read_to_end(&mut content).ok()?;
        members.push((name, content));
    }
    (!members.is_empty()).then_some(members)
}
