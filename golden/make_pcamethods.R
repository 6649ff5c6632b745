# Writes golden/pcamethods.json: R2cum, R2VX and Q2 of pcaMethods. Run from the root of the repository, with the packages
# pcaMethods (Bioconductor) and jsonlite:
#   Rscript golden/make_pcamethods.R
# Q2(type = "impute") holds out diagonals of the table; each repetition takes them from another order of the rows and columns.
# Each number of components has a fit of its own, by probabilistic PCA.

suppressMessages(library(pcaMethods))
library(jsonlite)
set.seed(0)

repetitions <- 10
most <- 6
cases <- list()
for (case in list(
  # The folds are of equal size.
  list(file = "examples/data/wine.csv", drop = "class", n_rows = 175, fold = 7, scale = "uv"),
  list(file = "examples/data/metabolite_complete.csv", drop = NULL, n_rows = 154, fold = 7, scale = "none")
)) {
  table <- read.csv(case$file, check.names = FALSE)
  x <- as.matrix(table[seq_len(case$n_rows), setdiff(names(table), case$drop)])
  all <- pca(x, method = "svd", nPcs = ncol(x), scale = case$scale)
  q2 <- matrix(NA, most, repetitions)
  for (r in seq_len(repetitions)) {
    order <- x[sample(nrow(x)), sample(ncol(x))]
    for (k in seq_len(most)) {
      fit <- pca(order, method = "ppca", nPcs = k, scale = case$scale, seed = r)
      q2[k, r] <- Q2(fit, order, fold = case$fold, type = "impute", verbose = FALSE)[k]
    }
  }
  cases[[length(cases) + 1]] <- list(
    file = case$file, columns = colnames(x), n_rows = case$n_rows, fold = case$fold, scaled = case$scale == "uv",
    # R2cum has five digits.
    r2cum = unname(R2cum(all)),
    r2 = sapply(seq_len(most), function(k) R2VX(all, direction = "complete", pcs = k)),
    r2_features = sapply(seq_len(most), function(k) unname(R2VX(all, pcs = k))),
    q2 = q2
  )
}
versions <- list(r = R.version.string, pcaMethods = as.character(packageVersion("pcaMethods")))
write(toJSON(list(versions = versions, cases = cases), digits = NA, auto_unbox = TRUE, pretty = FALSE), "golden/pcamethods.json")
