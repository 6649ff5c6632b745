source("compare.R", local = TRUE)
x <- as.matrix(iris[, 1:4])

# Complete data, least squares: the components of prcomp.
fit <- kh_impute(x, 2, method = "em", tol = 1e-14)
peer <- prcomp(x)
expect_near(aligned(fit$rotation, peer$rotation[, 1:2]), peer$rotation[, 1:2], 1e-6)
expect_near(fit$sdev, peer$sdev[1:2], 1e-8)
expect_identical(fit$completed, x)
expect_equal(fit$n_observed, 600)

# A noise variance of each column.
factors <- kh_impute(x, 1, method = "ppca", noise = "feature")
expect_true(length(factors$scale) == 4L && all(factors$scale > 0) && length(unique(factors$scale)) == 4L)

# Rank one with a missing entry: the row is twice another.
rank1 <- rbind(c(1, 2, 3), c(-1, -2, -3), c(2, NA, 6), c(-2, -4, -6))
fit <- kh_impute(rank1, 1, method = "em", error_bars = FALSE)
expect_near(fit$completed[3, 2], 4, 1e-4)
expect_null(fit$sd)
expect_error(predict(fit, rank1, type = "sd"), "no standard deviations")
expect_error(predict(fit, type = "sd"), "no standard deviations")

# Definitions of the parts, with missing entries.
set.seed(1)
removed <- sample(length(x), 60)
missing <- replace(x, removed, NA)
fit <- kh_impute(missing, 2)
model <- sweep(tcrossprod(fit$x, fit$rotation), 2, fit$center, "+")
expect_near(fit$fitted, model)
expect_identical(fit$completed[-removed], x[-removed])
expect_near(fit$completed[removed], model[removed])
expect_true(all(fit$sd[-removed] == 0) && all(fit$sd[removed] > sqrt(fit$feature_noise_variance)[col(x)[removed]]))
expect_near(crossprod(fit$rotation), diag(2))
# Sixty errors, each over its standard deviation, have a mean square within a half of one.
expect_true(abs(mean(((fit$completed - x)[removed] / fit$sd[removed])^2) - 1) < 0.5)
expect_identical(residuals(fit)[removed], rep(0, 60))
expect_near(residuals(fit)[-removed], (x - model)[-removed])
expect_identical(fitted(fit), fit$fitted)

# Rows of the fit as new rows: for least squares the scores are those that fit best.
new <- predict(fit, missing[1:10, ], type = "completed")
expect_near(new, fit$completed[1:10, ], 0.05)
expect_equal(dim(predict(fit, missing[1:10, ])), c(10L, 2L))
expect_identical(predict(fit, type = "sd"), fit$sd)
em <- kh_impute(missing, 2, method = "em", tol = 1e-12)
row <- which(rowSums(is.na(missing)) == 1)[1]
seen <- !is.na(missing[row, ])
expect_near(em$convergence$rmse, sqrt(mean((em$fitted - x)[-removed]^2)), 1e-8)
scores <- qr.solve(em$rotation[seen, ], (missing[row, ] - em$center)[seen])
expect_near(predict(em, missing[row, , drop = FALSE]), t(scores), 1e-8)

# Intervals: normal errors, and errors of entries held out.
normal <- predict(fit, type = "interval")
expect_near(normal$upper - normal$lower, 2 * qnorm(0.975) * fit$sd)
conformal <- kh_impute(missing, 2, conformal = 0.2)
# The last entry of a row is never held out.
expect_true(conformal$n_observed %in% 432:435)
inside <- function(interval) mean(interval$lower[removed] <= x[removed] & x[removed] <= interval$upper[removed])
expect_true(abs(inside(predict(conformal, missing, type = "interval", level = 0.8)) - 0.8) < 0.15)
expect_error(predict(conformal, type = "interval", level = 0.999), "up to the level 0.990")

# Starts that end apart say so: nothing ties the two halves.
set.seed(1)
apart <- matrix(rnorm(600), 200) %*% matrix(rnorm(60), 3) + 0.3 * rnorm(4000)
apart[1:100, 11:20] <- NA
apart[101:200, 1:10] <- NA
expect_warning(kh_impute(apart, 3, n_starts = NULL), "starts reached the lowest cost")

# Data frames stay data frames, with their other columns untouched and integers filled by numbers.
frame <- USArrests
frame$Assault[c(3, 7)] <- NA
fit <- kh_impute(frame, 1, scale. = TRUE)
expect_true(is.data.frame(fit$completed) && !anyNA(fit$completed))
expect_identical(fit$completed[-c(3, 7), ], within(frame, Assault <- as.double(Assault))[-c(3, 7), ])
expect_near(fit$scale, vapply(frame, sd, 0, na.rm = TRUE))
expect_equal(rownames(fit$sd), rownames(frame))
spans <- vapply(frame, function(column) diff(range(column, na.rm = TRUE)), 0)
expect_near(kh_impute(frame, 1, scale. = "range")$scale, spans)
expect_near(kh_impute(frame, 1, scale. = c(1, 2, 3, 4))$scale, 1:4)
expect_error(kh_impute(frame, 1, scale. = "none"), "scale. must be TRUE, FALSE, one of \"pareto\"")

# Weights: rows that were seen several times.
times <- rep(1:3, 50)
once <- kh_impute(missing[rep(1:150, times), ], 2, method = "em", tol = 1e-13)
weighted <- kh_impute(missing, 2, method = "em", tol = 1e-13, weights = times)
expect_near(weighted$sdev, once$sdev, 1e-5)

expect_stdout(print(fit), "198 of 200 entries fitted")
expect_stdout(print(summary(fit)), "Importance of components")
two <- kh_impute(missing, 2)
pdf(NULL)
expect_silent(biplot(two))
expect_silent(plot(two))
expect_silent(screeplot(two))
invisible(dev.off())
expect_error(biplot(fit), "two of them")
file <- tempfile()
saveRDS(two, file)
expect_identical(predict(readRDS(file), missing), predict(two, missing))

# The formula of the documentation, with every part.
w <- c(1, 2, 3, 4)
for (scaled in c(FALSE, TRUE)) for (weights in list(NULL, w)) for (offsets in c(FALSE, TRUE)) {
  fit <- kh_impute(missing, 2, method = "als", scale. = scaled, column_weights = weights, row_offsets = offsets)
  stretch <- (if (scaled) fit$scale else rep(1, 4)) / sqrt(if (is.null(weights)) rep(1, 4) else weights)
  expect_equal(length(fit$row_offsets), if (offsets) 150L else 0L)
  offset <- if (offsets) fit$row_offsets else numeric(150)
  formula <- sweep(sweep(offset + tcrossprod(fit$x, fit$rotation), 2, stretch, "*"), 2, fit$center, "+")
  expect_near(fit$fitted, formula, info = paste(scaled, length(weights), offsets))
}
