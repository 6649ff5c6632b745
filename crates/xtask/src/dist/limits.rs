//! Which needs of a binary are within its promise: the tag of a wheel, or a static program.

use object::elf::{GNU_PROPERTY_X86_ISA_1_V2, GNU_PROPERTY_X86_ISA_1_V3, GNU_PROPERTY_X86_ISA_1_V4};

use super::elf::Needs;
use super::targets::Libc;

/// Libraries of glibc that PEP 600 expects on every system, and the library of gcc's unwinder.
const OF_GLIBC: [&str; 8] = [
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

const OF_MUSL: [&str; 3] = ["libc.so", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/// The newest symbols of `libgcc_s` on systems with glibc 2.17 (PEP 599).
const GCC: [u32; 3] = [4, 8, 0];

/// Requirements of a library beyond this libc and a processor of the lowest level, one line each.
pub(super) fn beyond(needs: &Needs, libc: Libc) -> Vec<String> {
    let allowed = match libc {
        Libc::Glibc(..) => &OF_GLIBC[..],
        Libc::Musl(..) => &OF_MUSL[..],
    };
    let libraries = needs.libraries.iter().filter(|library| !allowed.contains(&library.as_str()));
    let mut problems: Vec<String> = libraries.map(|library| format!("needs the library {library}")).collect();
    let versions = needs.versions.iter().filter(|(_, version)| !within(version, libc));
    problems.extend(versions.map(|(library, version)| format!("needs {version} of {library}")));
    problems.extend(needs.search_paths.iter().map(|path| format!("seeks libraries in {path}")));
    problems.extend(processor(needs));
    problems
}

/// Reasons why a program is not static or needs a newer processor, one line each.
pub(super) fn not_static(needs: &Needs) -> Vec<String> {
    let dynamic = needs.dynamic.then(|| "has a dynamic section or an interpreter".to_owned());
    dynamic.into_iter().chain(processor(needs)).collect()
}

fn processor(needs: &Needs) -> Option<String> {
    let beyond = GNU_PROPERTY_X86_ISA_1_V2 | GNU_PROPERTY_X86_ISA_1_V3 | GNU_PROPERTY_X86_ISA_1_V4;
    (needs.isa & beyond != 0).then(|| format!("needs levels {:#x} of x86-64", needs.isa))
}

/// Returns true if the libc has a version of symbols such as `GLIBC_2.17`.
fn within(version: &str, libc: Libc) -> bool {
    match (libc, parsed(version)) {
        (Libc::Glibc(major, minor), Some(("GLIBC", numbers))) => numbers <= vec![major, minor],
        (Libc::Glibc(..), Some(("GCC", numbers))) => numbers.as_slice() <= GCC.as_slice(),
        _ => false,
    }
}

/// The library and the numbers of a version of symbols.
fn parsed(version: &str) -> Option<(&str, Vec<u32>)> {
    let (name, numbers) = version.rsplit_once('_')?;
    Some((name, numbers.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?))
}

/// The libraries and the newest version of symbols of each, as people read them.
pub(super) fn described(needs: &Needs) -> String {
    let newest = |library: &str| {
        let of_library = needs.versions.iter().filter(|(l, _)| l == library);
        of_library.filter_map(|(_, version)| Some((parsed(version)?.1, version))).max()
    };
    let parts = needs.libraries.iter().map(|library| match newest(library) {
        Some((_, version)) => format!("{library} up to {version}"),
        None => library.clone(),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(versions: &[(&str, &str)]) -> Needs {
        let versions: Vec<_> = versions.iter().map(|(l, v)| ((*l).to_owned(), (*v).to_owned())).collect();
        let mut libraries: Vec<String> = versions.iter().map(|(library, _)| library.clone()).collect();
        libraries.dedup();
        Needs { dynamic: true, libraries, versions, ..Needs::default() }
    }

    const GLIBC: Libc = Libc::Glibc(2, 17);

    #[test]
    fn symbols_of_the_tag_are_within() {
        let old = needs(&[
            ("libc.so.6", "GLIBC_2.2.5"),
            ("libc.so.6", "GLIBC_2.17"),
            ("libc.so.6", "GLIBC_2.4"),
            ("libgcc_s.so.1", "GCC_4.2.0"),
        ]);
        assert_eq!(beyond(&old, GLIBC), Vec::<String>::new());
        assert_eq!(described(&old), "libc.so.6 up to GLIBC_2.17, libgcc_s.so.1 up to GCC_4.2.0");
    }

    #[test]
    fn newer_and_other_symbols_are_named() {
        let new = needs(&[
            ("libc.so.6", "GLIBC_2.17.1"),
            ("libc.so.6", "GLIBC_2.34"),
            ("libc.so.6", "GLIBC_PRIVATE"),
            ("libgcc_s.so.1", "GCC_7.0.0"),
        ]);
        let problems = beyond(&new, GLIBC);
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert_eq!(problems[1], "needs GLIBC_2.34 of libc.so.6");
    }

    #[test]
    fn libraries_search_paths_and_processors_are_named() {
        let mut other = needs(&[("libc.so.6", "GLIBC_2.2.5")]);
        other.libraries.push("libssl.so.3".to_owned());
        other.search_paths.push("/opt/lib".to_owned());
        other.isa = 0b101;
        let problems = beyond(&other, GLIBC);
        let wanted =
            ["needs the library libssl.so.3", "seeks libraries in /opt/lib", "needs levels 0x5 of x86-64"];
        assert_eq!(problems, wanted);
        assert_eq!(beyond(&needs(&[("libc.so.6", "GLIBC_2.2.5")]), Libc::Musl(1, 2)).len(), 2);
    }

    #[test]
    fn static_programs_have_no_dynamic_section() {
        assert_eq!(not_static(&needs(&[])), ["has a dynamic section or an interpreter"]);
        let fixed = Needs { isa: 1, ..Needs::default() };
        assert_eq!(not_static(&fixed), Vec::<String>::new());
    }
}
