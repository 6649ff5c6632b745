//! Files of other programs: recognises each by its first bytes and advises how to export the table.
//!
//! The advice is a single command if possible; `{file}` is the name of the file, `{stem}` for it without
//! extension.

mod texts;

use std::path::Path;

use crate::packed::extension;

/// A known file format that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// A description: "an Excel workbook".
    what: &'static str,
    /// The advice.
    way: &'static str,
}

/// A signature of a format.
enum Sign {
    /// The file begins with these bytes.
    First(&'static [u8]),
    /// These bytes stand at an offset.
    At(usize, &'static [u8]),
    /// The file begins with this text, in either case, after optional blanks.
    Text(&'static str),
}

use Sign::{At, First, Text};

const PANDAS_STATA: &str = "write it as CSV: python -c \"import pandas; pandas.read_stata('{file}', \
                            convert_categoricals=False).to_csv('{stem}.csv', index=False)\"";
const DECOMPRESS_FIRST: &str = "decompress it first";
const EXPORT_SHEET: &str = "write a sheet as CSV: python -c \"import pandas; \
                            pandas.read_excel('{file}').to_csv('{stem}.csv', index=False)\" (needs openpyxl)";
const OLD_EXCEL: Foreign = Foreign {
    what: "an Excel workbook of the old kind",
    way: "write a sheet as CSV: python -c \"import pandas; \
          pandas.read_excel('{file}').to_csv('{stem}.csv', index=False)\" (needs xlrd)",
};
const MATLAB: Foreign = Foreign {
    what: "a MATLAB file",
    way: "write the matrix (NAME) as an array: python -c \"import numpy, scipy.io; \
          numpy.save('{stem}.npy', scipy.io.loadmat('{file}')['NAME'])\"",
};
const R_OBJECT: Foreign = Foreign { what: "an R object", way: R_DATA };
const WORKSPACE: Foreign = Foreign { what: "an R workspace", way: R_WORKSPACE };
const R_DATA: &str =
    "write its table as CSV: Rscript -e \"write.csv(readRDS('{file}'), '{stem}.csv', row.names=FALSE)\"";
const R_WORKSPACE: &str = "write a table of it as CSV in R: load('{file}'), then \
                           write.csv(NAME, '{stem}.csv', row.names=FALSE)";
const PICKLE: &str = "pickles can run any program and are never opened; save the array where it was made, with \
                      numpy.save('{stem}.npy', x)";
const IMAGE: &str = "write its pixels as an array: python -c \"import numpy, PIL.Image; \
                     numpy.save('{stem}.npy', numpy.asarray(PIL.Image.open('{file}').convert('L')))\"";
const SAVED_PAGE: &str = "fetch the table itself; where a page holds it: python -c \"import pandas; \
                          pandas.read_html('{file}')[0].to_csv('{stem}.csv', index=False)\"";
const HDF5: Foreign = Foreign {
    what: "an HDF5 file",
    way: "write the data set (NAME) as an array: python -c \"import h5py, numpy; \
          numpy.save('{stem}.npy', h5py.File('{file}')['NAME'][:])\"",
};

/// The format of each signature; the first match counts.
const KINDS: &[(Sign, Foreign)] = &[
    (First(b"\x04\x22\x4d\x18"), Foreign { what: "compressed with lz4", way: DECOMPRESS_FIRST }),
    (First(b"\x1f\x9d"), Foreign { what: "compressed with compress", way: DECOMPRESS_FIRST }),
    (
        First(b"7z\xbc\xaf\x27\x1c"),
        Foreign { what: "a 7z archive", way: "unpack it and give the table in it" },
    ),
    (First(b"Rar!\x1a\x07"), Foreign { what: "a RAR archive", way: "unpack it and give the table in it" }),
    (At(257, b"ustar"), Foreign { what: "a tar archive", way: "unpack it and give the table in it" }),
    (First(b"\x89HDF"), HDF5),
    (First(b"CDF\x01"), NETCDF),
    (First(b"CDF\x02"), NETCDF),
    (First(b"CDF\x05"), NETCDF),
    (
        First(b"MATLAB 7.3 MAT-file"),
        Foreign {
            what: "a MATLAB file of version 7.3",
            way: "write the matrix (NAME) as an array: python -c \"import h5py, numpy; \
                  numpy.save('{stem}.npy', h5py.File('{file}')['NAME'][:].T)\"",
        },
    ),
    (First(b"MATLAB 5.0 MAT-file"), MATLAB),
    (First(b"\xd0\xcf\x11\xe0"), OLD_EXCEL),
    (First(b"$FL2@(#)"), SPSS),
    (First(b"$FL3@(#)"), SPSS),
    (First(b"<stata_dta>"), Foreign { what: "a Stata file", way: PANDAS_STATA }),
    (
        First(SAS7BDAT),
        Foreign {
            what: "a SAS data set",
            way: "write it as CSV: python -c \"import pandas; \
                  pandas.read_sas('{file}', format='sas7bdat').to_csv('{stem}.csv', index=False)\"",
        },
    ),
    (
        First(b"HEADER RECORD*******"),
        Foreign {
            what: "a SAS transport file",
            way: "write it as CSV: python -c \"import pandas; \
                  pandas.read_sas('{file}', format='xport').to_csv('{stem}.csv', index=False)\"",
        },
    ),
    (
        First(b"SQLite format 3\0"),
        Foreign {
            what: "an SQLite database",
            way: "write a table (NAME) as CSV: sqlite3 -header -csv '{file}' 'select * from NAME' > '{stem}.csv'; in Python, \
                  pass pandas.read_sql('select * from NAME', sqlite3.connect('{file}'))",
        },
    ),
    (
        At(8, b"DUCK"),
        Foreign {
            what: "a DuckDB database",
            way: "write a table (NAME) as Parquet: duckdb '{file}' \"copy NAME to '{stem}.parquet'\"; in Python, pass \
                  duckdb.connect('{file}', read_only=True).table('NAME')",
        },
    ),
    (First(b"X\n\0\0\0"), R_OBJECT),
    (First(b"RDX2\nX\n"), WORKSPACE),
    (First(b"RDX3\nX\n"), WORKSPACE),
    (
        First(b"FEA1\0"),
        Foreign {
            what: "a Feather file of version 1",
            way: if cfg!(feature = "columnar") {
                "write it as version 2: python -c \"import pandas; \
                 pandas.read_feather('{file}').to_feather('{stem}.arrow')\""
            } else {
                "write it as text: python -c \"import pandas; \
                 pandas.read_feather('{file}').to_csv('{stem}.csv', index=False)\""
            },
        },
    ),
    (
        First(b"Obj\x01"),
        Foreign {
            what: "an Avro file",
            way: "write it as Parquet: python -c \"import polars; \
                  polars.read_avro('{file}').write_parquet('{stem}.parquet')\"",
        },
    ),
    (
        First(b"\x6c\x1b"),
        Foreign {
            what: "a PLINK 2 .pgen file of genotypes",
            way: "write it as a .bed file: plink2 --pfile '{stem}' --make-bed --out '{stem}', then give '{stem}.bed'",
        },
    ),
    (
        First(b"##fileformat=VCF"),
        Foreign {
            what: "a VCF file of variants",
            way: "write it as a .bed file: plink2 --vcf '{file}' --max-alleles 2 --make-bed --out '{stem}', then give '{stem}.bed'",
        },
    ),
    (First(b"\x80\x02"), Foreign { what: "a Python pickle", way: PICKLE }),
    (First(b"\x80\x03"), Foreign { what: "a Python pickle", way: PICKLE }),
    (First(b"\x80\x04\x95"), Foreign { what: "a Python pickle", way: PICKLE }),
    (First(b"\x80\x05\x95"), Foreign { what: "a Python pickle", way: PICKLE }),
    (First(b"\x89PNG\r\n"), Foreign { what: "a PNG image", way: IMAGE }),
    (First(b"\xff\xd8\xff"), Foreign { what: "a JPEG image", way: IMAGE }),
    (First(b"GIF87a"), Foreign { what: "a GIF image", way: IMAGE }),
    (First(b"GIF89a"), Foreign { what: "a GIF image", way: IMAGE }),
    (First(b"II*\0"), Foreign { what: "a TIFF image", way: IMAGE }),
    (First(b"MM\0*"), Foreign { what: "a TIFF image", way: IMAGE }),
    (At(8, b"WEBPVP8"), Foreign { what: "a WebP image", way: IMAGE }),
    (
        First(b"SIMPLE  ="),
        Foreign {
            what: "a FITS file",
            way: "write the array as NPY: python -c \"import astropy.io.fits, numpy; \
                  numpy.save('{stem}.npy', astropy.io.fits.getdata('{file}').astype(float))\"",
        },
    ),
    (First(b"%PDF-"), Foreign { what: "a PDF document", way: "copy its table into a CSV file" }),
    (Text("<!doctype html"), Foreign { what: "a page of HTML", way: SAVED_PAGE }),
    (Text("<html"), Foreign { what: "a page of HTML", way: SAVED_PAGE }),
    (
        Text("<?xml"),
        Foreign {
            what: "an XML document",
            way: "write its rows as CSV: python -c \"import pandas; \
                  pandas.read_xml('{file}').to_csv('{stem}.csv', index=False)\"",
        },
    ),
];

const NETCDF: Foreign = Foreign {
    what: "a netCDF file",
    way: "fit it with karhunen.xarray.EOF in Python, or write a variable (NAME) of two dimensions as an array: python -c \
          \"import numpy, xarray; numpy.save('{stem}.npy', xarray.open_dataset('{file}')['NAME'].values)\"",
};
const SPSS: Foreign = Foreign {
    what: "an SPSS file",
    way: "write it as CSV: python -c \"import pandas; pandas.read_spss('{file}', \
          convert_categoricals=False).to_csv('{stem}.csv', index=False)\" (needs pyreadstat)",
};
const ORC: Foreign = Foreign {
    what: "an ORC file",
    way: "write it as Parquet: python -c \"import pandas; \
          pandas.read_orc('{file}').to_parquet('{stem}.parquet')\"",
};
const ENCRYPTED: Foreign =
    Foreign { what: "an encrypted Parquet file", way: "write it without encryption where its keys are" };
const SAS7BDAT: &[u8] =
    b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0\x09\xc7\x31\x8c";

/// Formats that their bytes do not show, by extension: where the content is compressed, or is not text.
const BY_NAME: [(&str, Foreign); 5] =
    [("mat", MATLAB), ("rda", WORKSPACE), ("rdata", WORKSPACE), ("rds", R_OBJECT), ("xls", OLD_EXCEL)];

/// Number of bytes without a zero at the beginning of a text.
const OF_TEXT: usize = 512;

/// Formats based on HDF5, by extension.
const HDF5_BY_NAME: [(&str, Foreign); 3] = [
    (
        "loom",
        Foreign {
            what: "a loom file (HDF5)",
            way: "write its matrix as NPZ: python -c \"import anndata, scipy.sparse; scipy.sparse.save_npz(\
                  '{stem}.npz', scipy.sparse.csr_matrix(anndata.io.read_loom('{file}').X))\"",
        },
    ),
    ("nc", NETCDF),
    (
        "mat",
        Foreign {
            what: "a MATLAB file of version 7.3",
            way: "write the matrix (NAME) as an array: python -c \"import h5py, numpy; \
                  numpy.save('{stem}.npy', h5py.File('{file}')['NAME'][:].T)\"",
        },
    ),
];

const JSON: Foreign = Foreign {
    what: "JSON",
    way: "write it as CSV: python -c \"import pandas; pandas.read_json('{file}').to_csv('{stem}.csv', index=False)\"",
};
const JSON_LINES: Foreign = Foreign {
    what: "a file of JSON lines",
    way: "write it as CSV: python -c \"import pandas; \
          pandas.read_json('{file}', lines=True).to_csv('{stem}.csv', index=False)\"",
};

/// The format of the content, if it is known and not read; `None` for a text that may be a table.
pub(crate) fn recognise(bytes: &[u8], path: &Path) -> Option<Foreign> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let fits = |sign: &Sign| match sign {
        First(first) => bytes.starts_with(first),
        At(offset, wanted) => bytes.get(*offset..).is_some_and(|rest| rest.starts_with(wanted)),
        Text(wanted) => {
            let begin = text.trim_ascii_start().get(..wanted.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(wanted.as_bytes()))
        }
    };
    let found = KINDS.iter().find(|(sign, _)| fits(sign)).map(|(_, kind)| *kind);
    let extension = extension(path);
    let named = |kinds: &[(&str, Foreign)]| {
        kinds.iter().find(|(name, _)| extension.as_deref() == Some(name)).map(|(_, kind)| *kind)
    };
    let is_utf16 = [&b"\xff\xfe"[..], b"\xfe\xff"].iter().any(|mark| bytes.starts_with(mark));
    match found {
        Some(HDF5) => return named(&HDF5_BY_NAME).or(found),
        None if !is_utf16 && bytes[..bytes.len().min(OF_TEXT)].contains(&0) => {
            if let Some(kind) = named(&BY_NAME) {
                return Some(kind);
            }
        }
        _ => {}
    }
    let of_text = || texts::recognise(text, extension.as_deref());
    found
        .or_else(|| old_stata(bytes))
        .or_else(|| orc(bytes))
        .or_else(|| encrypted(bytes))
        .or_else(|| json(text))
        .or_else(of_text)
}

/// An encrypted Parquet file begins and ends with its signature.
fn encrypted(bytes: &[u8]) -> Option<Foreign> {
    (bytes.starts_with(b"PARE") && bytes.len() > 8 && bytes.ends_with(b"PARE")).then_some(ENCRYPTED)
}

/// ORC occurs at both ends, before the last byte: the name of a column of text may begin with it too.
fn orc(bytes: &[u8]) -> Option<Foreign> {
    let (_, rest) = bytes.split_last()?;
    (bytes.starts_with(b"ORC") && rest.ends_with(b"ORC")).then_some(ORC)
}

/// Stata before version 13: the release, the byte order, a one and a zero.
fn old_stata(bytes: &[u8]) -> Option<Foreign> {
    let found = matches!(bytes, [102..=115, 1 | 2, 1, 0, ..]);
    found.then_some(Foreign { what: "a Stata file", way: PANDAS_STATA })
}

/// A JSON object or list of objects. A header may also begin with a bracket, but not continue like this.
fn json(text: &[u8]) -> Option<Foreign> {
    let text = text.trim_ascii_start();
    let after =
        |first: u8| text.strip_prefix(&[first]).and_then(|rest| rest.trim_ascii_start().first().copied());
    if matches!(after(b'{'), Some(b'"' | b'}')) {
        let line = text.split(|&byte| byte == b'\n').next().unwrap_or(text).trim_ascii_end();
        return Some(if line.ends_with(b"}") && line.len() < text.trim_ascii_end().len() {
            JSON_LINES
        } else {
            JSON
        });
    }
    let is_list = match after(b'[') {
        Some(b'{' | b'[' | b'"') => true,
        // `[1]` may be the name of a column.
        Some(b'-' | b'0'..=b'9' | b']') => text.trim_ascii_end().ends_with(b"]"),
        _ => false,
    };
    is_list.then_some(JSON)
}

/// The format of a zip archive without NPY arrays, by the names of its members.
pub(crate) fn of_archive(mut names: impl Iterator<Item = impl AsRef<str>>) -> Option<Foreign> {
    names.find_map(|name| match name.as_ref() {
        "xl/workbook.xml" | "xl/workbook.bin" => {
            Some(Foreign { what: "an Excel workbook", way: EXPORT_SHEET })
        }
        "content.xml" => Some(Foreign {
            what: "an OpenDocument spreadsheet",
            way: "write a sheet as CSV: python -c \"import pandas; \
                  pandas.read_excel('{file}').to_csv('{stem}.csv', index=False)\" (needs odfpy)",
        }),
        "word/document.xml" => {
            Some(Foreign { what: "a Word document", way: "copy its table into a CSV file" })
        }
        ".zgroup" | ".zarray" | "zarr.json" => Some(ZARR),
        name if name.ends_with("/data.pkl") => Some(Foreign {
            what: "a PyTorch file",
            way: "pickles can run any program and are never opened; save the tensor where it was made, with \
                  numpy.save('{stem}.npy', x.numpy())",
        }),
        name if name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".txt") => {
            Some(Foreign { what: "a zip archive without arrays", way: "unpack it and give the table in it" })
        }
        _ => None,
    })
}

/// For commands that read no folders.
const ZARR: Foreign = Foreign {
    what: "a Zarr store",
    way: "write the array (NAME) as NPY: python -c \"import numpy, zarr; numpy.save('{stem}.npy', \
          zarr.open('{file}', mode='r')['NAME'][:])\"",
};

/// A folder of files of no known kind.
pub(crate) const FOLDER: Foreign = Foreign { what: "a folder", way: "give a file in it" };

/// The format of a folder, by the names in it.
pub(crate) fn of_folder(path: &Path) -> Foreign {
    let has = |name: &str| path.join(name).exists();
    let has_extension = |wanted: &str| {
        let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.any(|entry| entry.path().extension().is_some_and(|extension| extension == wanted))
    };
    if [".zarray", ".zgroup", "zarr.json"].into_iter().any(has) {
        ZARR
    } else if ["matrix.mtx", "matrix.mtx.gz"].into_iter().any(has) {
        Foreign {
            what: "a folder of 10x Genomics",
            way: "give its matrix, with --transpose, for the genes are in rows: '{file}/matrix.mtx.gz'",
        }
    } else if has_extension("parquet") {
        Foreign {
            what: "a folder of Parquet files",
            way: if cfg!(feature = "columnar") {
                "make one file of them: python -c \"import pandas; \
                 pandas.read_parquet('{file}').to_parquet('{stem}.parquet')\""
            } else {
                "make one table of them: python -c \"import pandas; \
                 pandas.read_parquet('{file}').to_csv('{stem}.csv', index=False)\""
            },
        }
    } else {
        FOLDER
    }
}

impl Foreign {
    /// Returns true if the first bytes of a content suffice to recognise the format.
    pub(crate) fn is_of_first_bytes(self) -> bool {
        ![JSON, JSON_LINES, ORC, ENCRYPTED].contains(&self)
    }

    /// The description and the advice, with the name of the file. A command that runs Python also gives the object to
    /// pass in Python.
    pub(crate) fn message(self, path: &Path) -> String {
        let Foreign { what, way } = self;
        let object = object_of(way).map_or_else(String::new, |object| format!("; in Python, pass {object}"));
        format!("is {what}, which is not read; {}", with_names(&format!("{way}{object}"), path))
    }
}

/// The expression of Python whose value a command writes.
fn object_of(way: &str) -> Option<&str> {
    let (_, command) = way.split_once("python -c \"import ")?;
    if let Some((_, rest)) = command.split_once("numpy.save('{stem}.npy', ") {
        return rest.split_once(")\"").map(|(object, _)| object);
    }
    let (_, rest) = command.split_once("; ")?;
    [".to_csv(", ".to_parquet(", ".write_parquet("]
        .iter()
        .find_map(|write| rest.split_once(write))
        .map(|(object, _)| object)
}

/// Inserts the names of the file into the advice, unless a shell or Python would interpret them.
fn with_names(way: &str, path: &Path) -> String {
    let special = |c: char| c.is_control() || "'\"\\$`!".contains(c);
    let plain = |text: &&str| !text.is_empty() && *text != "-" && !text.contains(special);
    let file = path.to_str().filter(plain);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(plain);
    way.replace("{file}", file.unwrap_or("FILE")).replace("{stem}", stem.unwrap_or("OUTPUT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_by_its_first_bytes() {
        for (index, (sign, kind)) in KINDS.iter().enumerate() {
            let bytes = match sign {
                First(first) => first.to_vec(),
                At(offset, wanted) => [&vec![b'x'; *offset], *wanted].concat(),
                Text(wanted) => [b"\xef\xbb\xbf \n", wanted.to_ascii_uppercase().as_bytes()].concat(),
            };
            assert_eq!(recognise(&bytes, Path::new("x")), Some(*kind), "{index}");
            // A file truncated within its signature is unknown.
            assert_ne!(recognise(&bytes[..bytes.len() - 1], Path::new("x")), Some(*kind), "{index}");
        }
        for release in [104, 113, 114, 115] {
            let found = recognise(&[release, 2, 1, 0, 3], Path::new("x"));
            assert_eq!(found.map(|kind| kind.what), Some("a Stata file"));
        }
        assert_eq!(recognise(b"ORC\x08\x00\x00ORC\x10", Path::new("x")), Some(ORC));
        assert_eq!(recognise(b"PARE\x15\x04\x10\0\0\0PARE", Path::new("x")), Some(ENCRYPTED));
        assert_eq!(recognise(b"PARE\n1\n2\n", Path::new("x")), None);
    }

    #[test]
    fn messages_name_the_file_and_the_way_in() {
        let cases: [(&[u8], &str, &str); 7] = [
            (
                b"$FL2@(#) SPSS",
                "data/a b.sav",
                "is an SPSS file, which is not read; write it as CSV: python -c \"import pandas; \
                 pandas.read_spss('data/a b.sav', convert_categoricals=False).to_csv('a b.csv', index=False)\" (needs \
                 pyreadstat); in Python, pass pandas.read_spss('data/a b.sav', convert_categoricals=False)",
            ),
            (
                b"SQLite format 3\0",
                "x.db",
                "is an SQLite database, which is not read; write a table (NAME) as CSV: sqlite3 -header -csv 'x.db' \
                 'select * from NAME' > 'x.csv'; in Python, pass pandas.read_sql('select * from NAME', \
                 sqlite3.connect('x.db'))",
            ),
            (
                b"\x89HDF\r\n",
                "x.h5",
                "is an HDF5 file, which is not read; write the data set (NAME) as an array: python -c \"import h5py, \
                 numpy; numpy.save('x.npy', h5py.File('x.h5')['NAME'][:])\"; in Python, pass \
                 h5py.File('x.h5')['NAME'][:]",
            ),
            (
                b"{\"a\": 1}\n{\"a\": 2}\n",
                "x.jsonl",
                "is a file of JSON lines, which is not read; write it as CSV: python -c \"import pandas; \
                 pandas.read_json('x.jsonl', lines=True).to_csv('x.csv', index=False)\"; in Python, pass \
                 pandas.read_json('x.jsonl', lines=True)",
            ),
            (
                b" [\n [1, 2],\n [3, 4]\n]\n",
                "x.json",
                "is JSON, which is not read; write it as CSV: python -c \"import pandas; \
                 pandas.read_json('x.json').to_csv('x.csv', index=False)\"; in Python, pass \
                 pandas.read_json('x.json')",
            ),
            // A name that a shell would interpret is omitted.
            (
                b"X\n\0\0\0\x03",
                "x'; rm -r .rds",
                "is an R object, which is not read; write its table as CSV: Rscript -e \"write.csv(readRDS('FILE'), \
                 'OUTPUT.csv', row.names=FALSE)\"",
            ),
            (b"\x04\x22\x4d\x18", "-", "is compressed with lz4, which is not read; decompress it first"),
        ];
        for (bytes, path, message) in cases {
            let path = Path::new(path);
            assert_eq!(recognise(bytes, path).unwrap().message(path), message);
        }
    }

    #[test]
    fn names_show_what_bytes_do_not() {
        let told = |bytes: &[u8], name: &str| recognise(bytes, Path::new(name)).map(|kind| kind.what);
        // A double matrix of MATLAB 4: type, rows, columns, no imaginary part, length of the name.
        let matlab = b"\0\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0x\0";
        assert_eq!(told(matlab, "x.MAT"), Some("a MATLAB file"));
        assert_eq!(told(b"\x09\x08\x08\0\0\x05\x05\0", "x.xls"), Some("an Excel workbook of the old kind"));
        assert_eq!(told(b"\xd0\xcf\x11\xe0\0", "x.xls.zip"), Some("an Excel workbook of the old kind"));
        // Texts under such names are texts.
        assert_eq!(told(b"a\tb\n1\t2\n", "x.xls"), None);
        assert_eq!(told(b"1 2\n3 4\n", "x.mat"), None);
        assert_eq!(told(matlab, "x.csv"), None);
    }

    #[test]
    fn texts_that_may_be_tables_are_not_claimed() {
        let texts: [&[u8]; 14] = [
            b"",
            b"[1],[2]\n1,2\n",
            b"{a},b\n1,2\n",
            b"X\n1\n2\n",
            b"A\n2\n3\n",
            b"RDX2\n1\n",
            b"FEA1,FEA2\n1,2\n",
            b"ORC\n1\n",
            b"BZh9,a\n1,2\n",
            b"GIF,a\n",
            b"BM,a\n1,2\n",
            b"Obj\n1\n",
            b"<,>\n1,2\n",
            b"CDF,a\n1,2\n",
        ];
        for text in texts {
            assert_eq!(recognise(text, Path::new("x.csv")), None, "{:?}", text.escape_ascii().to_string());
        }
    }

    #[test]
    fn archives_and_folders_are_told_by_the_names_in_them() {
        let archive = |name| of_archive(["a", name].into_iter()).map(|kind| kind.what);
        assert_eq!(archive("xl/workbook.xml"), Some("an Excel workbook"));
        assert_eq!(archive("content.xml"), Some("an OpenDocument spreadsheet"));
        assert_eq!(archive("model/data.pkl"), Some("a PyTorch file"));
        assert_eq!(archive("zarr.json"), Some("a Zarr store"));
        assert_eq!(archive("b.csv"), Some("a zip archive without arrays"));
        assert_eq!(archive("b"), None);
        let folder = tempfile::tempdir().unwrap();
        let mut found = Vec::new();
        for name in ["nothing", "part-0.parquet", "matrix.mtx.gz", ".zgroup"] {
            std::fs::write(folder.path().join(name), "").unwrap();
            found.push(of_folder(folder.path()).what);
        }
        assert_eq!(
            found,
            ["a folder", "a folder of Parquet files", "a folder of 10x Genomics", "a Zarr store"]
        );
    }
}
