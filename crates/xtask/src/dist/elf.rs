//! Requirements of a binary: libraries, versions of their symbols and a level of the processor, read from the dynamic
//! section, the table of versions and the notes.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, NoteIterator, ProgramHeader, SectionHeader};
use object::{Endianness, FileKind};

/// The libraries, symbols and processor that a binary requires.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// True if the binary has a dynamic section or an interpreter.
    pub(super) dynamic: bool,
    pub(super) libraries: Vec<String>,
    /// Pairs of a library and a version of its symbols, sorted.
    pub(super) versions: Vec<(String, String)>,
    /// Folders in which libraries are sought (`RPATH`, `RUNPATH`).
    pub(super) search_paths: Vec<String>,
    /// Levels of x86-64 that the linker noted as needed (bits of `GNU_PROPERTY_X86_ISA_1_NEEDED`); 0 without a note.
    pub(super) isa: u32,
}

impl Needs {
    /// Reads a 64-bit ELF file.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, String> {
        match FileKind::parse(bytes) {
            Ok(FileKind::Elf64) => read(bytes).map_err(|error| format!("this ELF file is damaged: {error}")),
            _ => Err("this is no 64-bit ELF file".to_owned()),
        }
    }
}

fn read(bytes: &[u8]) -> object::Result<Needs> {
    let file: ElfFile64<'_> = ElfFile64::parse(bytes)?;
    let (header, endian) = (file.elf_header(), file.endian());
    let mut needs = Needs::default();
    for segment in header.program_headers(endian, bytes)? {
        needs.dynamic |= [elf::PT_DYNAMIC, elf::PT_INTERP].contains(&segment.p_type(endian));
    }
    let sections = header.sections(endian, bytes)?;
    for section in sections.iter() {
        if let Some(notes) = section.notes(endian, bytes)? {
            needs.isa |= isa_needed(notes, endian)?;
        }
    }
    if sections.dynamic(endian, bytes)?.is_some() {
        needs.dynamic = true;
        let table = sections.dynamic_table(endian, bytes)?;
        for entry in table.iter() {
            let name = || table.string(entry).map(|name| String::from_utf8_lossy(name).into_owned());
            match entry.tag {
                elf::DT_NEEDED => needs.libraries.push(name()?),
                elf::DT_RPATH | elf::DT_RUNPATH => needs.search_paths.push(name()?),
                _ => {}
            }
        }
    }
    if let Some((mut libraries, link)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((library, mut versions)) = libraries.next()? {
            let library = String::from_utf8_lossy(library.file(endian, strings)?).into_owned();
            while let Some(version) = versions.next()? {
                let version = String::from_utf8_lossy(version.name(endian, strings)?).into_owned();
                needs.versions.push((library.clone(), version));
            }
        }
    }
    needs.versions.sort();
    Ok(needs)
}

/// The levels of x86-64 that notes name as needed.
fn isa_needed(
    mut notes: NoteIterator<'_, elf::FileHeader64<Endianness>>,
    endian: Endianness,
) -> object::Result<u32> {
    let mut isa = 0;
    while let Some(note) = notes.next()? {
        let Some(mut properties) = note.gnu_properties(endian) else { continue };
        while let Some(property) = properties.next()? {
            if property.pr_type() == elf::GNU_PROPERTY_X86_ISA_1_NEEDED {
                isa |= property.data_u32(endian)?;
            }
        }
    }
    Ok(isa)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test program itself is linked with the libc of this machine.
    #[cfg(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static")))]
    #[test]
    fn needs_of_a_dynamic_program_are_read() {
        let program = std::env::current_exe().unwrap();
        let needs = Needs::of(&std::fs::read(program).unwrap()).unwrap();
        assert!(needs.dynamic);
        assert!(needs.libraries.contains(&"libc.so.6".to_owned()), "{needs:?}");
        let (_, version) = needs.versions.iter().find(|(library, _)| library == "libc.so.6").unwrap();
        assert!(version.starts_with("GLIBC_2."), "{version}");
        assert_eq!(needs.search_paths, Vec::<String>::new());
    }

    /// A header alone: no segments, no sections.
    fn header() -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
        (header[16], header[18], header[20], header[52], header[54]) = (2, 62, 1, 64, 56);
        header
    }

    #[test]
    fn a_file_without_a_dynamic_section_needs_nothing() {
        assert_eq!(Needs::of(&header()), Ok(Needs::default()));
    }

    #[test]
    fn an_interpreter_makes_a_file_dynamic() {
        let mut bytes = header();
        (bytes[32], bytes[56]) = (64, 1);
        bytes.resize(64 + 56, 0);
        bytes[64] = 3;
        assert!(Needs::of(&bytes).unwrap().dynamic);
    }

    #[test]
    fn other_and_damaged_files_are_errors() {
        assert_eq!(Needs::of(b"MZ").unwrap_err(), "this is no 64-bit ELF file");
        let mut bytes = header();
        (bytes[32], bytes[56]) = (64, 1);
        assert!(Needs::of(&bytes).unwrap_err().starts_with("this ELF file is damaged: "));
    }
}
