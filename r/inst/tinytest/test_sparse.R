source("compare.R", local = TRUE)
if (!requireNamespace("Matrix", quietly = TRUE)) exit_file("Matrix is not installed")
set.seed(1)
x <- Matrix::rsparsematrix(120, 30, density = 0.1)
dense <- as.matrix(x)

expect_prcomp(kh_pca(x, rank. = 5, solver = "block-krylov", residual_tol = 1e-13), prcomp(dense), "block Krylov")
expect_prcomp(kh_pca(x), prcomp(dense), "dgCMatrix")
expect_prcomp(kh_pca(x, scale. = TRUE), prcomp(dense, scale. = TRUE), "scaled")
expect_prcomp(kh_pca(Matrix::t(x)), prcomp(t(dense)), "wide")
expect_prcomp(kh_pca(methods::as(x, "RsparseMatrix")), prcomp(dense), "dgRMatrix")
expect_prcomp(kh_pca(methods::as(x, "TsparseMatrix")), prcomp(dense), "dgTMatrix")
expect_prcomp(kh_pca(x != 0), prcomp(dense != 0), "lgCMatrix")
expect_prcomp(kh_pca(Matrix::crossprod(x)), prcomp(crossprod(dense)), "dsCMatrix")
expect_prcomp(kh_pca(methods::as(dense, "unpackedMatrix")), prcomp(dense), "dgeMatrix")
expect_prcomp(kh_pca(Matrix::crossprod(methods::as(dense, "unpackedMatrix"))), prcomp(crossprod(dense)), "dpoMatrix")

fit <- kh_pca(x, rank. = 3)
expect_near(predict(fit, x[1:7, ]), fit$x[1:7, ])
expect_near(predict(fit, dense), fit$x)
expect_near(residuals(fit, x), dense - fitted(fit))

# Weights of rows, and the missing entries of a sparse matrix.
times <- rep(1:3, 40)
expect_near(kh_pca(x, weights = times)$sdev, prcomp(dense[rep(1:120, times), ])$sdev)
from_sparse <- kh_impute(x, 2)
complete <- kh_impute(replace(dense, dense == 0, NA), 2)
expect_near(from_sparse$fitted, complete$fitted)
expect_near(from_sparse$completed, complete$completed)
expect_near(from_sparse$sd, complete$sd)

# A stored NA is a missing value.
with_na <- Matrix::rsparsematrix(30, 6, density = 0.4)
with_na@x[3] <- NA
fit <- kh_impute(with_na, 1)
expect_false(anyNA(fit$completed))
