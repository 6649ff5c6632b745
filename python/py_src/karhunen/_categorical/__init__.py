"""PCA of categories: correspondence analysis of many variables, and factor analysis of mixed data."""
