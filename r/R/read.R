#' Read a table
#'
#' Reads the numbers of a file as a matrix for [kh_pca()], [kh_impute()] and [kh_kpca()]. A text table has one meaning, or the
#' error shows the line, says which two it could have, and names the argument that decides: no first line is taken for names, no
#' comma for a decimal sign and no word for a missing value without a reason in the file. The rules are the same on the command
#' line and in Python.
#'
#' The format follows from the content: text tables with any delimiter, NPY and NPZ arrays, Matrix Market, PLINK .bed files, and
#' folders of Cell Ranger. Files may be packed with gzip or zip, and a folder of text tables or NPY arrays is read as one table.
#' The error for Parquet, Arrow, HDF5, Zarr, zstd, xz and bzip2 names what reads or unpacks them. An argument that the format does
#' not have is an error.
#'
#' What is probably not meant comes as a warning, which changes nothing: codes such as -999 far outside a column, a last row of
#' totals, columns that count the rows or hold ids or classes, a table that looks like a matrix of correlations.
#'
#' The result is a matrix and not a data frame, because the fits read a matrix where it is and copy a data frame.
#'
#' @param path The path of a file or folder.
#' @param header `TRUE` if the first line of a text table holds names, `FALSE` if it holds values; `NULL` to go by its content.
#' @param delimiter The delimiter of a text table, one or a few characters; `" "` for any blanks.
#' @param decimal,thousands The decimal sign, `"."` or `","`, and the sign that groups the thousands.
#' @param comment Lines that begin with this character are comments; `NULL` for none. `"auto"` takes `"#"` above the table.
#' @param skip Lines to leave out: a number of lines at the top; `c(first, last)` for lines directly below the names, such as
#'   `c(2, 2)` for units in line 2; or a list of both.
#' @param na Words and numbers for missing values; the empty cell, NA, N/A, NaN and null in any case always are.
#' @param row_names The column that names the rows; `NULL` for none. `"auto"` takes a first column of texts that differ.
#' @param labels,columns Columns that are not features, and the columns to read, where others are left out: by name, or
#'   by number where the table has no names.
#' @param weights The column of the weights of the rows.
#' @param transpose If `TRUE`, rows and columns are swapped.
#' @param array The array of an NPZ archive.
#' @param max_unpacked The most bytes of a file once it is unpacked; 16 GiB if `NULL`.
#' @param threads Number of threads; all processors if `NULL`.
#'
#' @return A numeric matrix, with `NA` where a value is missing and with the names of rows and columns that the file has; a
#'   `dgCMatrix` of the package \pkg{Matrix} if the file holds a sparse matrix. Its attribute `labels` is a data frame of the
#'   columns `labels`, with the texts of the file; its attribute `weights` has the numbers of the column `weights`, which fits
#'   of the matrix take unless they are given others (`x[1:10, ]` drops attributes).
#'
#' @seealso [kh_pca()], [kh_impute()] and [kh_kpca()], which take the result.
#' @examples
#' path <- tempfile(fileext = ".csv")
#' write.csv(iris, path, row.names = FALSE)
#' # A column of text is not dropped: the error names the argument that it needs.
#' try(kh_read(path))
#' x <- kh_read(path, labels = "Species")
#' fit <- kh_pca(x, scale. = TRUE)
#' table(attr(x, "labels")$Species)
#' unlink(path)
#' @export
kh_read <- function(path, header = NULL, delimiter = NULL, decimal = NULL, thousands = NULL, comment = "auto", skip = NULL,
                    na = NULL, row_names = "auto", labels = NULL, columns = NULL, weights = NULL, transpose = FALSE,
                    array = NULL, max_unpacked = NULL, threads = getOption("karhunen.threads")) {
  if (!is.character(path) || length(path) != 1L || is.na(path)) stop("path must be one text", call. = FALSE)
  if (!is.null(max_unpacked)) max_unpacked <- one_number(max_unpacked, "max_unpacked")
  options <- list(
    header = one_flag(header, "header"), delimiter = as_words(delimiter, "delimiter", 1L),
    decimal = one_sign(decimal, "decimal"), thousands = one_sign(thousands, "thousands"),
    comment = one_sign(comment, "comment", "auto"), skip = skipped_lines(skip), na = as_words(na, "na"),
    row_names = as_words(row_names, "row_names", 1L), labels = as_words(labels, "labels"),
    columns = as_words(columns, "columns"), weights = as_words(weights, "weights", 1L),
    transpose = one_flag(transpose, "transpose"), array = as_words(array, "array", 1L),
    max_unpacked = as_words(max_unpacked, "max_unpacked", 1L)
  )
  # R has its own standard input.
  path <- if (path == "-") "./-" else enc2utf8(path.expand(path))
  aside <- new.env()
  x <- .Call(C_read_table, engine_call("kh_read", threads), path, options, aside)
  for (note in aside$notes) warning(path, ": ", note, call. = FALSE)
  if (is.list(x)) sparse_of(x) else x
}

# Texts for an option, numbers among them; none for NULL.
as_words <- function(value, name, most = Inf) {
  do.call(refuse_na, stats::setNames(list(value), name))
  if (is.numeric(value)) value <- sprintf("%.15g", value)
  if (!is.null(value) && !is.character(value) || length(value) > most) {
    stop(name, " must be ", if (most == 1) "one text" else "texts", call. = FALSE)
  }
  enc2utf8(as.character(value))
}

# One character, or `word`; none for NULL.
one_sign <- function(value, name, word = NULL) {
  text <- as_words(value, name, 1L)
  # A comment is found by its first byte.
  is_mark <- name == "comment"
  if (length(text) > 0L && !text %in% word && nchar(text, if (is_mark) "bytes" else "chars") != 1L) {
    stop(name, " must be one character", if (is_mark) " of ASCII", call. = FALSE)
  }
  text
}

# TRUE or FALSE as a text; none for NULL.
one_flag <- function(value, name) {
  if (!is.null(value) && !isTRUE(value) && !isFALSE(value)) stop(name, " must be TRUE or FALSE", call. = FALSE)
  as.character(value)
}

# The first and the last line of each run of lines to leave out, as texts.
skipped_lines <- function(skip) {
  runs <- if (is.list(skip)) skip else list(skip)
  runs <- runs[lengths(runs) > 0L & !vapply(runs, function(run) is.numeric(run) && identical(as.double(run), 0), NA)]
  at_top <- lengths(runs) == 1L
  runs[at_top] <- lapply(runs[at_top], function(number) if (is.numeric(number)) c(1, number))
  is_run <- function(run) {
    is.numeric(run) && length(run) == 2L && all(is.finite(run) & run == trunc(run) & run >= 1) && run[1L] <= run[2L]
  }
  if (sum(at_top) > 1L || !all(vapply(runs, is_run, NA))) {
    stop("skip must be the number of lines to leave out at the top, or c(first, last) for lines directly below the names, ",
         "or a list of these", call. = FALSE)
  }
  sprintf("%.0f", as.double(unlist(runs)))
}

# A sparse matrix of its parts: a matrix that is compressed by rows is the transpose of one that is compressed by columns.
sparse_of <- function(parts) {
  if (!requireNamespace("Matrix", quietly = TRUE)) {
    stop("the file holds a sparse matrix, which needs the package Matrix: install.packages(\"Matrix\")", call. = FALSE)
  }
  turned <- if (parts$by_rows) rev else identity
  x <- methods::new("dgCMatrix", p = parts$p, i = parts$i, x = parts$x, Dim = turned(parts$dim),
                    Dimnames = turned(parts$names))
  if (parts$by_rows) Matrix::t(x) else x
}
