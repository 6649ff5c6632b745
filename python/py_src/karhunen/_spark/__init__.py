"""PCA on Spark: columns of DataFrames, their rows as matrices, and the passes of a fit."""
