# Writes golden/r_*.json, the results of R's prcomp and cov.wt. Run from the root of the repository:
#   Rscript golden/make_golden.R
# Numbers are written with 17 significant digits. Signs of vectors are R's own.

json <- function(x) {
  if (is.list(x)) {
    body <- mapply(function(k, v) paste0('"', k, '": ', json(v)), names(x), x)
    paste0("{\n", paste(body, collapse = ",\n"), "\n}")
  } else if (is.matrix(x)) {
    paste0("[\n", paste(apply(x, 1, json), collapse = ",\n"), "\n]")
  } else if (is.logical(x)) {
    tolower(as.character(x))
  } else if (is.character(x)) {
    quoted <- paste0('"', gsub('"', '\\\\"', x), '"')
    if (length(x) == 1) quoted else paste0("[", paste(quoted, collapse = ", "), "]")
  } else {
    paste0("[", paste(sprintf("%.17g", x), collapse = ", "), "]")
  }
}

write_case <- function(name, command, file, columns, fit) {
  sha256 <- strsplit(system2("sha256sum", file, stdout = TRUE), " ")[[1]][1]
  case <- c(list(
    made_by = paste0("golden/make_golden.R, ", R.version.string, ", LAPACK ", La_version()),
    command = command, file = file, sha256 = sha256, columns = columns), fit)
  writeLines(json(case), paste0("golden/", name, ".json"))
}

# The result of prcomp; components are written as rows.
of_prcomp <- function(x, scaled, center = TRUE) {
  fit <- prcomp(x, center = center, scale. = scaled)
  scale <- if (is.logical(fit$scale)) rep(1, ncol(x)) else fit$scale
  list(mean = unname(fit$center), scale = unname(scale), explained_variance = fit$sdev^2,
       components = unname(t(fit$rotation)), scores_head = unname(fit$x[1:3, , drop = FALSE]))
}

# The eigenvectors of the weighted covariance or correlation of cov.wt.
of_cov_wt <- function(x, w, method, correlation) {
  weighted <- cov.wt(x, wt = w / sum(w), method = method, cor = correlation)
  e <- eigen(if (correlation) weighted$cor else weighted$cov, symmetric = TRUE)
  scale <- if (correlation) sqrt(diag(weighted$cov)) else rep(1, ncol(x))
  scores <- scale(x, center = weighted$center, scale = scale) %*% e$vectors
  list(mean = unname(weighted$center), scale = unname(scale), explained_variance = e$values,
       components = unname(t(e$vectors)), scores_head = unname(scores[1:3, , drop = FALSE]))
}

table_of <- function(file, drop) {
  x <- read.csv(file)
  as.matrix(x[, !(names(x) %in% drop)])
}

usarrests <- table_of("examples/data/usarrests.csv", "State")
iris <- table_of("examples/data/iris.csv", "class")
wine <- table_of("examples/data/wine.csv", "class")
counties <- read.csv("examples/data/midwest_counties.csv")
rates <- as.matrix(counties[, 5:17])

write_case("r_usarrests", "prcomp(x)", "examples/data/usarrests.csv", colnames(usarrests), of_prcomp(usarrests, FALSE))
write_case("r_usarrests_scaled", "prcomp(x, scale. = TRUE)", "examples/data/usarrests.csv", colnames(usarrests),
           of_prcomp(usarrests, TRUE))
write_case("r_iris", "prcomp(x)", "examples/data/iris.csv", colnames(iris), of_prcomp(iris, FALSE))
write_case("r_wine_scaled", "prcomp(x, scale. = TRUE)", "examples/data/wine.csv", colnames(wine), of_prcomp(wine, TRUE))

# Given centres and scales: variances are about the centres. Pareto scaling and range scaling by their definitions.
write_case("r_usarrests_given", "prcomp(x, center = c(8, 170, 65, 20), scale. = c(4, 80, 15, 10))",
           "examples/data/usarrests.csv", colnames(usarrests),
           of_prcomp(usarrests, c(4, 80, 15, 10), c(8, 170, 65, 20)))
write_case("r_usarrests_about_given", "prcomp(x, center = c(8, 170, 65, 20), scale. = TRUE)",
           "examples/data/usarrests.csv", colnames(usarrests), of_prcomp(usarrests, TRUE, c(8, 170, 65, 20)))
write_case("r_wine_pareto", "prcomp(x, scale. = sqrt(apply(x, 2, sd)))", "examples/data/wine.csv", colnames(wine),
           of_prcomp(wine, sqrt(apply(wine, 2, sd))))
write_case("r_wine_range", "prcomp(x, scale. = apply(x, 2, max) - apply(x, 2, min))", "examples/data/wine.csv",
           colnames(wine), of_prcomp(wine, apply(wine, 2, max) - apply(wine, 2, min)))

# Iris with row i, counted from zero, repeated 1 + (i mod 3) times.
copies <- 1 + (seq_len(nrow(iris)) - 1) %% 3
write_case("r_iris_repeated", "prcomp(x[rep(seq_len(nrow(x)), 1 + (seq_len(nrow(x)) - 1) %% 3), ])",
           "examples/data/iris.csv", colnames(iris), of_prcomp(iris[rep(seq_len(nrow(iris)), copies), ], FALSE))

write_case("r_counties_population", "eigen(cov.wt(x, w / sum(w), method = 'ML')$cov), w = poptotal",
           "examples/data/midwest_counties.csv", colnames(rates), of_cov_wt(rates, counties$poptotal, "ML", FALSE))
write_case("r_counties_importance", "eigen(cov.wt(x, w / sum(w), method = 'unbiased')$cov), w = poptotal",
           "examples/data/midwest_counties.csv", colnames(rates),
           of_cov_wt(rates, counties$poptotal, "unbiased", FALSE))
write_case("r_counties_population_scaled", "eigen(cov.wt(x, w / sum(w), method = 'ML', cor = TRUE)$cor), w = poptotal",
           "examples/data/midwest_counties.csv", colnames(rates), of_cov_wt(rates, counties$poptotal, "ML", TRUE))
