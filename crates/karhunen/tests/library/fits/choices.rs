//! Tables of choices: every name leads to its choice, on each surface.

use std::fmt::Debug;

use karhunen::Weighting;
use karhunen::choice::Choice;
use karhunen::incomplete::{Duplicates, MeanMode, Method, OnlineRule, Regularization, StopReason};
use karhunen::kernel::{Gamma, Kernel, KernelRoute, Landmarks, PreImage};
use karhunen::pca::{Route, Scaling};

fn check<C: Choice + PartialEq + Debug>() {
    for row in C::TABLE {
        assert_eq!(row.choice.named().name, row.name);
        assert!(!row.help.is_empty(), "{}", row.name);
        for name in [row.name, row.python, row.file] {
            assert_eq!(C::of_name(name), (!row.takes_number).then(|| row.choice.clone()), "{name}");
            let called = C::TABLE.iter().filter(|other| other.is_called(name)).count();
            assert_eq!(called, 1, "{name}");
        }
    }
    assert_eq!(C::of_name(""), None);
}

#[test]
fn names_lead_to_their_choices() {
    check::<Duplicates>();
    check::<Gamma>();
    check::<Kernel>();
    check::<KernelRoute>();
    check::<Landmarks>();
    check::<MeanMode>();
    check::<Method>();
    check::<OnlineRule>();
    check::<PreImage>();
    check::<Regularization>();
    check::<Route>();
    check::<Scaling>();
    check::<StopReason>();
    check::<Weighting>();
}

#[test]
fn parameters_do_not_hide_a_name() {
    assert_eq!(
        Kernel::Polynomial { degree: 5.5, gamma: Gamma::Value(0.1), coef0: -1.0 }.name(),
        "polynomial"
    );
    assert_eq!(PreImage::Ridge { alpha: 1e-9 }.name(), "ridge");
    assert_eq!(Regularization::Weighted(0.3).name(), "weighted");
}

#[cfg(feature = "serde")]
#[test]
fn files_keep_their_names() {
    fn stored<C: serde::Serialize>(choices: &[C]) -> String {
        serde_json::to_string(choices).unwrap()
    }
    assert_eq!(stored(&Landmarks::ALL), r#"["uniform","k-means-plus-plus","leverage-scores"]"#);
    assert_eq!(stored(&Route::ALL), r#"["svd","covariance","gram","block-krylov"]"#);
    assert_eq!(stored(&[StopReason::HeldOut, StopReason::TimeLimit]), r#"["heldout","timelimit"]"#);
    for landmarks in Landmarks::ALL {
        let text = serde_json::to_string(&landmarks).unwrap();
        assert_eq!(serde_json::from_str::<Landmarks>(&text).unwrap(), landmarks);
        assert_eq!(serde_json::from_reader::<_, Landmarks>(text.as_bytes()).unwrap(), landmarks);
    }
    let error = serde_json::from_str::<Landmarks>("\"some\"").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "unknown variant `some`, expected one of `uniform`, `k-means-plus-plus`, `leverage-scores`"
        ),
        "{error}"
    );
}
