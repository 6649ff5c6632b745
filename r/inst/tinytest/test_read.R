# Tables of files: each refusal is followed to its end, by the argument that it names.
source("compare.R", local = TRUE)

written <- function(lines) {
  path <- tempfile(fileext = ".csv")
  writeLines(lines, path)
  path
}

# Reads by an advice of the error, the first by default; fails without an error.
followed <- function(path, advice = 1L, pattern = "") {
  message <- tryCatch({ kh_read(path); "no error" }, error = conditionMessage)
  expect_true(grepl(pattern, message, fixed = TRUE), info = message)
  found <- regmatches(message, gregexpr('[a-z_]+ = (c\\([^)]*\\)|"[^"]*"|[A-Z]+|[0-9]+)', message))[[1]]
  eval(str2lang(sprintf("kh_read(path, %s)", found[advice])))
}

set.seed(1)
rows <- round(matrix(rnorm(36), 12, dimnames = list(NULL, c("a", "b", "c"))), 2)
lines <- apply(unname(rows), 1L, paste, collapse = ",")
plain <- written(c("a,b,c", lines))
expect_identical(kh_read(plain), rows)
expect_identical(kh_read(plain, threads = 1), rows)
expect_prcomp(kh_pca(kh_read(plain), scale. = TRUE), prcomp(rows, scale. = TRUE))

# Signs of numbers: both readings.
doubtful <- written(c("a;b", "1,234;2,555", "3,111;4,567"))
thousandths <- matrix(c(1.234, 3.111, 2.555, 4.567), 2, dimnames = list(NULL, c("a", "b")))
expect_identical(followed(doubtful, 1L, "line 2: the comma of `1,234`"), thousandths)
expect_identical(followed(doubtful, 2L), thousandths * 1000)
expect_identical(kh_read(written(c("a;b", "0,5;1"))), cbind(a = 0.5, b = 1))

# The first lines.
years <- written(c("id,412,443,490", paste0("s", 1:12, ",", lines)))
expect_identical(followed(years, 1L, "header = TRUE or header = FALSE"),
                 matrix(rows, 12, dimnames = list(paste0("s", 1:12), c("412", "443", "490"))))
expect_identical(unname(followed(years, 2L)), unname(rbind(c(412, 443, 490), rows)))
expect_identical(followed(written(c("Means of a year", "a,b,c", lines))), rows)
units <- written(c("a,b,c", "m,kg,s", lines))
expect_identical(followed(units, 1L, "use skip = c(2, 2) if it holds units"), rows)
expect_identical(kh_read(written(c("A title", "a,b,c", "m,kg,s", lines)), skip = list(1, c(3, 3))), rows)
expect_identical(kh_read(plain, skip = 0), rows)
marked <- c("a,b,c", lines[1:6], "# the second half", lines[7:12])
expect_identical(followed(written(marked), 1L, "comment = \"#\""), rows)
expect_identical(kh_read(written(c("1;2", "3;4")), header = FALSE, delimiter = ";"), matrix(c(1, 3, 2, 4), 2))

# Missing values, labels, weights and columns.
missing <- written(c("a,b", "1,2", "n.d.,3", "4,-", ",6"))
expect_identical(followed(missing, 1L, 'na = c("n.d.", "-")'), cbind(a = c(1, NA, 4, NA), b = c(2, 3, NA, 6)))
classes <- rep(c("x", "y"), 6)
full <- written(c("id,times,class,a,b,c", paste0("r", 1:12, ",", 12:1, ",", classes, ",", lines)))
x <- followed(full, 1L, 'labels = "class"')
expect_identical(attr(x, "labels"), data.frame(class = classes))
expect_identical(dimnames(x), list(paste0("r", 1:12), c("times", "a", "b", "c")))
x <- kh_read(full, labels = "class", weights = "times")
expect_identical(attr(x, "weights"), as.double(12:1))
expect_near(kh_pca(x, weights = attr(x, "weights"))$sdev, prcomp(rows[rep(1:12, 12:1), ])$sdev)
# Fits take them unless they are given others.
expect_identical(kh_pca(x)$sdev, kh_pca(x, weights = 12:1)$sdev)
expect_near(kh_pca(x, weights = rep(1, 12))$sdev, kh_pca(rows)$sdev)
expect_identical(kh_read(full, columns = c("c", "a"), row_names = NULL, labels = c("id", "class"))[, "a"], rows[, "a"])
expect_identical(colnames(kh_read(full, columns = c("a", "c"))), c("a", "c"))
nameless <- written(paste(lines, classes, sep = ","))
x <- kh_read(nameless, header = FALSE, labels = 4, columns = c(1, 3))
expect_identical(list(x[, ], attr(x, "labels")[[1]]), list(unname(rows[, c(1, 3)]), classes))
genes <- paste(colnames(rows), apply(rows, 2L, paste, collapse = ","), sep = ",")
turned <- written(c(paste(c("gene", paste0("s", 1:12)), collapse = ","), genes))
expect_identical(kh_read(turned, transpose = TRUE), `rownames<-`(rows, paste0("s", 1:12)))

# What is probably not meant is a warning, and followed too.
codes <- rows
codes[c(3, 5), "b"] <- -999
path <- written(c("a,b,c", apply(codes, 1L, paste, collapse = ",")))
expect_warning(x <- kh_read(path), '-999 in 2 rows of `b`: .* if they mark missing values, use na = "-999"')
expect_identical(x, codes)
expect_silent(x <- kh_read(path, na = -999))
expect_identical(x, replace(codes, codes == -999, NA))
numbered <- written(c("n,a,b,c", paste(1:12, lines, sep = ",")))
expect_warning(kh_read(numbered), 'column 1 \\(n\\) counts the rows and is fitted as a feature; .* use labels = "n"')
expect_silent(x <- kh_read(numbered, labels = "n"))
expect_identical(x[, ], rows)
both <- written(c("n,class,a,b,c", paste(1:12, classes, lines, sep = ",")))
expect_warning(kh_read(both, labels = "class"), 'use labels = c\\("class", "n"\\)')
expect_silent(x <- kh_read(both, labels = c("class", "n")))
expect_identical(x[, ], rows)
expect_warning(x <- kh_read(written(capture.output(write.csv(cor(rows))))), "symmetric.*use princomp\\(covmat = x\\)")
expect_near(princomp(covmat = x)$sdev^2, eigen(cor(rows))$values)

# Sparse, packed, and other files.
if (requireNamespace("Matrix", quietly = TRUE)) {
  sparse <- Matrix::rsparsematrix(30, 8, 0.2)
  Matrix::writeMM(sparse, path <- file.path(tempdir(), "s.mtx"))
  expect_equal(kh_read(path), sparse)
  expect_equal(kh_read(path, transpose = TRUE), Matrix::t(sparse))
  expect_near(kh_pca(kh_read(path))$sdev, prcomp(as.matrix(sparse))$sdev)
  twice <- written(c("%%MatrixMarket matrix coordinate real general", "2 2 3", "1 1 1", "2 2 3", "1 1 2"))
  expect_identical(as.matrix(kh_read(twice)), diag(3, 2))
  expect_error(kh_read(path, header = TRUE), "header does not apply to Matrix Market, .*; leave it out")
  expect_error(kh_read(path, weights = "w"), "weights with a column does not apply to Matrix Market")
}
packed <- function(open, end) {
  path <- file.path(tempdir(), paste0("t.csv", end))
  connection <- open(path, "w")
  writeLines(c("a,b,c", lines), connection)
  close(connection)
  path
}
expect_identical(kh_read(packed(gzfile, ".gz")), rows)
expect_error(kh_read(packed(gzfile, ".gz"), max_unpacked = 9), "raise the limit with max_unpacked")
path <- packed(xzfile, ".xz")
expect_error(kh_read(path), "writeLines(readLines(path), file)", fixed = TRUE)
expect_identical(kh_read(written(readLines(path))), rows)
binary <- function(...) {
  path <- file.path(tempdir(), "binary")
  writeBin(c(...), path)
  path
}
expect_error(kh_read(binary(charToRaw("PAR1"), as.raw(0:9), charToRaw("PAR1"))), "use arrow::read_parquet()", fixed = TRUE)
expect_error(kh_read(binary(charToRaw("ARROW1"), raw(9))), "use arrow::read_feather()", fixed = TRUE)
expect_error(kh_read(binary(as.raw(c(0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a)), raw(9))), "rhdf5::h5read()", fixed = TRUE)
dir.create(store <- file.path(tempdir(), "store"))
writeLines('{"zarr_format": 2}', file.path(store, ".zgroup"))
expect_error(kh_read(store), "Rarr::read_zarr_array()", fixed = TRUE)
dir.create(parts <- file.path(tempdir(), "parts"))
for (i in 1:2) writeLines(c("a,b,c", lines[6 * (i - 1) + 1:6]), file.path(parts, paste0(i, ".csv")))
expect_identical(kh_read(parts), rows)
expect_error(kh_read(sub("csv$", "cvs", plain)), paste0("; did you mean ", plain, "?"), fixed = TRUE)
expect_error(kh_read("-"), "No such file")

# Paths, and arguments of other kinds.
expect_error(kh_pca(plain), "x is a text, not a table; if it is the path of a file, use kh_read(", fixed = TRUE)
expect_error(kh_impute("t.csv", 2), 'use kh_read("t.csv")', fixed = TRUE)
expect_error(predict(kh_pca(rows), "t.csv"), 'newdata is a text, not a table; .* use kh_read\\("t.csv"\\)')
expect_error(kh_read(plain, sep = ";"), "unused argument")
expect_error(kh_read(1), "path must be one text")
expect_error(kh_read(plain, header = "no"), "header must be TRUE or FALSE")
expect_error(kh_read(plain, na = NA), "na is NA; give a value")
expect_error(kh_read(plain, labels = TRUE), "labels must be texts")
expect_error(kh_read(plain, weights = c("a", "b")), "weights must be one text")
expect_error(kh_read(plain, decimal = ".,"), "decimal must be one character")
expect_error(kh_read(plain, comment = "\u00a7"), "comment must be one character of ASCII")
expect_error(kh_read(plain, skip = 2:5), "skip must be the number of lines")
expect_error(kh_read(plain, skip = c(3, 2)), "skip must be the number of lines")
expect_error(kh_read(plain, skip = list(2, 3)), "skip must be the number of lines")
expect_error(kh_read(plain, skip = "2"), "skip must be the number of lines")
expect_error(kh_read(plain, max_unpacked = "1GB"), "max_unpacked must be a finite number")
expect_error(kh_read(plain, labels = "d"), 'labels = "d"', fixed = TRUE)

# Every option that errors of reading name is an argument, but those that the function never sets: errors of them cannot come up.
unset <- c("allow_unmatched", "double", "feature_names", "layer", "log1p", "mask", "pairs", "sample_names", "triples")
expect_identical(setdiff(.Call(karhunen:::C_read_arguments), names(formals(kh_read))), unset)
