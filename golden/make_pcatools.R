# Writes golden/pcatools_wine.json, the results of PCAtools: pca, chooseMarchenkoPastur and chooseGavishDonoho. Run from
# the root of the repository, with the packages BiocSingular, DelayedMatrixStats, RMTstat and jsonlite, and the folder of
# the sources of PCAtools, of which two files are read:
#   Rscript golden/make_pcatools.R PATH
# The first 11 columns of wine are the variables; every 17th row is kept. PCAtools takes variables as rows. The rules
# are given the variance of the noise: that for which the law of Marchenko and Pastur and the variances have one
# median, as karhunen estimates it, with the median of the law by base R. Signs are those of PCAtools.

suppressMessages({
  library(BiocSingular)
  library(DelayedArray)
  library(DelayedMatrixStats)
})
library(jsonlite)

sources <- commandArgs(trailingOnly = TRUE)[1]
for (name in c("pca.R", "randomMethods.R")) source(file.path(sources, "R", name))

file <- "examples/data/wine.csv"
x <- as.matrix(read.csv(file, check.names = FALSE)[, 1:11])
rows <- seq(1, nrow(x), by = 17)
p <- ncol(x)
n <- nrow(x)
rownames(x) <- paste0("r", seq_len(n))

# The median of the law of p variables and ndf free rows, p <= ndf, by the density of RMTstat and base R.
median_of_law <- function(ndf) {
  lower <- (1 - sqrt(p / ndf))^2
  upper <- (1 + sqrt(p / ndf))^2
  # t = lower + (upper - lower) sin(s)^2 leaves no root at the ends.
  share <- function(s) integrate(function(u) {
    t <- lower + (upper - lower) * sin(u)^2
    RMTstat::dmp(t, ndf = ndf, pdim = p) * (upper - lower) * 2 * sin(u) * cos(u)
  }, 0, s, rel.tol = 1e-12)$value
  s <- uniroot(function(s) share(s) - 0.5, c(0.01, pi / 2 - 0.01), tol = 1e-14)$root
  lower + (upper - lower) * sin(s)^2
}

of_fit <- function(scaled) {
  fit <- pca(t(x), scale = scaled)
  variances <- fit$sdev^2
  mu <- median_of_law(n - 1)
  marchenko <- chooseMarchenkoPastur(.dim = c(p, n), var.explained = variances, noise = median(variances) / mu)
  # PCAtools counts n columns of the centred table, of which n - 1 are free: with n - 1 the threshold is that of
  # karhunen times (n - 1) / (n - 2).
  free <- chooseGavishDonoho(.dim = c(p, n - 1), var.explained = variances, noise = median(variances) / mu)
  all <- chooseGavishDonoho(.dim = c(p, n), var.explained = variances, noise = median(variances) / mu)
  number <- function(found) as.numeric(found)
  list(scale = scaled, percentages = unname(fit$variance), sdev = fit$sdev, loadings = unname(as.matrix(fit$loadings)),
       rotated = unname(as.matrix(fit$rotated[rows, ])),
       marchenko_pastur = list(n = number(marchenko), limit = attr(marchenko, "limit")),
       gavish_donoho_free = list(n = number(free), limit = attr(free, "limit")),
       gavish_donoho = list(n = number(all), limit = attr(all, "limit")))
}

version_of <- read.dcf(file.path(sources, "DESCRIPTION"))[1, "Version"]
writeLines(toJSON(list(
  made_by = paste0("golden/make_pcatools.R, ", R.version.string, ", PCAtools ", version_of, " (pca.R, randomMethods.R)",
                   ", BiocSingular ", packageVersion("BiocSingular"), ", RMTstat ", packageVersion("RMTstat")),
  file = file, cases = list(of_fit(FALSE), of_fit(TRUE))
), digits = NA, pretty = FALSE, auto_unbox = TRUE), "golden/pcatools_wine.json")
