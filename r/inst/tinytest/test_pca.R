source("compare.R", local = TRUE)
x <- as.matrix(iris[, 1:4])

# prcomp on two tables, with every kind of centre and scale.
expect_prcomp(kh_pca(x), prcomp(x), "iris")
expect_prcomp(kh_pca(iris[, 1:4]), prcomp(x), "iris, a data frame")
expect_prcomp(kh_pca(USArrests), prcomp(USArrests), "USArrests, a data frame with integers")
expect_prcomp(kh_pca(as.matrix(USArrests[, 2:3])), prcomp(USArrests[, 2:3]), "a matrix of integers")
expect_prcomp(kh_pca(USArrests, scale. = TRUE), prcomp(USArrests, scale. = TRUE), "correlations")
expect_prcomp(kh_pca(x, center = FALSE), prcomp(x, center = FALSE), "no centre")
expect_prcomp(kh_pca(x, center = FALSE, scale. = TRUE), prcomp(x, center = FALSE, scale. = TRUE), "scale about zero")
expect_prcomp(kh_pca(x, center = 1:4, scale. = c(2, 1, 3, 1)), prcomp(x, center = 1:4, scale. = c(2, 1, 3, 1)), "given")
expect_prcomp(kh_pca(x, rank. = 2), prcomp(x, rank. = 2), "two components")
expect_prcomp(kh_pca(t(x)), prcomp(t(x)), "more columns than rows")
peer <- prcomp(~ Murder + Rape, data = USArrests, scale. = TRUE)
expect_prcomp(kh_pca(~ Murder + Rape, data = USArrests, scale. = TRUE), peer, "formula")
expect_prcomp(kh_pca(x, tol = 0.2), prcomp(x, tol = 0.2), "tol")
expect_equal(ncol(kh_pca(x, tol = 0.2)$rotation), 2L)

# Shares that other functions take of the standard deviations are shares of the total.
shares <- function(fit) fit$sdev^2 / sum(fit$sdev^2)
for (solver in list(NULL, "block-krylov")) {
  expect_near(shares(kh_pca(USArrests, scale. = TRUE, rank. = 2, solver = solver)), shares(prcomp(USArrests, scale. = TRUE)))
}
expect_near(shares(kh_pca(USArrests, variance = 0.5)), shares(prcomp(USArrests)))
wide <- matrix(rnorm(1100 * 1001), 1100)
two <- kh_pca(wide, rank. = 2)
expect_equal(length(two$sdev), 1001L)
expect_near(sum(two$sdev^2), two$total_variance)
expect_near(shares(two)[1:2], two$share)

# Columns of several blocks of rows.
set.seed(3)
tall <- as.data.frame(matrix(rnorm(70000 * 5), 70000) %*% diag(c(5, 4, 3, 2, 1)))
expect_prcomp(kh_pca(tall), prcomp(tall), "two blocks of rows")

# The object stands where prcomp's does.
fit <- kh_pca(USArrests, scale. = TRUE)
peer <- prcomp(USArrests, scale. = TRUE)
expect_inherits(fit, c("kh_pca", "prcomp"))
expect_equal(dimnames(fit$rotation), dimnames(peer$rotation))
expect_equal(dimnames(fit$x), dimnames(peer$x))
expect_equal(names(fit$center), names(peer$center))
expect_equal(names(fit$scale), names(peer$scale))
expect_equal(summary(fit)$importance, summary(peer)$importance, tolerance = 1e-12)
expect_near(aligned(predict(fit, USArrests[3:1, 4:1]), predict(peer, USArrests[3:1, ])), predict(peer, USArrests[3:1, ]))
expect_equal(predict(fit), fit$x)
expect_near(predict(fit, USArrests), fit$x)
expect_near(fitted(fit), as.matrix(USArrests))
expect_near(residuals(fit, USArrests), matrix(0, 50, 4), 1e-10)
two <- kh_pca(USArrests, scale. = TRUE, rank. = 2)
rank2 <- scale(tcrossprod(peer$x[, 1:2], peer$rotation[, 1:2]), FALSE, 1 / peer$scale)
expect_near(fitted(two), sweep(rank2, 2, peer$center, "+"))
expect_near(residuals(two, USArrests), as.matrix(USArrests) - fitted(two))
expect_near(sum(two$share), sum(peer$sdev[1:2]^2) / 4)
expect_near(two$total_variance, 4)
expect_near(two$noise_variance, mean(peer$sdev[3:4]^2))
expect_true(any(grepl("Share of the total variance", capture.output(print(two)))))
expect_stdout(print(summary(two)), "Cumulative Proportion")
expect_equal(kh_pca(USArrests, variance = 0.8, scale. = TRUE)$sdev, two$sdev, tolerance = 1e-12)
pdf(NULL)
expect_silent(biplot(fit))
expect_silent(plot(fit))
expect_silent(screeplot(fit, type = "lines"))
invisible(dev.off())

# Frequency weights: repeated rows. Importance weights: a factor changes nothing.
times <- rep(c(1, 0, 2, 3, 1), 10)
repeated <- USArrests[rep(1:50, times), ]
weighted <- kh_pca(USArrests, weights = times, scale. = TRUE)
peer <- prcomp(repeated, scale. = TRUE)
expect_near(weighted$sdev, peer$sdev)
expect_near(aligned(weighted$rotation, peer$rotation), peer$rotation)
expect_equal(weighted$center, peer$center)
expect_equal(weighted$scale, peer$scale)
expect_equal(weighted$sum_of_weights, sum(times))
halves <- kh_pca(USArrests, weights = times / 2, weighting = "importance")
expect_near(halves$sdev, kh_pca(USArrests, weights = times, weighting = "importance")$sdev)
columns <- c(1, 4, 0, 2)
stretched <- sweep(scale(USArrests, scale = FALSE), 2, sqrt(columns), "*")
expect_near(kh_pca(USArrests, column_weights = columns, rank. = 3)$sdev, prcomp(stretched)$sdev, 1e-7)

# Every solver, and the residuals that it reports.
for (solver in c("covariance", "gram", "svd", "block-krylov")) {
  fit <- kh_pca(t(x), rank. = 2, solver = solver)
  expect_equal(fit$convergence$solver, solver)
  expect_near(fit$sdev, prcomp(t(x))$sdev, info = solver)
  expect_true(fit$convergence$converged && all(fit$convergence$residuals <= 1e-8))
}

# No new rows have no scores.
for (none in list(USArrests[0, ], as.matrix(USArrests)[0, ])) {
  expect_equal(dim(predict(two, none)), c(0L, 2L))
  expect_equal(dim(residuals(two, none)), c(0L, 4L))
}

# The same bits on any number of threads, and after saveRDS.
expect_identical(kh_pca(tall, threads = 1)[1:5], kh_pca(tall, threads = 3)[1:5])
file <- tempfile()
saveRDS(fit, file)
expect_identical(predict(readRDS(file), t(x)), predict(fit, t(x)))

# The given data are not changed.
before <- x + 0
invisible(kh_pca(x, scale. = TRUE))
expect_identical(x, before)

# As many components as there are, as prcomp keeps.
expect_prcomp(kh_pca(x, rank. = 9), prcomp(x, rank. = 9), "rank. beyond the rank")

# Columns of new rows whose names occur twice are taken in their order, or refused.
twice <- x
colnames(twice) <- c("a", "a", "b", "c")
fit <- kh_pca(twice, rank. = 2)
named <- kh_pca(x, rank. = 2)
expect_near(residuals(fit, twice[1:5, ]), residuals(named, x[1:5, ]))
expect_near(predict(fit, twice[1:5, ]), predict(named, x[1:5, ]))
expect_error(predict(fit, twice[, 4:1]), "several are named a; give newdata the columns of the fit in their order")
expect_near(residuals(named, x[1:5, 4:1]), residuals(named, x[1:5, ]))
filled <- kh_impute(twice, 2, method = "em")
expect_near(predict(filled, twice[1:5, ], type = "completed"), x[1:5, ])

# na.exclude keeps the rows that it leaves out as NA, na.omit does not.
gaps <- as.data.frame(x)
gaps[c(3, 50), 2] <- NA
formula <- ~ Sepal.Length + Sepal.Width + Petal.Length
padded <- kh_pca(formula, data = gaps, na.action = na.exclude)
peer <- prcomp(formula, data = gaps, na.action = na.exclude)
expect_equal(dim(padded$x), dim(peer$x))
expect_identical(which(is.na(padded$x[, 1])), which(is.na(peer$x[, 1])))
expect_identical(rownames(padded$x), rownames(peer$x))
expect_near(aligned(padded$x[-c(3, 50), ], peer$x[-c(3, 50), ]), peer$x[-c(3, 50), ])
expect_near(fitted(padded)[-c(3, 50), ], x[-c(3, 50), 1:3])
expect_true(all(is.na(fitted(padded)[c(3, 50), ])))
expect_equal(predict(padded, gaps), padded$x, check.attributes = FALSE)
expect_identical(rownames(predict(padded, gaps[48:52, 3:1])), as.character(48:52))
left <- residuals(padded, gaps[, 1:3])
expect_true(all(is.na(left[c(3, 50), ])))
expect_near(left[-c(3, 50), ], matrix(0, 148, 3), 1e-10)
expect_true(all(is.na(predict(padded, gaps[c(3, 50), ]))))
omitted <- kh_pca(formula, data = gaps, na.action = na.omit)
expect_error(predict(omitted, gaps), "row 3, column 2 (Sepal.Width) is NA", fixed = TRUE)
expect_equal(nrow(omitted$x), 148L)

# Names in another encoding.
latin1 <- x[, 1:2]
colnames(latin1) <- c("l\xe4nge", "breite")
Encoding(colnames(latin1)) <- "latin1"
fit <- kh_pca(latin1)
expect_equal(rownames(fit$rotation), c("l\u00e4nge", "breite"))
expect_near(predict(fit, latin1[1:3, 2:1]), fit$x[1:3, ])
