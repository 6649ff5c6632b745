# Writes golden/r_rotation_*.json, rotations of loadings by base R, psych and GPArotation. Run from the root of the
# repository:
#   Rscript golden/make_rotation_golden.R
# Numbers are written with 17 significant digits. Loadings are eigenvectors of the correlation matrix times the square
# root of their eigenvalues, with the largest absolute entry of each positive. Columns of results are in the order, and
# have the signs, of the program that made them. Tolerances are far below R's defaults.

suppressMessages(library(GPArotation))

json <- function(x) {
  if (is.list(x)) {
    body <- mapply(function(k, v) paste0('"', k, '": ', json(v)), names(x), x)
    paste0("{\n", paste(body, collapse = ",\n"), "\n}")
  } else if (is.matrix(x)) {
    paste0("[\n", paste(apply(x, 1, json), collapse = ",\n"), "\n]")
  } else if (is.character(x)) {
    quoted <- paste0('"', x, '"')
    if (length(x) == 1) quoted else paste0("[", paste(quoted, collapse = ", "), "]")
  } else {
    paste0("[", paste(sprintf("%.17g", x), collapse = ", "), "]")
  }
}

plain <- function(x) {
  x <- unclass(x)
  matrix(as.numeric(x), nrow(x), ncol(x))
}

# promax of base R after a varimax of the tolerance given; base R's promax has none.
promax_of <- function(x, normalize) {
  xx <- varimax(x, normalize = normalize, eps = 1e-15)
  z <- plain(xx$loadings)
  Q <- z * abs(z)^3
  U <- lm.fit(z, Q)$coefficients
  U <- U %*% diag(sqrt(diag(solve(t(U) %*% U))))
  M <- xx$rotmat %*% U
  list(pattern = plain(z %*% U), phi = plain(solve(t(M) %*% M)))
}

of_gpf <- function(fit) {
  list(pattern = plain(fit$loadings), phi = plain(if (is.null(fit$Phi)) diag(ncol(fit$loadings)) else fit$Phi))
}

write_case <- function(name, file, x, k) {
  e <- eigen(cor(x), symmetric = TRUE)
  vectors <- apply(e$vectors[, 1:k], 2, function(v) v * sign(v[which.max(abs(v))]))
  A <- vectors %*% diag(sqrt(e$values[1:k]))
  orthogonal <- function(normalize) list(pattern = plain(varimax(A, normalize = normalize, eps = 1e-15)$loadings))
  psych_fit <- psych::principal(x, nfactors = k, rotate = "varimax", scores = TRUE)
  psych_promax <- psych::principal(x, nfactors = k, rotate = "promax", scores = TRUE)
  case <- list(
    made_by = paste0("golden/make_rotation_golden.R, ", R.version.string, ", psych ", packageVersion("psych"),
                     ", GPArotation ", packageVersion("GPArotation")),
    file = file, columns = colnames(x), loadings = plain(A),
    varimax = orthogonal(TRUE), varimax_raw = orthogonal(FALSE),
    quartimax = of_gpf(quartimax(A, normalize = TRUE, eps = 1e-8, maxit = 3000)),
    quartimax_raw = of_gpf(quartimax(A, eps = 1e-8, maxit = 3000)),
    promax = promax_of(A, TRUE), promax_raw = promax_of(A, FALSE),
    promax_default = list(pattern = plain(promax(A)$loadings)),
    oblimin = of_gpf(oblimin(A, normalize = TRUE, eps = 1e-8, maxit = 3000)),
    oblimin_raw = of_gpf(oblimin(A, eps = 1e-8, maxit = 3000)),
    oblimin_gamma = of_gpf(oblimin(A, gam = -0.5, eps = 1e-8, maxit = 3000)),
    psych_varimax = list(pattern = plain(psych_fit$loadings), structure = plain(psych_fit$Structure),
                         communalities = unname(psych_fit$communality),
                         variances = unname(psych_fit$Vaccounted["SS loadings", ]),
                         scores_head = plain(psych_fit$scores[1:3, ])),
    psych_promax = list(pattern = plain(psych_promax$loadings), structure = plain(psych_promax$Structure),
                        phi = plain(psych_promax$Phi),
                        variances = unname(psych_promax$Vaccounted["SS loadings", ]),
                        scores_head = plain(psych_promax$scores[1:3, ])))
  writeLines(json(case), paste0("golden/r_rotation_", name, ".json"))
}

table_of <- function(file, drop) {
  x <- read.csv(file)
  as.matrix(x[, !(names(x) %in% drop)])
}

write_case("usarrests", "examples/data/usarrests.csv", table_of("examples/data/usarrests.csv", "State"), 2)
write_case("wine", "examples/data/wine.csv", table_of("examples/data/wine.csv", "class"), 3)
write_case("breast_cancer", "examples/data/breast_cancer.csv", table_of("examples/data/breast_cancer.csv", "class"), 5)
