//! The output of `predict`: the requested ids, under the column names of the pairs.

use tempfile::TempDir;

use crate::karhunen;

/// Triples with integer ids, with and without a header.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let triples: String = (0..48)
        .filter(|e| e % 5 != 2)
        .map(|e| format!("{},{},{}\n", 100 + e / 4, 7 * (e % 4), (1 + e / 4) * (2 + e % 4)))
        .collect();
    for (name, header) in [("bare.csv", ""), ("named.csv", "user,item,rating\n")] {
        std::fs::write(folder.path().join(name), format!("{header}{triples}")).unwrap();
        let fit = format!("fit {name} --triples 1,2,3 --missing=em -k 1 -q -o {name}.model");
        karhunen(&fit).current_dir(folder.path()).assert().success();
    }
    folder
}

fn lines(folder: &TempDir, model: &str, pairs: &str, arguments: &str) -> Vec<String> {
    std::fs::write(folder.path().join("p.csv"), pairs).unwrap();
    let command = format!("predict {model}.model p.csv {arguments}");
    let done = karhunen(&command).current_dir(folder.path()).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn columns_by_number_have_the_names_of_the_file() {
    let folder = folder();
    for model in ["bare.csv", "named.csv"] {
        for (pairs, header) in
            [("100,7\n101,14\n", "row,column,value,std"), ("who,what\n100,7\n101,14\n", "who,what,value,std")]
        {
            let found = lines(&folder, model, pairs, "");
            assert_eq!((found.len(), &found[0][..]), (3, header), "{found:?}");
        }
        let found = lines(&folder, model, "what,who\n7,100\n", "--pairs 2,1");
        assert!(found[0] == "who,what,value,std" && found[1].starts_with("100,7,"), "{found:?}");
    }
}

#[test]
fn ids_that_are_whole_numbers_are_written_as_such() {
    let folder = folder();
    let found = lines(&folder, "named.csv", "user,item\n100,7\n101,14\n", "");
    assert!(found[1].starts_with("100,7,") && found[2].starts_with("101,14,"), "{found:?}");
    // An id that is not an integer makes its column text, which must be quoted.
    let found = lines(&folder, "named.csv", "user,item\n100,7\nnobody,14\n0101,14\n", "--unknown nan");
    assert!(found[1].starts_with("\"100\",7,") && found[2].starts_with("nobody,14,"), "{found:?}");
    assert!(found[3].starts_with("\"0101\",14,"), "{found:?}");
    // The output is valid input, also as Parquet.
    for file in ["o.csv", "o.parquet"] {
        let found = lines(&folder, "named.csv", "user,item\n100,7\n", &format!("-o {file}"));
        assert!(found.is_empty());
        let again = format!("predict named.csv.model {file} --pairs user,item");
        let done = karhunen(&again).current_dir(folder.path()).assert().success();
        let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        assert!(text.starts_with("user,item,value,std\n100,7,"), "{text}");
    }
}
