//! Feature maps.

use karhunen::kernel::{Gamma, Kernel, Landmarks, Nystrom};
use karhunen::{Dense, Sparse, Weights};

use super::*;

const X: [f64; 15] = [1.0, 2.0, 0.0, 2.0, 1.0, 5.0, 4.0, 3.0, 1.0, 0.0, 7.0, 2.0, 0.0, 3.0, 3.0];

fn saved(kernel: Kernel) -> SavedNystrom {
    let x = Dense::row_major(&X, 5, 3).unwrap();
    let nystrom = Nystrom { kernel, landmarks: Landmarks::KMeansPlusPlus, ..Nystrom::new(3) };
    let feature_names = Some(["a", "", "ü \"quoted\""].map(str::to_owned).to_vec());
    let extras = TableColumns { feature_names, ..TableColumns::default() };
    Saved { model: nystrom.fit(&x, &Weights::default()).unwrap(), extras }
}

/// Writes and reads a map; both are the same.
fn again(saved: &SavedNystrom) -> SavedNystrom {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    save_model(&path, saved).unwrap();
    let again: SavedNystrom = load_model(&path).unwrap();
    assert_eq!(again.model.parts(), saved.model.parts());
    assert_eq!(again.extras, saved.extras);
    again
}

#[test]
fn maps_come_back() {
    let x = Dense::row_major(&X, 5, 3).unwrap();
    for kernel in [Kernel::Linear, Kernel::Rbf { gamma: Gamma::Median }, Kernel::Cosine] {
        let saved = saved(kernel);
        let expected = saved.model.transform(&x).unwrap();
        assert_eq!(again(&saved).model.transform(&x).unwrap(), expected);
    }
    let single: Vec<f32> = X.iter().map(|x| *x as f32).collect();
    let single = Dense::row_major(&single, 5, 3).unwrap();
    let map = Nystrom::new(2).fit(&single, &Weights::default()).unwrap();
    again(&Saved { model: map, extras: TableColumns::default() });
    let stored: Vec<usize> = (0..15).filter(|e| X[*e] != 0.0).collect();
    let values: Vec<f64> = stored.iter().map(|e| X[*e]).collect();
    let indices: Vec<u32> = stored.iter().map(|e| (e % 3) as u32).collect();
    let pointers: Vec<u64> = (0..=5).map(|i| stored.iter().filter(|e| **e < 3 * i).count() as u64).collect();
    let sparse = Sparse::csr(5, 3, &pointers, &indices, &values).unwrap();
    let map = Nystrom::new(4).fit(&sparse, &Weights::default()).unwrap();
    again(&Saved { model: map, extras: TableColumns::default() });
}

#[test]
fn no_file_cut_or_changed_in_one_byte_makes_a_panic() {
    no_damaged_byte_passes(&saved(Kernel::default()), |map| {
        let _ = map.transform(&Dense::row_major(&X, 5, 3).unwrap());
    });
}

#[test]
fn names_belong_to_columns_and_kinds_to_their_readers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let extras = TableColumns { feature_names: Some(vec!["a".to_owned()]), ..TableColumns::default() };
    let named = Saved { extras, ..saved(Kernel::default()) };
    let error = save_model(&path, &named).unwrap_err().to_string();
    assert!(error.contains("the feature names: 1 name, but 3 are needed"), "{error}");
    save_model(&path, &saved(Kernel::default())).unwrap();
    let error = load_any_model(&path).unwrap_err().to_string();
    assert!(error.contains("a Nyström feature map, which has no components"), "{error}");
    let error = load_model::<KernelModel>(&path).unwrap_err().to_string();
    assert!(error.contains(SavedNystrom::KIND), "{error}");
}
