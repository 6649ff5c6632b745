source("compare.R", local = TRUE)
x <- as.matrix(iris[1:60, 1:4])

# The definition: eigenvectors of the centred kernel matrix.
kernel <- exp(-0.2 * as.matrix(dist(x))^2)
centred <- scale(t(scale(kernel, scale = FALSE)), scale = FALSE)
peer <- eigen(centred, symmetric = TRUE)
scores <- peer$vectors[, 1:3] * rep(sqrt(peer$values[1:3]), each = 60)
fit <- kh_kpca(x, 3, gamma = 0.2)
expect_near(fit$eigenvalues, peer$values[1:3])
expect_near(aligned(fit$x, scores), scores)
expect_near(fit$share, peer$values[1:3] / sum(diag(centred)))
expect_near(fit$sdev, sqrt(colMeans(fit$x^2)))
expect_near(predict(fit, x[5:1, ]), fit$x[5:1, ])
expect_near(kh_kpca(kernel, 3, kernel = "precomputed")$eigenvalues, peer$values[1:3])

# The linear kernel is PCA itself; polynomials have all of their parameters.
linear <- kh_kpca(x, 2, kernel = "linear")
expect_near(abs(linear$x), abs(prcomp(x)$x[, 1:2]))
cubic <- (0.5 * tcrossprod(x) + 2)^2
expect_near(kh_kpca(x, 2, kernel = "polynomial", gamma = 0.5, degree = 2, coef0 = 2)$x,
            kh_kpca(cubic, 2, kernel = "precomputed")$x, 1e-8)
expect_equal(kh_kpca(x, 2)$gamma, 1 / 4)
expect_equal(kh_kpca(x, 2, gamma = "median")$gamma, 1 / median(dist(x)^2), tolerance = 1e-12)

# Weights count rows.
times <- rep(1:2, 30)
expect_near(kh_kpca(x, 2, gamma = 0.2, weights = times)$eigenvalues,
            kh_kpca(x[rep(1:60, times), ], 2, gamma = 0.2)$eigenvalues)

# Pre-images of the scores lie near the rows.
image <- fitted(kh_kpca(x, 4, gamma = 0.2, pre_image = "auto"))
expect_equal(dimnames(image), dimnames(x))
expect_true(mean((image - x)^2) < 0.2 * mean(scale(x, scale = FALSE)^2))

expect_stdout(print(fit), "kernel rbf, gamma 0.2, 3 components")
expect_stdout(print(summary(fit)), "Importance of components")
pdf(NULL)
expect_silent(plot(fit))
invisible(dev.off())
file <- tempfile()
saveRDS(fit, file)
expect_identical(predict(readRDS(file), x), predict(fit, x))
expect_error(kh_kpca(x, kernel = "gauss"), "kernel must be one of")
expect_error(kh_kpca(x, kernel = "cosine", gamma = 1), "has no gamma")
expect_error(kh_kpca(x, 61), "ncomp = 61 must be between 1 and 60")
