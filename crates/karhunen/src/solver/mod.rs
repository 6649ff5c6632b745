//! Eigenpairs and singular triplets of matrices. Never hears of means or samples.
