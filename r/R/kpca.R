#' Kernel principal component analysis
#'
#' Fits principal components in the feature space of a kernel: exactly, or of large data by landmarks (Nystroem) or random
#' Fourier features.
#'
#' @param x A numeric matrix, a data frame with numeric columns, or a matrix of the package \pkg{Matrix}; (n, p). With
#'   `kernel = "precomputed"` the kernel matrix, (n, n). `print` and `plot`: the fit.
#' @param ncomp Number of components; all with a positive eigenvalue if `NULL`.
#' @param kernel `"rbf"` `exp(-gamma |x - y|^2)`, `"laplacian"` `exp(-gamma |x - y|_1)`, `"polynomial"`
#'   `(gamma x.y + coef0)^degree`, `"sigmoid"` `tanh(gamma x.y + coef0)`, `"linear"`, `"cosine"`, `"chi2"`,
#'   `"additive-chi2"` or `"precomputed"`.
#' @param gamma A positive number, `"scale"` (1 / (p times the variance of all values)), `"median"` (1 / the median distance)
#'   or `NULL` for 1 / p.
#' @param degree,coef0 The power and the constant of the kernels that have them.
#' @param weights One weight for each row, at least zero: a row of weight 3 counts as three equal rows.
#' @param pre_image The method that computes rows from scores, for `fitted`: `"auto"`, `"fixed-point"` or `"ridge"`; none if
#'   `NULL`.
#' @param alpha The ridge of `pre_image`.
#' @param ... Options of the engine: `solver` (`"full"`, `"stored"`, `"tiles"`, `"nystrom"` or `"fourier"`), `landmarks`,
#'   `n_features` (the number of landmarks or features), `tol`, `max_iter`, `memory_limit` (bytes), `seed`, `strict`.
#' @param threads Number of threads; all processors if `NULL`. The result has the same bits for every number.
#'
#' @return An object of the class `kh_kpca`, a list of
#' \item{x}{scores of the rows, (n, k)}
#' \item{eigenvalues}{of the centred kernel matrix, (k)}
#' \item{sdev}{standard deviations of the scores, `sqrt(eigenvalues / n)`, (k)}
#' \item{share}{eigenvalues as shares of the sum of all positive ones, (k); `NaN` where that is unknown: the solvers `"stored"` and
#'   `"tiles"` with a kernel that may have negative eigenvalues}
#' \item{kernel, gamma}{the kernel, and the number of its coefficient, `NaN` if it has none}
#' \item{n}{number of rows}
#' \item{convergence}{the solver, the reason for its choice, the residuals and their tolerance, and whether all are within it}
#' \item{call, model}{the call, and the fitted model of the engine, which `saveRDS` keeps}
#'
#' @seealso [kh_pca()].
#' @examples
#' # Two circles, which the first component of a radial kernel separates.
#' angle <- seq(0, 2 * pi, length.out = 40)
#' radius <- rep(c(1, 4), 20)
#' x <- cbind(radius * cos(angle), radius * sin(angle))
#' fit <- kh_kpca(x, ncomp = 2, gamma = 0.3)
#' fit
#' tapply(fit$x[, 1], radius, range)
#' @export
kh_kpca <- function(x, ncomp = 2, kernel = "rbf", gamma = NULL, degree = 3, coef0 = 1, weights = NULL, pre_image = NULL,
                    alpha = 1, ..., threads = getOption("karhunen.threads")) {
  data <- engine_data(x)
  options <- more_options(..., taken = c("n_components", "kernel", "pre_image"))
  options$n_components <- if (is.null(ncomp)) "all" else list(count = whole_number(ncomp, "ncomp"))
  options$kernel <- engine_kernel(kernel, gamma, degree, coef0)
  if (!missing(degree) && kernel != "polynomial") {
    stop("the kernel ", kernel, " has no degree: leave it out", call. = FALSE)
  }
  if (!missing(coef0) && !kernel %in% c("polynomial", "sigmoid")) {
    stop("the kernel ", kernel, " has no coef0: leave it out", call. = FALSE)
  }
  if (!missing(alpha) && (is.null(pre_image) || identical(pre_image, "fixed-point"))) {
    stop('alpha is of pre_image = "auto" and "ridge": leave it out', call. = FALSE)
  }
  options$pre_image <- engine_pre_image(pre_image, alpha)
  call <- engine_call("kh_kpca", threads, data$names[[2L]])
  fit <- .Call(C_fit_kernel, call, data, options, row_weights(x, weights))
  names <- component_names(length(fit$eigenvalues))
  convergence <- fit[c("solver", "reason", "residuals", "tol", "converged")]
  warn_unconverged(convergence, fit$advice)
  n <- if (is.null(weights)) fit$n else sum(weights)
  structure(
    list(x = with_names(fit$x, data$names[[1L]], names), eigenvalues = fit$eigenvalues,
         sdev = sqrt(pmax(fit$eigenvalues, 0) / n), share = fit$share, kernel = kernel, gamma = fit$gamma, n = fit$n,
         n_features = data$dim[2L], columns = data$names[[2L]], convergence = convergence, call = match.call(),
         model = fit$model),
    class = "kh_kpca"
  )
}

# A kernel in the form of the engine.
engine_kernel <- function(kernel, gamma, degree, coef0) {
  with_gamma <- c("rbf", "laplacian", "polynomial", "sigmoid", "chi2")
  without <- c("linear", "cosine", "additive-chi2", "precomputed")
  if (!is.character(kernel) || length(kernel) != 1L || !kernel %in% c(with_gamma, without)) {
    stop("kernel must be one of ", paste0('"', c(with_gamma, without), '"', collapse = ", "), call. = FALSE)
  }
  if (kernel %in% without) {
    if (!is.null(gamma)) stop("the kernel ", kernel, " has no gamma: leave it out", call. = FALSE)
    return(kernel)
  }
  parts <- list(gamma = engine_gamma(gamma))
  if (kernel == "polynomial") parts$degree <- one_number(degree, "degree")
  if (kernel %in% c("polynomial", "sigmoid")) parts$coef0 <- one_number(coef0, "coef0")
  stats::setNames(list(parts), kernel)
}

engine_gamma <- function(gamma) {
  if (is.null(gamma)) return("per-feature")
  if (identical(gamma, "scale") || identical(gamma, "median")) return(gamma)
  if (is.numeric(gamma) && length(gamma) == 1L && is.finite(gamma)) return(list(value = as.double(gamma)))
  stop('gamma must be a positive number, "scale", "median" or NULL', call. = FALSE)
}

engine_pre_image <- function(pre_image, alpha) {
  if (is.null(pre_image) || identical(pre_image, "fixed-point")) return(pre_image)
  if (identical(pre_image, "auto") || identical(pre_image, "ridge")) {
    return(stats::setNames(list(list(alpha = one_number(alpha, "alpha"))), pre_image))
  }
  stop('pre_image must be "auto", "fixed-point", "ridge" or NULL', call. = FALSE)
}

#' @rdname kh_kpca
#' @param digits Number of significant digits to print.
#' @export
print.kh_kpca <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(sprintf("Kernel PCA of %d rows: kernel %s", as.integer(x$n), x$kernel))
  if (!is.nan(x$gamma)) cat(", gamma", format(x$gamma, digits = digits))
  cat(sprintf(", %d components\nEigenvalues:\n", length(x$eigenvalues)))
  print(x$eigenvalues, digits = digits, ...)
  invisible(x)
}

#' @rdname kh_kpca
#' @param object A fit.
#' @export
summary.kh_kpca <- function(object, ...) {
  object$importance <- importance_of(object$sdev, object$share, component_names(length(object$sdev)))
  class(object) <- "summary.kh_kpca"
  object
}

#' @export
print.summary.kh_kpca <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print.kh_kpca(x, digits = digits)
  cat("Importance of components:\n")
  print(x$importance, digits = digits, ...)
  invisible(x)
}

#' @rdname kh_kpca
#' @param newdata New rows; of a precomputed kernel, its values of new rows and fitted rows.
#' @export
predict.kh_kpca <- function(object, newdata, ..., threads = getOption("karhunen.threads")) {
  if (missing(newdata)) return(object$x)
  data <- engine_newdata(newdata, object$columns, object$n_features)
  call <- engine_call("kh_kpca", threads, object$columns)
  scores <- .Call(C_kernel_scores, call, object$model, data)
  with_names(scores, data$names[[1L]], component_names(length(object$eigenvalues)))
}

#' @rdname kh_kpca
#' @param scores Scores, (n, k), by default from the fit.
#' @return `fitted` gives the rows whose images in feature space are near the scores, of fits with `pre_image`.
#' @export
fitted.kh_kpca <- function(object, scores = object$x, ..., threads = getOption("karhunen.threads")) {
  call <- engine_call("kh_kpca", threads, object$columns)
  rows <- .Call(C_kernel_rows, call, object$model, engine_scores(scores, length(object$eigenvalues)))
  with_names(rows, rownames(scores), object$columns)
}

#' @rdname kh_kpca
#' @export
plot.kh_kpca <- function(x, ...) stats::screeplot(x, ...)
