//! The rules for the number of components, by name.

use crate::choice::{Choice, Named, plain_names};

/// A rule for the number of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// [`super::kaiser`].
    Kaiser,
    /// [`super::jolliffe`].
    Jolliffe,
    /// [`super::broken_stick`].
    BrokenStick,
    /// [`super::marchenko_pastur`].
    MarchenkoPastur,
    /// [`super::gavish_donoho`].
    GavishDonoho,
    /// [`super::minka`].
    Minka,
    /// [`super::bai_ng`] with [`super::BaiNg::Ic1`].
    BaiNgIc1,
    /// [`super::bai_ng`] with [`super::BaiNg::Ic2`].
    BaiNgIc2,
    /// [`super::bai_ng`] with [`super::BaiNg::Ic3`].
    BaiNgIc3,
    /// [`super::bai_ng`] with [`super::BaiNg::Pc1`].
    BaiNgPc1,
    /// [`super::bai_ng`] with [`super::BaiNg::Pc2`].
    BaiNgPc2,
    /// [`super::bai_ng`] with [`super::BaiNg::Pc3`].
    BaiNgPc3,
    /// [`super::gcv`].
    Gcv,
    /// [`super::Parallel`] with [`super::Null::Permutation`].
    ParallelPermutation,
    /// [`super::Parallel`] with [`super::Null::Normal`].
    ParallelNormal,
    /// [`super::cross_validation`].
    CrossValidation,
    /// [`super::cross_validation_one_error`].
    CrossValidationOneError,
}

impl Choice for Rule {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Kaiser, "kaiser", "Variances above the average (Kaiser-Guttman)"),
        Named::new(Self::Jolliffe, "jolliffe", "Variances above 0.7 of the average (Jolliffe)"),
        Named::new(Self::BrokenStick, "broken-stick", "Shares above those of a stick broken at random"),
        Named::new(
            Self::MarchenkoPastur,
            "marchenko-pastur",
            "Variances above the Marchenko-Pastur edge of the noise",
        ),
        Named::new(
            Self::GavishDonoho,
            "gavish-donoho",
            "Singular values above the optimal hard threshold for unknown noise",
        ),
        Named::new(Self::Minka, "minka", "Largest evidence under probabilistic PCA (n_components = mle)"),
        Named::new(Self::BaiNgIc1, "bai-ng-ic1", "Information criterion IC1 of Bai and Ng"),
        Named::new(Self::BaiNgIc2, "bai-ng-ic2", "Information criterion IC2 of Bai and Ng"),
        Named::new(Self::BaiNgIc3, "bai-ng-ic3", "Information criterion IC3 of Bai and Ng"),
        Named::new(Self::BaiNgPc1, "bai-ng-pc1", "Panel criterion PC1 of Bai and Ng"),
        Named::new(Self::BaiNgPc2, "bai-ng-pc2", "Panel criterion PC2 of Bai and Ng"),
        Named::new(Self::BaiNgPc3, "bai-ng-pc3", "Panel criterion PC3 of Bai and Ng"),
        Named::new(Self::Gcv, "gcv", "Least generalized cross-validation error (Josse and Husson)"),
        Named::new(
            Self::ParallelPermutation,
            "parallel-permutation",
            "Variances above those of data whose columns are permuted (Horn)",
        ),
        Named::new(Self::ParallelNormal, "parallel-normal", "Variances above those of normal data (Horn)"),
        Named::new(Self::CrossValidation, "cross-validation", "Least error of held-out entries (PRESS)"),
        Named::new(
            Self::CrossValidationOneError,
            "cross-validation-1se",
            "Fewest components within one standard error of the least error of held-out entries",
        ),
    ];
}

plain_names!(Rule);
