//! PCA models as records. Arrays have the names of scikit-learn's attributes, without the underscore.

use crate::error::Result;
use crate::pca::convergence::Convergence;
use crate::pca::model::{AboutMean, ModelParts, NewRows, PcaModel};
use crate::pca::{Centring, Pca, Scaling};
use crate::record::{Record, Recorded};

/// The options without given centres and scales, which the arrays `mean` and `scale` hold: [`PcaModel::try_from`] puts them
/// back.
fn without_numbers(options: &Pca) -> Pca {
    let center =
        options.center.given().map_or_else(|| options.center.clone(), |_| Centring::Given(Vec::new()));
    let scale = options.scale.given().map_or_else(|| options.scale.clone(), |_| Scaling::Given(Vec::new()));
    Pca { center, scale, ..options.clone() }
}

impl Recorded for PcaModel {
    const KIND: &'static str = "pca";

    fn to_record(&self) -> Result<Record<'_>> {
        let parts = self.parts();
        let mut record = Record::new(Self::KIND);
        record.put_matrix("components", &parts.components);
        record.put_row("explained_variance", &parts.explained_variance);
        record.put_row("explained_variance_ratio", &parts.explained_variance_ratio);
        record.put_row("singular_values", &parts.singular_values);
        record.put_row("residuals", &parts.convergence.residuals);
        record.put_row("mean", &parts.mean);
        record.put_row("scale", &parts.scale);
        if let Some(discarded) = &parts.discarded_variance {
            record.put_row("discarded_variance", discarded);
        }
        record.put_scalar("noise_variance", parts.noise_variance);
        record.put_scalar("total_variance", parts.total_variance);
        record.put_scalar("sum_of_weights", parts.sum_of_weights);
        if let Some(effective) = parts.effective_samples {
            record.put_scalar("effective_samples", effective);
        }
        if let Some(variance) = &parts.feature_variance {
            record.put_row("feature_variance", variance);
        }
        if let Some(weights) = &parts.feature_weights {
            record.put_row("feature_weights", weights);
        }
        if let Some(AboutMean { variance, ratio }) = &parts.about_mean {
            record.put_row("variance_about_mean", variance);
            record.put_row("variance_ratio_about_mean", ratio);
        }
        if let Some(NewRows { t2_factor, spe, spe_second, n_observations }) = parts.new_rows {
            record.put_row("new_rows", vec![t2_factor, spe, spe_second, n_observations]);
        }
        record.put_json("n_samples", &parts.n_samples)?;
        if let Some(n_dimensions) = &parts.n_dimensions {
            record.put_json("n_dimensions", n_dimensions)?;
        }
        record.put_text("dtype", &parts.dtype);
        record.put_json("options", &without_numbers(&parts.options))?;
        // The residuals are an array, because JSON has no infinity and need not keep every bit.
        record.put_json_without("convergence", &parts.convergence, "residuals")?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let about_mean = record.if_there("variance_about_mean", |record, name| {
            Ok(AboutMean {
                variance: record.take_any_row(name)?,
                ratio: record.take_any_row("variance_ratio_about_mean")?,
            })
        })?;
        let new_rows = record.if_there("new_rows", |record, name| {
            let of = record.take_row(name, 4)?;
            Ok(NewRows { t2_factor: of[0], spe: of[1], spe_second: of[2], n_observations: of[3] })
        })?;
        Self::try_from(ModelParts {
            components: record.take_matrix("components")?,
            explained_variance: record.take_any_row("explained_variance")?,
            explained_variance_ratio: record.take_any_row("explained_variance_ratio")?,
            singular_values: record.take_any_row("singular_values")?,
            discarded_variance: record.if_there("discarded_variance", Record::take_any_row)?,
            noise_variance: record.take_scalar("noise_variance")?,
            total_variance: record.take_scalar("total_variance")?,
            feature_variance: record.if_there("feature_variance", Record::take_any_row)?,
            mean: record.take_any_row("mean")?,
            scale: record.take_any_row("scale")?,
            feature_weights: record.if_there("feature_weights", Record::take_any_row)?,
            about_mean,
            n_samples: record.json("n_samples")?,
            sum_of_weights: record.take_scalar("sum_of_weights")?,
            effective_samples: record.if_there("effective_samples", Record::take_scalar)?,
            n_dimensions: record.optional_json("n_dimensions")?,
            new_rows,
            options: record.json("options")?,
            dtype: record.text("dtype")?.to_owned(),
            convergence: Convergence {
                residuals: record.take_any_row("residuals")?,
                ..record.json_with_no("convergence", "residuals")?
            },
        })
    }
}
