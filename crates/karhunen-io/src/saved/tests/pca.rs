//! Models of complete data.

use karhunen::pca::{AboutMean, ModelParts, NewRows, Scaling};
use karhunen::{Dense, NComponents, Pca, Weights};

use super::*;

const X: [f64; 12] = [1.0, 2.0, 0.5, -3.0, 0.25, 7.0, 1e-3, 4.0, -5.0, 2.0, 2.5, 1.0 / 3.0];

fn saved(feature_weights: Option<&[f64]>) -> SavedModel {
    let pca =
        Pca { n_components: NComponents::Count(2), scale: true.into(), seed: u64::MAX, ..Pca::default() };
    let x = Dense::row_major(&X, 4, 3).unwrap();
    let weights = Weights { features: feature_weights, ..Weights::default() };
    let model = pca.fit(&x, &weights).unwrap();
    let feature_names = Some(["a", "ü \"quoted\"", "c"].map(str::to_owned).to_vec());
    Saved { model, extras: TableColumns { feature_names, of_file: of_file(), log1p: Some(1e4) } }
}

fn with(about_mean: Option<AboutMean>, model: &PcaModel) -> karhunen::Result<PcaModel> {
    PcaModel::try_from(ModelParts { about_mean, ..model.parts().clone() })
}

#[test]
fn a_model_reads_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    for weights in [None, Some(&[1.0, 0.1, 2.0][..])] {
        let about_mean = AboutMean { variance: vec![1.5, 1.0 / 3.0], ratio: vec![0.5, 1e-300] };
        for (feature_names, about_mean) in
            [(None, None), (saved(weights).extras.feature_names, None), (None, Some(about_mean))]
        {
            let SavedModel { model, extras } = saved(weights);
            let extras = TableColumns { feature_names, ..extras };
            let saved = Saved { model: with(about_mean, &model).unwrap(), extras };
            save_model(&path, &saved).unwrap();
            assert_eq!(load_model(&path).unwrap(), saved);
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        }
    }
}

/// The arrays hold given centres and scales, the options only that they were given. Fits of older versions have `true` and
/// `false`, which versions without other choices read too.
#[test]
fn centring_and_scaling_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    let x = Dense::row_major(&X, 4, 3).unwrap();
    let given = Pca::new(2).center(vec![0.1, 1e-300, -7.0]).scale(vec![1.0 / 3.0, 2.0, 1e9]);
    for (pca, text) in [
        (Pca::new(2).scale(true), r#""center":true,"scale":true"#),
        (Pca::new(2).center(false), r#""center":false,"scale":false"#),
        (Pca::new(2).scale(Scaling::Pareto), r#""center":true,"scale":"pareto""#),
        (Pca::new(2).scale(Scaling::Range), r#""center":true,"scale":"range""#),
        (given, r#""center":[],"scale":[]"#),
    ] {
        let model = pca.fit(&x, &Weights::default()).unwrap();
        assert_eq!(model.options(), &pca);
        let saved = Saved { model, ..saved(None) };
        save_model(&path, &saved).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(String::from_utf8_lossy(&bytes).replace('\\', "").contains(text), "{text}");
        assert_eq!(load_model(&path).unwrap(), saved);
    }
}

#[test]
fn no_damaged_byte_of_a_model_passes() {
    no_damaged_byte_passes(&saved(Some(&[1.0, 0.1, 2.0])), |_| {});
}

#[test]
fn weights_whose_sum_overflows_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    let pca = Pca { weighting: karhunen::Weighting::Population, ..Pca::new(2) };
    let weights = Weights::of_samples(&[1e308, 1e308, 1.0, 1e308]);
    let model = pca.fit(&Dense::row_major(&X, 4, 3).unwrap(), &weights).unwrap();
    assert_eq!(model.sum_of_weights(), f64::INFINITY);
    let n_observations = f64::INFINITY;
    let model = model.with_new_rows(NewRows { t2_factor: 0.5, spe: 1e-300, spe_second: 0.1, n_observations });
    let saved = SavedModel { model, ..saved(None) };
    save_model(&path, &saved).unwrap();
    assert_eq!(load_model(&path).unwrap(), saved);
}

#[test]
fn what_does_not_fit_the_model_is_not_written() {
    let saved = saved(None);
    let misnamed = TableColumns { feature_names: Some(vec!["a".to_owned()]), ..saved.extras };
    let misnamed = Saved { model: saved.model, extras: misnamed };
    let error = save_model(Path::new("/no/such/folder/m"), &misnamed).unwrap_err().to_string();
    assert!(error.contains("the feature names"), "{error}");
    for (variance, ratio, what) in
        [(1, 2, "the variance about the mean"), (2, 3, "the share of the variance about the mean")]
    {
        let about_mean = AboutMean { variance: vec![1.0; variance], ratio: vec![1.0; ratio] };
        let error = with(Some(about_mean), &misnamed.model).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
