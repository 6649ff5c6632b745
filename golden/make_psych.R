# Writes golden/psych_counties.json, components of a weighted correlation matrix by psych's principal, rotated or not.
# Run from the root of the repository, with the packages psych, GPArotation and jsonlite:
#   Rscript golden/make_psych.R
# Rows are the counties of the Midwest, weights their populations. The tolerances of the rotations are far below their
# defaults; stats::promax, which psych calls, leaves no choice but its varimax of 1e-5. Orders and signs are psych's.

suppressMessages({
  library(psych)
  library(GPArotation)
})
library(jsonlite)

file <- "examples/data/midwest_counties.csv"
table <- read.csv(file, check.names = FALSE)
columns <- c("perchsd", "percollege", "percprof", "percbelowpoverty", "percchildbelowpovert", "percadultpoverty",
             "percelderlypoverty", "popdensity")
x <- as.matrix(table[, columns])
w <- table$poptotal
k <- 3
plain <- function(m) matrix(as.numeric(unclass(m)), nrow(m), ncol(m))

of_fit <- function(rotate, ...) {
  fit <- principal(x, nfactors = k, rotate = rotate, weight = w, scores = FALSE, ...)
  list(loadings = plain(fit$loadings), structure = plain(fit$Structure),
       phi = if (is.null(fit$Phi)) diag(k) else plain(fit$Phi), communalities = unname(fit$communality),
       variances = unname(fit$Vaccounted["SS loadings", ]), shares = unname(fit$Vaccounted["Proportion Var", ]),
       weights = plain(fit$weights))
}

correlations <- cor.wt(x, w = w)$r
# The eigenvalues of parallel analysis are determined; its random ones are not compared.
pdf(NULL)
parallel <- suppressMessages(fa.parallel(correlations, n.obs = 437, fa = "pc", n.iter = 20, plot = FALSE))

writeLines(toJSON(list(
  made_by = paste0("golden/make_psych.R, ", R.version.string, ", psych ", packageVersion("psych"), ", GPArotation ",
                   packageVersion("GPArotation")),
  file = file, columns = columns, n_components = k, correlations = plain(correlations),
  values = unname(principal(x, nfactors = k, rotate = "none", weight = w)$values),
  parallel_values = parallel$pc.values,
  none = of_fit("none"),
  varimax = of_fit("varimax", eps = 1e-15),
  quartimax = of_fit("quartimax", eps = 1e-8, maxit = 10000),
  oblimin = of_fit("oblimin", eps = 1e-8, maxit = 10000),
  promax = of_fit("promax")
), digits = NA, pretty = FALSE, auto_unbox = TRUE), "golden/psych_counties.json")
