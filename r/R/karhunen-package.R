#' @details
#' [kh_pca()] fits principal components, [kh_impute()] data with missing values, [kh_kpca()] kernels. The number of threads is
#' the option `karhunen.threads`, all processors if it is not set; the result has the same bits for every number.
#' @importFrom stats biplot fitted predict residuals screeplot
#' @keywords internal
"_PACKAGE"
