#' Principal component analysis of data with missing values
#'
#' Fits components to the entries that are there, and fills in those that are missing, with standard deviations.
#'
#' The model is `value[i, j] = center[j] + scale[j] / sqrt(column_weights[j]) * (row_offsets[i] + sum(x[i, ] * rotation[j, ]))
#' + noise`, in the names of the result, with ones instead of scales and weights that were not given; only observed
#' entries take part, at a cost linear in their number (Raiko, Ilin and Karhunen 2007). By default the method is
#' variational Bayes, which learns all variances and leaves out components that the data do not support; least squares,
#' ridges and probabilistic PCA are others.
#'
#' A sparse matrix holds the observed entries: those that it does not store are missing, not zero.
#'
#' The fit stops on an interrupt (Ctrl-C, Esc).
#'
#' @param x A numeric matrix or a data frame with numeric columns, in which `NA` and `NaN` are missing; or a sparse matrix of
#'   the package \pkg{Matrix}; (n, p). `print`, `plot` and `biplot`: the fit.
#' @param ncomp The (largest) number of components, from 1 to the smaller of n and p.
#' @param method The algorithm: `"auto"`, `"vb-full"`, `"vb"`, `"vb-fixed"`, `"ppca"`, `"map"`, `"ridge"`, `"als"`, `"em"`,
#'   `"imputation"`, `"soft"`, `"cg"`, `"ccd"`, `"newton"`, `"natural"`, `"gradient"` or `"online"`.
#' @param scale. `TRUE` to divide each column by the standard deviation of its observed entries during the fit, `FALSE`, one
#'   number for each column, or one of `"pareto"`, `"range"` and `"binomial"`, as of [kh_pca()].
#' @param weights Whole numbers, how often each row was seen.
#' @param column_weights One weight for each column, at least zero.
#' @param ... Options of the engine, such as `tol`, `max_iter`, `seed`, `n_starts` (`NULL`, the default, compares starts), `early_stopping` (a share),
#'   `conformal` (a share of the entries that is held out for intervals), `mean` (`"joint"`, `"fixed"` or `"none"`),
#'   `noise` (`"feature"`: a noise variance of each column, factor analysis), `row_offsets`, `regularization`
#'   (`list(ridge = 2)`), `error_bars`.
#' @param threads Number of threads; all processors if `NULL`. The result has the same bits for every number.
#'
#' @return An object of the class `kh_impute`, a list of
#' \item{completed}{`x` with the missing entries filled in: a data frame if `x` is one, otherwise a matrix, (n, p)}
#' \item{sd}{standard deviations of the entries of `completed`, zero where observed: of a new observation, noise included,
#'   (n, p); `NULL` for methods without them}
#' \item{fitted}{the values of all entries under the model, (n, p)}
#' \item{sdev}{standard deviations along the components, (k)}
#' \item{rotation}{the components as orthonormal columns, (p, k)}
#' \item{center, scale}{means, and the numbers that divide the columns or `FALSE`, (p)}
#' \item{x}{scores of the rows, (n, k)}
#' \item{row_offsets}{offsets of the rows, (n); `NULL` without the option}
#' \item{share}{share of the total variance that each component explains, (k)}
#' \item{total_variance, noise_variance}{variance of complete rows, and of an observation about its prediction}
#' \item{feature_noise_variance}{variance of the observations of each column about their predictions, in its squared units,
#'   (p)}
#' \item{n, n_observed}{number of rows, and of the entries that were fitted}
#' \item{convergence}{the method, the reason for its choice and for the stop, iterations, cost, root mean squared error of
#'   the observed entries, and whether the fit converged}
#' \item{call, model}{the call, and the fitted model of the engine, which `saveRDS` keeps}
#'
#' @references T. Raiko, A. Ilin and J. Karhunen (2007), Principal component analysis for large scale problems with lots of
#'   missing values. \doi{10.1007/978-3-540-74958-5_69}
#' @seealso [kh_pca()] for complete data.
#' @examples
#' x <- as.matrix(iris[, 1:4])
#' set.seed(1)
#' removed <- sample(length(x), 60)
#' missing <- replace(x, removed, NA)
#' fit <- kh_impute(missing, ncomp = 2)
#' fit
#' # The errors have about the size of their standard deviations.
#' sd((fit$completed - x)[removed] / fit$sd[removed])
#' predict(fit, missing[1:3, ], type = "completed")
#' biplot(fit)
#' @export
kh_impute <- function(x, ncomp, method = "auto", scale. = FALSE, weights = NULL, column_weights = NULL, ...,
                      threads = getOption("karhunen.threads")) {
  data <- engine_data(x)
  columns <- data$names[[2L]]
  options <- more_options(..., taken = c("n_components", "method", "scale"))
  options$n_components <- whole_number(ncomp, "ncomp")
  refuse_na(method = method)
  options$method <- method
  options$scale <- by_column(scale., "scale.", data$dim[2L], scalings)
  call <- engine_call("kh_impute", threads, columns)
  weights <- row_weights(x, weights)
  column_weights <- as_weights(column_weights, "column_weights")
  fit <- .Call(C_fit_incomplete, call, data, options, weights, column_weights)
  names <- component_names(length(fit$variance))
  convergence <- fit[c("method", "reason", "stop", "iterations", "cost", "rmse", "converged")]
  advice <- "raise max_iter or tol"
  if (nzchar(fit$apart)) {
    advice <- paste0(fit$apart, ", so another fit may be better; lower ncomp, or set n_starts to a number such as 20")
  }
  warn_unconverged(convergence, advice)
  fitted <- with_names(fit$values, data$names[[1L]], columns)
  filled <- fill_in(x, data, fitted, fit$deviations)
  out <- list(
    completed = filled$completed,
    sd = filled$sd,
    fitted = fitted,
    sdev = sqrt(fit$variance),
    rotation = with_names(fit$rotation, columns, names),
    center = stats::setNames(fit$center, columns),
    scale = if (length(fit$scale) > 0L) stats::setNames(fit$scale, columns) else FALSE,
    x = with_names(fit$scores, data$names[[1L]], names),
    feature_noise_variance = stats::setNames(fit$feature_noise_variance, columns),
    row_offsets = if (!is.null(fit$row_offsets)) stats::setNames(fit$row_offsets, data$names[[1L]])
  )
  parts <- fit[c("share", "total_variance", "noise_variance", "n", "n_observed")]
  rest <- list(convergence = convergence, call = match.call(), model = fit$model)
  structure(c(out, parts, rest), class = "kh_impute")
}

# The data with the fitted values instead of missing ones, and the standard deviations, zero where observed.
fill_in <- function(x, data, fitted, deviations) {
  if (data$form == "sparse") {
    # A stored NA is a missing value.
    observed <- !is.na(data$values)
    at <- cbind(data$i + 1L, rep(seq_len(data$dim[2L]), diff(data$p)))[observed, , drop = FALSE]
    completed <- replace(fitted, at, data$values[observed])
    sd <- if (!is.null(deviations)) replace(deviations, at, 0)
  } else {
    if (inherits(x, "Matrix")) x <- as.matrix(x)
    missing <- is.na(if (is.data.frame(x)) as.matrix(x) else x)
    completed <- x
    if (is.data.frame(x)) {
      for (j in which(colSums(missing) > 0)) completed[[j]][missing[, j]] <- fitted[missing[, j], j]
    } else {
      completed[missing] <- fitted[missing]
    }
    sd <- if (!is.null(deviations)) replace(deviations, !missing, 0)
  }
  if (!is.null(sd)) dimnames(sd) <- dimnames(fitted)
  list(completed = completed, sd = sd)
}

#' @rdname kh_impute
#' @param digits Number of significant digits to print.
#' @export
print.kh_impute <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cells <- x$n * nrow(x$rotation)
  cat(sprintf("%d of %d entries fitted (%s %%), method %s, %d components\n", as.integer(x$n_observed), as.integer(cells),
              format(100 * x$n_observed / cells, digits = 3L), x$convergence$method, length(x$sdev)))
  cat("Standard deviations of the components:\n")
  print(x$sdev, digits = digits, ...)
  cat("Standard deviation of the noise: ", format(sqrt(x$noise_variance), digits = digits), "\n", sep = "")
  cat("Root mean squared error of the observed entries: ", format(x$convergence$rmse, digits = digits), "\n", sep = "")
  invisible(x)
}

#' @rdname kh_impute
#' @param object A fit.
#' @export
summary.kh_impute <- function(object, ...) {
  object$importance <- importance_of(object$sdev, object$share, colnames(object$rotation))
  class(object) <- "summary.kh_impute"
  object
}

#' @export
print.summary.kh_impute <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print.kh_impute(x, digits = digits)
  cat("Stopped after", x$convergence$iterations, "iterations:", x$convergence$stop, "\n")
  cat("Importance of components:\n")
  print(x$importance, digits = digits, ...)
  invisible(x)
}

#' @rdname kh_impute
#' @param newdata New rows, with or without missing values.
#' @param type The scores of the rows, the rows with missing entries filled in, the values of all entries under the model, the
#'   standard deviations of what is filled in, or intervals: a list of the matrices `lower` and `upper`, which hold what is
#'   missing with probability `level`, of normal errors or, of a fit with `conformal`, of the errors of the entries held out;
#'   both are the observed value where there is one.
#' @param level A probability.
#' @export
predict.kh_impute <- function(object, newdata, type = c("scores", "completed", "fitted", "sd", "interval"), ...,
                              level = 0.95, threads = getOption("karhunen.threads")) {
  type <- match.arg(type)
  if (type %in% c("sd", "interval") && is.null(object[["sd"]])) {
    stop("the fit has no standard deviations: fit with error_bars = TRUE", call. = FALSE)
  }
  if (type == "interval") {
    values <- predict(object, newdata, type = "completed", threads = threads)
    sd <- predict(object, newdata, type = "sd", threads = threads)
    call <- engine_call("kh_impute", threads, rownames(object$rotation))
    apart <- .Call(C_interval_factor, call, object$model, as.double(level)) * sd
    return(list(lower = as.matrix(values) - apart, upper = as.matrix(values) + apart))
  }
  if (missing(newdata)) return(switch(type, scores = object$x, object[[type]]))
  columns <- rownames(object$rotation)
  data <- engine_newdata(newdata, columns, nrow(object$rotation))
  call <- engine_call("kh_impute", threads, columns)
  found <- .Call(C_incomplete_rows, call, object$model, data)
  if (type == "scores") return(with_names(found$scores, data$names[[1L]], colnames(object$rotation)))
  fitted <- with_names(found$values, data$names[[1L]], columns)
  if (type == "fitted") return(fitted)
  fill_in(in_order(newdata, columns), data, fitted, found$deviations)[[type]]
}

#' @rdname kh_impute
#' @export
fitted.kh_impute <- function(object, ...) object$fitted

#' @rdname kh_impute
#' @return `residuals` gives the observed entries less their fitted values, zero where missing.
#' @export
residuals.kh_impute <- function(object, ...) as.matrix(object$completed) - object$fitted

#' @rdname kh_impute
#' @export
plot.kh_impute <- function(x, ...) stats::screeplot(x, ...)

#' @rdname kh_impute
#' @param choices The two components of the picture.
#' @export
biplot.kh_impute <- function(x, choices = 1:2, ...) biplot_of(x, choices, ...)

# A biplot in the scaling of biplot.prcomp, which takes the parts of the fit.
biplot_of <- function(x, choices, ...) {
  if (length(x$sdev) < max(choices)) {
    stop("the fit has ", length(x$sdev), " components: a biplot shows two of them", call. = FALSE)
  }
  stats::biplot(structure(unclass(x), class = "prcomp"), choices = choices, ...)
}
