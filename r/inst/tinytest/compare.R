# Comparisons that both fits and their tests need. Two thousand roundings of doubles bound the differences of decompositions
# of these small tables.
TOL <- 1e-10

# Components with the signs of others, column by column.
aligned <- function(a, b) a * rep(sign(colSums(a * b)), each = nrow(a))

expect_near <- function(a, b, tol = TOL, info = NULL) {
  a <- unname(as.matrix(a))
  b <- unname(as.matrix(b))
  gap <- if (identical(dim(a), dim(b))) max(abs(a - b), 0) / max(abs(b), 1) else Inf
  expect_true(!is.na(gap) && gap <= tol, info = paste(info, "gap", format(gap)))
}

# Equality with a fit of prcomp, up to signs.
expect_prcomp <- function(fit, peer, info = NULL) {
  # Components without variance have any direction.
  expect_near(fit$sdev, peer$sdev, info = paste(info, "sdev"))
  k <- sum(fit$sdev[seq_len(ncol(fit$rotation))] > 1e-8 * fit$sdev[1])
  expect_near(aligned(fit$rotation[, seq_len(k)], peer$rotation[, seq_len(k)]), peer$rotation[, seq_len(k)], info = paste(info, "rotation"))
  expect_near(aligned(fit$x[, seq_len(k)], peer$x[, seq_len(k)]), peer$x[, seq_len(k)], info = paste(info, "x"))
  expect_near(fit$center, peer$center, 1e-13, info = paste(info, "center"))
  expect_near(fit$scale, peer$scale, 1e-13, info = paste(info, "scale"))
}
