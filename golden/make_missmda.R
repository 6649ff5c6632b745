# Writes golden/missmda.json, the results of missMDA's imputePCA and estim_ncpPCA. Run from the root of the repository, with
# the packages missMDA and jsonlite:
#   Rscript golden/make_missmda.R
# Values of missing entries are in the order of R: column by column.

suppressMessages(library(missMDA))
library(jsonlite)

file <- "examples/data/metabolite_missing.csv"
x <- as.matrix(read.csv(file, check.names = FALSE))
# A part with fewer rows, and the ends of the whole table.
tables <- list(whole = x, part = x[1:30, 1:12])
holes <- function(found, x) unname(found$completeObs[is.na(x)])

cases <- list()
for (name in names(tables)) {
  for (scaled in c(TRUE, FALSE)) {
    for (method in c("Regularized", "EM")) {
      table <- tables[[name]]
      found <- imputePCA(table, ncp = 2, scale = scaled, method = method)
      cases[[length(cases) + 1]] <- list(
        table = name, scale = scaled, method = tolower(method), ncp = 2, ridge = 1, weights = NULL,
        filled = holes(found, table), fitted_head = unname(found$fittedX[1:3, 1:5])
      )
    }
  }
}
table <- tables$part
weights <- rep(1:3, 10)
found <- imputePCA(table, ncp = 3, coeff.ridge = 0.5, row.w = weights / sum(weights))
cases[[length(cases) + 1]] <- list(
  table = "part", scale = TRUE, method = "regularized", ncp = 3, ridge = 0.5, weights = weights,
  filled = holes(found, table), fitted_head = unname(found$fittedX[1:3, 1:5])
)

chosen <- lapply(c(TRUE, FALSE), function(scaled) {
  found <- estim_ncpPCA(tables$part, ncp.min = 0, ncp.max = 5, scale = scaled, method.cv = "gcv")
  list(scale = scaled, ncp = found$ncp, criterion = unname(found$criterion))
})

writeLines(toJSON(list(
  made_by = paste0("golden/make_missmda.R, ", R.version.string, ", missMDA ", packageVersion("missMDA")),
  file = file, part = dim(tables$part), cases = cases, chosen = chosen
), digits = NA, pretty = TRUE, auto_unbox = TRUE, null = "null"), "golden/missmda.json")
