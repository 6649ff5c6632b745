//! Models of categories as records: the record of the PCA, and the variables of the table.

use super::encoding::Variable;
use super::model::{CategoricalModel, CategoricalParts};
use crate::error::Result;
use crate::pca::PcaModel;
use crate::record::{Record, Recorded};

const SHARES: &str = "category_shares";
const DISTANCES: &str = "category_distances";
const MEANS: &str = "number_means";
const DEVIATIONS: &str = "number_deviations";
const VARIABLES: &str = "variables";
const OPTIONS: &str = "categorical_options";

/// A variable as text. Means and deviations are arrays, because JSON need not keep every bit.
#[derive(serde::Serialize, serde::Deserialize)]
struct StoredVariable {
    name: String,
    /// None for numbers.
    categories: Option<Vec<String>>,
    #[serde(default)]
    has_missing: bool,
}

impl From<&Variable> for StoredVariable {
    fn from(variable: &Variable) -> Self {
        let has_missing = matches!(variable, Variable::Categories { has_missing: true, .. });
        let categories = variable.categories().map(<[String]>::to_vec);
        Self { name: variable.name().to_owned(), categories, has_missing }
    }
}

impl Recorded for CategoricalModel {
    const KIND: &'static str = "categorical-pca";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = self.pca().to_record()?;
        Self::KIND.clone_into(&mut record.kind);
        let standards = self.variables().iter().filter_map(|variable| match variable {
            Variable::Numbers { mean, deviation, .. } => Some((*mean, *deviation)),
            Variable::Categories { .. } => None,
        });
        let (means, deviations): (Vec<f64>, Vec<f64>) = standards.unzip();
        record.put_row(SHARES, self.shares());
        record.put_row(DISTANCES, self.distances());
        record.put_row(MEANS, means);
        record.put_row(DEVIATIONS, deviations);
        let variables: Vec<StoredVariable> = self.variables().iter().map(Into::into).collect();
        record.put_json(VARIABLES, &variables)?;
        record.put_json(OPTIONS, self.options())?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let stored: Vec<StoredVariable> = record.json(VARIABLES)?;
        let n_numbers = stored.iter().filter(|variable| variable.categories.is_none()).count();
        let means: Vec<f64> = record.take_row(MEANS, n_numbers)?;
        let deviations: Vec<f64> = record.take_row(DEVIATIONS, n_numbers)?;
        let mut standards = means.into_iter().zip(deviations);
        let variable = |StoredVariable { name, categories, has_missing }| match categories {
            Some(categories) => Variable::Categories { name, categories, has_missing },
            None => {
                let (mean, deviation) = standards.next().unwrap_or_default();
                Variable::Numbers { name, mean, deviation }
            }
        };
        let variables = stored.into_iter().map(variable).collect();
        let (shares, distances) = (record.take_any_row(SHARES)?, record.take_any_row(DISTANCES)?);
        let options = record.json(OPTIONS)?;
        PcaModel::KIND.clone_into(&mut record.kind);
        let pca = PcaModel::from_record(record)?;
        Self::try_from(CategoricalParts { options, variables, shares, distances, pca })
    }
}
