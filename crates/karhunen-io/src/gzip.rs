//! Content of gzip files (RFC 1952): one or more members, with or without padding of zeros.

use std::io::Read;

use flate2::bufread::GzDecoder;
use karhunen::error::Phrase;
use karhunen::memory;

use crate::Cause;
use crate::option_names;

/// The first bytes of a member.
pub(crate) const MAGIC: &[u8] = b"\x1f\x8b";

/// Decompresses every member. Zeros after the last member are padding, as on tapes; other trailing bytes are refused.
///
/// # Errors
/// [`Cause::Format`] for damaged or truncated files; [`Cause::Option`] for more than `most` bytes;
/// [`Cause::Library`] for too little memory.
pub(crate) fn unpacked(packed: &[u8], most: u64) -> Result<Vec<u8>, Cause> {
    let mut content = Vec::new();
    each_member(packed, &mut |member| unpack(member, &mut content, most))?;
    Ok(content)
}

/// As [`unpacked`], but passes the content to `write` in parts.
///
/// # Errors
/// As [`unpacked`]; errors of `write`.
pub(crate) fn unpack_to(
    packed: &[u8],
    most: u64,
    write: &mut dyn FnMut(&[u8]) -> Result<(), Cause>,
) -> Result<(), Cause> {
    let (mut buffer, mut n_bytes) = (vec![0; 1 << 20], 0);
    each_member(packed, &mut |member| {
        loop {
            match member.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => {
                    n_bytes += read as u64;
                    if n_bytes > most {
                        return Err(too_much(most));
                    }
                    write(&buffer[..read])?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(damaged(&error)),
            }
        }
    })
}

/// Calls `f` with a reader of every member, which `f` reads to its end.
fn each_member(packed: &[u8], f: &mut dyn FnMut(&mut dyn Read) -> Result<(), Cause>) -> Result<(), Cause> {
    let mut rest = packed;
    while !rest.is_empty() {
        if !rest.starts_with(MAGIC) {
            if rest.iter().all(|&byte| byte == 0) {
                break;
            }
            let message = format!(
                "unexpected data after the gzip stream, at byte {}; fetch or compress the file again",
                packed.len() - rest.len() + 1
            );
            return Err(Cause::format(message));
        }
        let mut member = GzDecoder::new(rest);
        f(&mut member)?;
        rest = member.into_inner();
    }
    Ok(())
}

fn damaged(error: &std::io::Error) -> Cause {
    Cause::format(format!("the gzip file is damaged or cut short ({error}); fetch or compress it again"))
}

/// Appends the content of `member`.
fn unpack(member: &mut dyn Read, content: &mut Vec<u8>, most: u64) -> Result<(), Cause> {
    /// The first buffer size, doubled as needed.
    const FIRST: usize = 1 << 20;
    loop {
        if content.len() == content.capacity() {
            // One byte beyond the limit reveals that the content exceeds it.
            let room = (2 * content.len())
                .max(FIRST)
                .min(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1));
            if content.len() >= room {
                return Err(too_much(most));
            }
            reserve(content, room - content.len())?;
        }
        let (start, room) = (content.len(), content.capacity() - content.len());
        content.resize(start + room.min(FIRST), 0);
        let read = member.read(&mut content[start..]);
        content.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return Ok(()),
            Ok(_) if content.len() as u64 > most => return Err(too_much(most)),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(damaged(&error)),
        }
    }
}

/// The error for content beyond the limit.
pub(crate) fn too_much(most: u64) -> Cause {
    beyond(most, " once it is unpacked")
}

/// The error for a pipe or a device that exceeds the limit.
pub(crate) fn endless(most: u64) -> Cause {
    beyond(most, "")
}

fn beyond(most: u64, when: &str) -> Cause {
    let most = memory::size(most as f64);
    let problem =
        format!("holds more than {most}{when}: stopped there; if that is right, raise the limit with ");
    let advice = Phrase::new(problem).option(option_names::MAX_UNPACKED).text(", such as ");
    Cause::option(advice.setting(option_names::MAX_UNPACKED, 64_u64 << 30))
}

/// Reserves `more` bytes.
///
/// # Errors
/// [`Cause::Library`] with [`karhunen::Error::Memory`].
fn reserve(content: &mut Vec<u8>, more: usize) -> Result<(), Cause> {
    let what = format!("unpacking, {} so far,", memory::size(content.len() as f64));
    let advice = || {
        vec!["unpack it elsewhere and take fewer rows or columns".into(), karhunen::error::Advice::RaiseLimit]
    };
    memory::ask(&what, more as f64, advice)?;
    // The probe succeeded, but another process may have taken the memory since.
    memory::reserve(content, more).map_err(|_| {
        Cause::from(karhunen::Error::Memory { what, bytes: more as f64, available: None, advice: advice() })
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_are_joined_and_padding_is_passed_over() {
        let (one, two) = (packed(b"1,2\n"), packed(b"3,4\n"));
        assert_eq!(unpacked(&one, 100).unwrap(), b"1,2\n");
        let both = [&one[..], &two, &[0; 600]].concat();
        assert_eq!(unpacked(&both, 8).unwrap(), b"1,2\n3,4\n");
        let large = vec![7u8; 5 << 20];
        assert_eq!(unpacked(&packed(&large), 5 << 20).unwrap(), large);
        assert_eq!(unpacked(&packed(b""), 0).unwrap(), b"");
    }

    #[test]
    fn other_bytes_behind_and_damage_are_refused() {
        let one = packed(b"1,2\n");
        let text = |packed: &[u8]| unpacked(packed, 100).unwrap_err().to_string();
        let error = text(&[&one[..], b"\0\0x"].concat());
        assert_eq!(
            error,
            format!(
                "unexpected data after the gzip stream, at byte {}; fetch or compress the file again",
                one.len() + 1
            )
        );
        assert!(text(&one[..one.len() - 3]).starts_with("the gzip file is damaged or cut short ("));
    }

    #[test]
    fn content_beyond_the_limit_is_refused_with_the_option() {
        for most in [0, 1, 999_999, (4 << 20) - 1] {
            let error = unpacked(&packed(&vec![0; 4 << 20]), most).unwrap_err();
            assert!(matches!(error, Cause::Option(_)), "{error}");
            let error = error.to_string();
            assert!(error.starts_with(&format!("holds more than {}", memory::size(most as f64))), "{error}");
            assert!(error.contains("max_unpacked = 68719476736"), "{error}");
        }
        // The limit applies to the sum of two members.
        let two = [packed(&[0; 60]), packed(&[0; 60])].concat();
        assert!(unpacked(&two, 119).is_err());
        assert_eq!(unpacked(&two, 120).unwrap().len(), 120);
    }
}
