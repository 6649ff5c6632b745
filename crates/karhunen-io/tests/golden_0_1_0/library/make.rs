//! Makes the files of this folder: copied to crates/karhunen-io/examples/ of version 0.1.0 (commit ded8066) and run with
//! `cargo run --release -p karhunen-io --example make -- FOLDER`.
use std::path::Path;

use karhunen::kernel::{Gamma, Kernel, Nystrom};
use karhunen::{Dense, NComponents, Pca, Weights};
use karhunen_io::{AboutMean, NamedMatrix, SavedModel, SavedNystrom, save_model, save_nystrom, write_table};

fn main() {
    let folder = std::env::args().nth(1).expect("the folder");
    let folder = Path::new(&folder);
    let x: Vec<f64> = (0..24).map(|e| f64::from(e * e % 17) - 0.25 * f64::from(e % 5)).collect();
    let x = Dense::row_major(&x, 8, 3).unwrap();
    let write = |name: &str, matrix: &karhunen::Matrix| {
        let names: Vec<String> = (1..=matrix.n_cols()).map(|c| format!("z{c}")).collect();
        let table = NamedMatrix {
            matrix,
            row_names: None,
            row_header: "",
            labels: &[],
            column_names: &names,
            numeric_ids: false,
        };
        write_table(&folder.join(name), &table).unwrap();
    };
    let kernel = Kernel::Rbf { gamma: Gamma::Value(0.02) };
    let map = Nystrom { kernel, ..Nystrom::new(4) }.fit(&x, &Weights::default()).unwrap();
    let feature_names = Some(["a", "b", "c"].map(str::to_owned).to_vec());
    write("nystrom.csv", &map.transform(&x).unwrap());
    save_nystrom(&folder.join("nystrom.model"), &SavedNystrom { map, feature_names: feature_names.clone() })
        .unwrap();
    let pca = Pca { n_components: NComponents::Count(2), center: false, ..Pca::default() };
    let model = pca.fit(&x, &Weights::default()).unwrap();
    write("about_mean.csv", &model.transform(&x).unwrap());
    let about_mean = Some(AboutMean { variance: vec![1.5, 0.25], ratio: vec![0.75, 0.125] });
    let saved = SavedModel { model, feature_names, set_aside: Vec::new(), id_column: None, about_mean };
    save_model(&folder.join("about_mean.model"), &saved).unwrap();
}
