//! What a device refuses, and its error where there is none.

use karhunen::error::options;
use karhunen::pca::{Route, Scaling};
use karhunen::{Dense, Error, ErrorKind, Pca, Run, Weights};
use karhunen_device::{Device, DeviceError, fit};

fn fitted(pca: &Pca) -> karhunen::Result<karhunen::PcaModel> {
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
    let x = Dense::row_major(&values, 3, 2)?;
    fit(pca, &x, &Weights::default(), &[], &Run::default())
}

#[test]
fn options_without_use_are_refused_before_a_device_is_looked_for() {
    let svd = Pca { solver: Some(Route::Svd), ..Pca::new(1) };
    let range = Pca { scale: Scaling::Range, ..Pca::new(1) };
    for (pca, name) in [(svd, options::SOLVER), (range, options::SCALE)] {
        let error = fitted(&pca).unwrap_err();
        assert!(matches!(error, Error::Option { option, .. } if option == name), "{error}");
    }
}

/// On a machine with a GPU the fit succeeds; elsewhere the error says what is missing and what to do.
#[test]
fn an_error_without_a_device_says_what_was_looked_for() {
    let error = match (Device::open(&[]), fitted(&Pca::new(1))) {
        (Ok(device), Ok(_)) => return assert!(!device.name().is_empty()),
        (Err(of_device), Err(error)) => {
            assert_eq!(error.to_string(), of_device.to_string());
            error
        }
        (device, fit) => panic!("{device:?}, {fit:?}"),
    };
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(text.starts_with("no GPU can be used: ") && text.contains("leave the device out"), "{text}");
    let Error::Device { source, .. } = &error else { panic!("{error:?}") };
    if let Some(DeviceError::Library { names, .. }) = source.downcast_ref() {
        assert!(text.contains("libcu") && text.contains(names), "{text}");
    }
}

#[cfg(all(not(feature = "cuda"), not(target_feature = "crt-static")))]
#[test]
fn a_build_without_the_feature_names_it() {
    assert_eq!(
        fitted(&Pca::new(1)).unwrap_err().to_string(),
        "no GPU can be used: CUDA needs the feature cuda, which this build of karhunen leaves out; build it with \
         --features cuda, or leave the device out"
    );
}

/// The compiled kernels match the source: `kernels.py` compiles them.
#[test]
fn every_kernel_is_compiled() {
    let (source, compiled) =
        (include_str!("../src/cuda/kernels.cu"), include_str!("../src/cuda/kernels.ptx"));
    let names = |text: &str, before: &str| -> Vec<String> {
        let after = text.split(before).skip(1);
        after.filter_map(|rest| rest.split('(').next().map(|name| name.trim().to_owned())).collect()
    };
    let declared = names(source, "extern \"C\" __global__ void ");
    assert_eq!(declared.len(), 7);
    assert_eq!(names(compiled, ".visible .entry "), declared);
}
