# Arguments of the engine: data without copies of their values, options by the names of its fields.

#' @useDynLib karhunen, .registration = TRUE, .fixes = "C_"
NULL

# The function that the user called and what messages of the engine need.
engine_call <- function(name, threads, columns = NULL) {
  if (!is.null(threads)) threads <- whole_number(threads, "threads")
  list("function" = name, threads = threads, columns = columns)
}

# Data in the form of the engine, with the names of rows and columns. No numbers are copied: a list in R holds references.
# Only matrices of classes that store less than a matrix (symmetric, triangular, by rows) are converted first.
engine_data <- function(x, what = "x") {
  refuse_path(x, what)
  if (is.data.frame(x)) {
    check_columns(x, what)
    names <- in_utf8(list(if (.row_names_info(x) > 0L) row.names(x), names(x)))
    if (nrow(x) > 0L && ncol(x) > 0L) {
      return(list(form = "columns", values = unclass(x), dim = dim(x), names = names))
    }
    # The engine treats it as a matrix without entries.
    x <- array(numeric(), dim(x), names)
  }
  if (inherits(x, "sparseMatrix")) {
    x <- as_dgc(x)
    return(list(form = "sparse", p = x@p, i = x@i, values = x@x, dim = dim(x), names = both_names(x)))
  }
  if (inherits(x, "dgeMatrix")) {
    return(list(form = "matrix", values = x@x, dim = dim(x), names = both_names(x)))
  }
  if (inherits(x, "Matrix") || (is.atomic(x) && !is.null(x) && is.null(dim(x)))) x <- as.matrix(x)
  if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    stop(what, " must be a numeric matrix, a data frame with numeric columns, or a matrix of the package Matrix, not ",
         if (is.matrix(x)) paste("a matrix of type", typeof(x)) else class(x)[1L], call. = FALSE)
  }
  # A matrix of integers is one vector, which the engine converts a block of rows at a time.
  form <- if (is.double(x)) "matrix" else "columns"
  list(form = form, values = if (is.double(x)) x else list(x), dim = dim(x), names = both_names(x))
}

# Refuses a path where a table is meant.
refuse_path <- function(x, what) {
  if (is.character(x) && length(x) == 1L) {
    stop(what, " is a text, not a table; if it is the path of a file, use kh_read(", deparse(as.vector(x)), ")", call. = FALSE)
  }
}

# dimnames as a list of two, either of which may be NULL.
both_names <- function(x) if (is.null(dimnames(x))) list(NULL, NULL) else in_utf8(dimnames(x))

# Names in the encoding of the engine; latin1 and others are converted.
in_utf8 <- function(names) lapply(names, function(of_axis) if (!is.null(of_axis)) enc2utf8(of_axis))

# A sparse matrix of compressed columns with a number for each entry.
as_dgc <- function(x) {
  if (inherits(x, "dgCMatrix")) return(x)
  methods::as(methods::as(methods::as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
}

# Refuses data frames with columns that are not numbers, by their names.
check_columns <- function(x, what) {
  is_number <- function(column) {
    (is.numeric(column) || is.logical(column)) && is.null(dim(column)) && !inherits(column, "integer64")
  }
  others <- !vapply(x, is_number, logical(1L))
  if (any(others)) {
    kinds <- vapply(x[others], function(column) class(column)[1L], "")
    shown <- first_few(sprintf("%s (%s)", names(x)[others], kinds))
    stop(what, " has columns that are not numeric: ", shown, "; leave them out or encode them as numbers", call. = FALSE)
  }
}

# The first few of some texts.
first_few <- function(texts, most = 8L) {
  shown <- paste(texts[seq_len(min(most, length(texts)))], collapse = ", ")
  if (length(texts) > most) paste0(shown, " and ", length(texts) - most, " more") else shown
}

# New rows for a fit: their columns in the order of the fit, found by their names if both have names.
engine_newdata <- function(newdata, columns, p) {
  refuse_path(newdata, "newdata")
  if (is.null(dim(newdata))) stop("newdata must be a matrix or a data frame", call. = FALSE)
  newdata <- in_order(newdata, columns)
  if (ncol(newdata) != p) {
    stop("newdata has ", ncol(newdata), " columns; the fit has ", p, call. = FALSE)
  }
  engine_data(newdata, "newdata")
}

# New rows with their columns in the order of the fit, found by their names if both have names and these are not the same.
in_order <- function(newdata, columns) {
  given <- colnames(newdata)
  if (!is.null(given)) given <- enc2utf8(given)
  if (is.null(columns) || is.null(given) || identical(given, columns)) return(newdata)
  missing <- setdiff(columns, given)
  if (length(missing) > 0L) {
    stop("newdata has no column ", first_few(missing), ", which the fit has", call. = FALSE)
  }
  twice <- unique(c(columns[duplicated(columns)], intersect(given[duplicated(given)], columns)))
  if (length(twice) > 0L) {
    stop("columns cannot be found by their names, because several are named ", first_few(twice),
         "; give newdata the columns of the fit in their order", call. = FALSE)
  }
  newdata[, match(columns, given), drop = FALSE]
}

# Scores for the engine: a numeric matrix with `k` columns.
engine_scores <- function(scores, k) {
  if (!is.matrix(scores) || !is.numeric(scores) || ncol(scores) != k) {
    stop("scores must be a numeric matrix with ", k, " columns, one for each component", call. = FALSE)
  }
  list(values = as.double(scores), dim = dim(scores))
}

# Options of the engine that `...` holds: every one has a name, and is none of those that have an argument.
more_options <- function(..., taken) {
  options <- list(...)
  given <- names(options)
  if (length(options) > 0L && (is.null(given) || !all(nzchar(given)))) {
    stop("further arguments are options of the engine, each with its name", call. = FALSE)
  }
  if (any(given %in% taken)) {
    stop("unused argument (", first_few(intersect(given, taken)), ")", call. = FALSE)
  }
  do.call(refuse_na, options)
  options
}

# Refuses options that are or hold NA: the engine would take it for an option that is left out.
refuse_na <- function(...) {
  options <- list(...)
  unknown <- vapply(options, function(value) (is.atomic(value) || is.list(value)) && anyNA(value, recursive = TRUE), NA)
  if (any(unknown)) {
    stop(first_few(names(options)[unknown]), " is NA; give a value, or leave it out", call. = FALSE)
  }
}

# One number, as the engine takes it.
one_number <- function(value, name) {
  if (!is.numeric(value) || length(value) != 1L || !is.finite(value)) {
    stop(name, " must be a finite number", call. = FALSE)
  }
  as.double(value)
}

# A whole number of at least `least`, as an integer.
whole_number <- function(value, name, least = 1L) {
  is_whole <- is.numeric(value) && length(value) == 1L && !is.na(value) && value == trunc(value)
  if (!is_whole || value < least || value > .Machine$integer.max) {
    stop(name, " must be a whole number of at least ", least, call. = FALSE)
  }
  as.integer(value)
}

# The rules for divisors of columns that have names.
scalings <- c("pareto", "range", "binomial")

# TRUE, FALSE, or one number for each of `p` columns, for centres and scales; a name if it is one of `named`.
by_column <- function(value, name, p, named = character()) {
  if (is.logical(value) && length(value) == 1L && !is.na(value)) return(value)
  if (is.character(value) && length(value) == 1L && value %in% named) return(value)
  if (is.numeric(value) && length(value) == p) {
    at <- which(!is.finite(value))
    if (length(at) > 0L) stop(name, "[", at[1L], "] is ", value[at[1L]], "; it must be finite", call. = FALSE)
    return(as.list(as.double(value)))
  }
  also <- if (length(named) > 0L) paste0(", one of ", paste0('"', named, '"', collapse = ", "))
  stop(name, " must be TRUE, FALSE", also, ", or have one number for each of ", p, " columns", call. = FALSE)
}

# Weights as doubles, or NULL.
as_weights <- function(weights, name) {
  if (is.null(weights)) return(NULL)
  if (!is.numeric(weights) || !is.null(dim(weights))) stop(name, " must be a numeric vector", call. = FALSE)
  as.double(weights)
}

# Weights of the rows; by default the column that was given to kh_read().
row_weights <- function(x, weights) {
  as_weights(if (is.null(weights)) attr(x, "weights", exact = TRUE) else weights, "weights")
}

# The names of k components, as prcomp gives them.
component_names <- function(k) if (k > 0L) paste0("PC", seq_len(k))

with_names <- function(matrix, rows, columns) {
  dimnames(matrix) <- if (!is.null(rows) || !is.null(columns)) list(rows, columns)
  matrix
}

# The proportions of variance of a summary, in the form of summary.prcomp.
importance_of <- function(sdev, share, names) {
  rbind("Standard deviation" = stats::setNames(sdev, names),
        "Proportion of Variance" = round(share, 5),
        "Cumulative Proportion" = round(cumsum(share), 5))
}

# A warning for components that missed the tolerance.
warn_unconverged <- function(convergence, advice) {
  if (!convergence$converged) warning("the fit did not converge: ", advice, call. = FALSE)
}
