#' Principal component analysis
#'
#' Fits principal components to a matrix, a data frame or a sparse matrix, with weights of rows and columns. The result has
#' the parts of [stats::prcomp()] and may stand in its place: `print`, `summary`, `predict`, `biplot`, `plot` and
#' `screeplot` work.
#'
#' Dense and sparse matrices are read where they are: centring and scaling happen inside the products, so that sparse data
#' stay sparse. Data frames are copied a block of rows at a time.
#'
#' A row of weight 3 counts as three equal rows (`weighting = "frequency"`, the divisor of variances is the sum of the
#' weights minus one). With `"importance"` a constant factor of the weights changes nothing; with `"population"` the
#' divisor is their sum. Frequencies that are not whole numbers give a warning: weights of a survey need `"importance"`.
#'
#' As of `prcomp`, `sdev` has all standard deviations, of which other functions take shares. If fewer components are kept than
#' n and p allow, the others take a second fit; where these are more than 1,000, the others are equal and have the sum of the
#' variances that are left out. In every column of `rotation` the entry of largest absolute value is positive. A constant column that `scale. = TRUE` cannot scale is divided by one.
#'
#' The fit stops on an interrupt (Ctrl-C, Esc).
#'
#' @param x A numeric matrix, a data frame with numeric columns, or a matrix of the package \pkg{Matrix}; (n, p). Columns of
#'   another kind are an error that names them, and so are missing values, which [kh_impute()] takes. `print`: the fit.
#' @param ... Of the formula method, arguments of the default method. Of the default method, options of the engine:
#'   `max_iter`, `block_size`, `memory_limit` (bytes), `seed`, `strict`.
#' @param rank. Number of components to keep, at most the smaller of n and p; all if `NULL`.
#' @param center `TRUE` to subtract the (weighted) mean of each column, `FALSE`, or one number for each column.
#' @param scale. `TRUE` to divide each column by its standard deviation, `FALSE`, one number for each column, or one of
#'   `"pareto"` (the square root of the standard deviation), `"range"` (the largest less the smallest value) and `"binomial"`
#'   (for counts of alleles).
#' @param weights One weight for each row, at least zero.
#' @param column_weights One weight for each column, at least zero: a standardized column is multiplied by its square root.
#' @param weighting The meaning of `weights`: see Details.
#' @param retx If `TRUE`, the scores of the rows are computed too, as `x` of the result.
#' @param tol As of `prcomp`: components whose standard deviation is at most `tol` times the first are left out.
#' @param variance A share of the variance, greater than 0 and at most 1: keeps the fewest components that explain more.
#'   Excludes `rank.`.
#' @param solver The algorithm, `NULL` for a choice by predicted time and memory: `"covariance"`, `"gram"`, `"svd"` or
#'   `"block-krylov"`.
#' @param residual_tol The tolerance of the residuals of an iterative solver, relative to the largest variance; 1e-8 if
#'   `NULL`.
#' @param threads Number of threads; all processors if `NULL`. The result has the same bits for every number.
#'
#' @return An object of the classes `kh_pca` and `prcomp`, a list of
#' \item{sdev}{all standard deviations, (the smaller of n and p); the first k belong to the components that are kept}
#' \item{rotation}{the components as orthonormal columns, (p, k)}
#' \item{center, scale}{the numbers subtracted from and dividing the columns, or `FALSE`, (p)}
#' \item{x}{scores of the rows, (n, k), if `retx`}
#' \item{share}{share of the total variance that each component explains, (k)}
#' \item{total_variance}{the sum of all variances}
#' \item{noise_variance}{the mean of the variances that are left out}
#' \item{weights, column_weights, weighting}{as given}
#' \item{n}{number of rows}
#' \item{sum_of_weights}{the sum of the weights; n without weights}
#' \item{convergence}{the solver, the reason for its choice, the number of passes over the data, the residual
#'   `|S w - lambda w| / lambda_1` of every component, the tolerance, and whether all are within it}
#' \item{call}{the call}
#' \item{model}{the fitted model of the engine, which `saveRDS` keeps}
#'
#' @seealso [kh_read()] for files, [kh_impute()] for missing values, [kh_kpca()] for kernels, [stats::prcomp()].
#' @examples
#' fit <- kh_pca(USArrests, scale. = TRUE)
#' fit
#' summary(fit)
#' head(predict(fit, USArrests[1:3, ]))
#' biplot(fit)
#' screeplot(fit)
#'
#' # Two components, with the second half of the rows counted twice.
#' kh_pca(USArrests, rank. = 2, weights = rep(1:2, each = 25))
#'
#' # By a formula, without a column.
#' kh_pca(~ Murder + Assault + Rape, data = USArrests, scale. = TRUE)
#'
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   x <- Matrix::rsparsematrix(1000, 100, density = 0.02)
#'   kh_pca(x, rank. = 3)
#' }
#' @export
kh_pca <- function(x, ...) UseMethod("kh_pca")

#' @rdname kh_pca
#' @export
kh_pca.default <- function(x, rank. = NULL, center = TRUE, scale. = FALSE, weights = NULL, column_weights = NULL,
                           weighting = c("frequency", "importance", "population"), retx = TRUE, tol = NULL,
                           variance = NULL, solver = NULL, residual_tol = NULL,
                           threads = getOption("karhunen.threads"), ...) {
  data <- engine_data(x)
  columns <- data$names[[2L]]
  refuse_na(weighting = weighting, retx = retx, solver = solver, residual_tol = residual_tol)
  weighting <- match.arg(weighting)
  options <- more_options(..., taken = c("n_components", "center", "scale", "weighting"))
  options$n_components <- components_to_keep(rank., variance, min(data$dim))
  options$center <- by_column(center, "center", data$dim[2L])
  options$scale <- by_column(scale., "scale.", data$dim[2L], scalings)
  options$weighting <- weighting
  options$solver <- solver
  options$tol <- residual_tol
  if (!is.null(tol) && !(is.numeric(tol) && length(tol) == 1L && !is.na(tol) && tol >= 0)) {
    stop("tol must be a number of at least 0", call. = FALSE)
  }
  call <- engine_call("kh_pca", threads, columns)
  weights <- row_weights(x, weights)
  column_weights <- as_weights(column_weights, "column_weights")
  fit <- .Call(C_fit_pca, call, data, options, weights, column_weights, if (!is.null(tol)) as.double(tol))
  refit <- function() {
    options$n_components <- "all"
    options$solver <- NULL
    .Call(C_fit_pca, call, data, options, weights, column_weights, NULL)
  }
  names <- component_names(length(fit$variance))
  convergence <- fit[c("solver", "reason", "n_passes", "residuals", "tol", "converged")]
  warn_unconverged(convergence, fit$advice)
  if (nzchar(fit$note)) warning(fit$note, call. = FALSE)
  out <- list(
    sdev = all_sdev(fit, min(data$dim), refit),
    rotation = with_names(fit$rotation, columns, names),
    center = if (isFALSE(center)) FALSE else stats::setNames(fit$center, columns),
    scale = if (isFALSE(scale.)) FALSE else stats::setNames(fit$scale, columns)
  )
  if (retx) out$x <- with_names(.Call(C_pca_scores, call, fit$model, data), data$names[[1L]], names)
  parts <- fit[c("share", "total_variance", "noise_variance", "n", "sum_of_weights")]
  user_call <- match.call()
  user_call[[1L]] <- quote(kh_pca)
  given <- list(weights = weights, column_weights = column_weights, weighting = weighting)
  rest <- list(convergence = convergence, call = user_call, model = fit$model)
  structure(c(out, parts, given, rest), class = c("kh_pca", "prcomp"))
}

#' @rdname kh_pca
#' @param formula A formula with no response, such as `~ a + b`.
#' @param data,subset,na.action As of [stats::prcomp()].
#' @export
kh_pca.formula <- function(formula, data = NULL, subset, na.action, ...) {
  frame_call <- user_call <- match.call()
  user_call[[1L]] <- quote(kh_pca)
  terms <- stats::terms(formula, data = data)
  if (attr(terms, "response") > 0L) stop("formula must have no response, as ~ a + b", call. = FALSE)
  frame_call$... <- NULL
  frame_call[[1L]] <- quote(stats::model.frame)
  frame_call <- frame_call[c(1L, match(c("formula", "data", "subset", "na.action"), names(frame_call), 0L))]
  frame <- eval.parent(frame_call)
  check_columns(frame, "data")
  terms <- attr(frame, "terms")
  attr(terms, "intercept") <- 0L
  fit <- kh_pca.default(stats::model.matrix(terms, frame), ...)
  fit$call <- user_call
  omitted <- attr(frame, "na.action")
  if (!is.null(omitted)) {
    fit$na.action <- omitted
    # As prcomp: na.exclude gives scores NA in the rows that were left out.
    if (!is.null(fit$x)) fit$x <- stats::napredict(omitted, fit$x)
  }
  fit
}

# All standard deviations, at most `most`, of a fit that keeps the first; `refit` fits all components.
all_sdev <- function(fit, most, refit) {
  k <- length(fit$variance)
  left_out <- most - k
  if (left_out <= 0L) return(sqrt(fit$variance))
  rest <- if (most <= 1000L) {
    refit()$variance[k + seq_len(left_out)]
  } else {
    rep((fit$total_variance - sum(fit$variance)) / left_out, left_out)
  }
  sqrt(c(fit$variance, pmax(rest, 0)))
}

# The number of components as the engine takes it, of at most `most`.
components_to_keep <- function(rank., variance, most) {
  if (!is.null(rank.) && !is.null(variance)) {
    stop("rank. and variance exclude each other: give one of them", call. = FALSE)
  }
  if (!is.null(rank.)) return(list(count = min(whole_number(rank., "rank."), most)))
  if (is.null(variance)) return("all")
  if (!is.numeric(variance) || length(variance) != 1L || !is.finite(variance)) {
    stop("variance must be a number greater than 0 and at most 1", call. = FALSE)
  }
  list(variance = as.double(variance))
}

#' @rdname kh_pca
#' @param digits Number of significant digits to print.
#' @export
print.kh_pca <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  k <- ncol(x$rotation)
  cat(sprintf("Standard deviations (1, .., p=%d):\n", length(x$sdev)))
  print(x$sdev, digits = digits, ...)
  cat(sprintf("\nRotation (n x k) = (%d x %d):\n", nrow(x$rotation), k))
  print(x$rotation, digits = digits, ...)
  if (k > 0L && sum(x$share) < 1 - 1e-12) {
    cat("\nShare of the total variance: ", format(sum(x$share), digits = digits), "\n", sep = "")
  }
  invisible(x)
}

#' @rdname kh_pca
#' @param object A fit.
#' @export
summary.kh_pca <- function(object, ...) {
  object$importance <- importance_of(object$sdev[seq_along(object$share)], object$share, colnames(object$rotation))
  class(object) <- c("summary.kh_pca", "summary.prcomp")
  object
}

#' @rdname kh_pca
#' @param newdata New rows, whose columns are found by their names if both have names; the scores of the fit if missing. If
#'   `na.exclude` left rows out of the fit, rows with missing values give `NA`, otherwise they are an error.
#' @export
predict.kh_pca <- function(object, newdata, ..., threads = getOption("karhunen.threads")) {
  if (missing(newdata)) {
    if (is.null(object$x)) stop("the fit kept no scores (retx = FALSE): give newdata", call. = FALSE)
    return(object$x)
  }
  columns <- rownames(object$rotation)
  if (inherits(object$na.action, "exclude") && (is.data.frame(newdata) || is.matrix(newdata))) {
    newdata <- in_order(newdata, columns)
    left_out <- !stats::complete.cases(newdata)
    if (any(left_out)) {
      scores <- matrix(NA_real_, nrow(newdata), ncol(object$rotation))
      known <- predict(object, newdata[!left_out, , drop = FALSE], ..., threads = threads)
      scores[!left_out, ] <- known
      rows <- if (!is.null(rownames(known))) rownames(newdata)
      return(with_names(scores, rows, colnames(object$rotation)))
    }
  }
  data <- engine_newdata(newdata, columns, nrow(object$rotation))
  call <- engine_call("kh_pca", threads, columns)
  with_names(.Call(C_pca_scores, call, object$model, data), data$names[[1L]], colnames(object$rotation))
}

#' @rdname kh_pca
#' @param scores Scores, (n, k), by default from the fit.
#' @return `fitted` gives the rows that the kept components make of the scores, `residuals` what they leave of `newdata`.
#' @export
fitted.kh_pca <- function(object, scores = object$x, ..., threads = getOption("karhunen.threads")) {
  if (is.null(scores)) stop("the fit kept no scores (retx = FALSE): give scores", call. = FALSE)
  columns <- rownames(object$rotation)
  call <- engine_call("kh_pca", threads, columns)
  k <- ncol(object$rotation)
  # Rows that na.exclude left out have no scores.
  pads <- inherits(object$na.action, "exclude") && is.matrix(scores) && is.numeric(scores)
  left_out <- if (pads) rowSums(is.na(scores)) > 0 else FALSE
  if (any(left_out)) {
    rows <- matrix(NA_real_, nrow(scores), nrow(object$rotation))
    rows[!left_out, ] <- .Call(C_pca_rows, call, object$model, engine_scores(scores[!left_out, , drop = FALSE], k))
  } else {
    rows <- .Call(C_pca_rows, call, object$model, engine_scores(scores, k))
  }
  with_names(rows, rownames(scores), columns)
}

#' @rdname kh_pca
#' @export
residuals.kh_pca <- function(object, newdata, ...) {
  if (missing(newdata)) stop("the fit keeps no data: give them as newdata", call. = FALSE)
  fitted <- fitted(object, predict(object, newdata, ...), ...)
  columns <- colnames(fitted)
  as.matrix(in_order(newdata, columns)) - fitted
}
