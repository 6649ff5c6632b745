# Writes golden/factominer_*.json, the results of FactoMineR's PCA, dimdesc and predict. Run from the root of the
# repository, with the packages FactoMineR and jsonlite:
#   Rscript golden/make_factominer.R
# The active columns of wine are the first 11; columns 12 and 13 are supplementary numbers, the class a supplementary
# category. Weights are 1, 2, 3, 1, 2, 3, ... FactoMineR's signs are its own.
#
# Also writes golden/factominer_decathlon.json: weights of rows and of columns beside supplementary rows. The active
# columns of decathlon are the ten events, the active rows the first 35; rank and points are supplementary numbers,
# the competition a supplementary category.

suppressMessages(library(FactoMineR))
library(jsonlite)

x <- read.csv("examples/data/wine.csv", check.names = FALSE)
numbers <- which(sapply(x, is.numeric) & !(tolower(names(x)) %in% c("class", "target", "cultivar")))
class <- setdiff(seq_along(x), numbers)
stopifnot(length(numbers) == 13, length(class) == 1)
table <- cbind(x[, numbers], class = factor(paste0("c", x[[class]])))

of_fit <- function(weights, scaled) {
  fit <- PCA(table, scale.unit = scaled, ncp = 3, quanti.sup = 12:13, quali.sup = 14, row.w = weights, graph = FALSE)
  described <- dimdesc(fit, axes = 1:2, proba = 1)
  plain <- function(m) unname(as.matrix(m))
  list(
    eigenvalues = unname(fit$eig[1:3, 1]),
    var_cor = plain(fit$var$cor), var_contrib = plain(fit$var$contrib) / 100, var_cos2 = plain(fit$var$cos2),
    ind_coord_head = plain(fit$ind$coord[1:5, ]), ind_contrib_head = plain(fit$ind$contrib[1:5, ]) / 100,
    ind_cos2_head = plain(fit$ind$cos2[1:5, ]), ind_dist_head = unname(fit$ind$dist[1:5]),
    quanti_sup_cor = plain(fit$quanti.sup$cor),
    quali_sup_coord = plain(fit$quali.sup$coord), quali_sup_v_test = plain(fit$quali.sup$v.test),
    quali_sup_eta2 = plain(fit$quali.sup$eta2),
    describe_quanti_names = rownames(described$Dim.1$quanti), describe_quanti = plain(described$Dim.1$quanti),
    describe_quali = plain(described$Dim.1$quali)
  )
}

write_case <- function(name, weights, scaled) {
  case <- c(list(made_by = paste0("golden/make_factominer.R, ", R.version.string, ", FactoMineR ",
                                  packageVersion("FactoMineR")), scale = scaled, weights = weights),
            of_fit(weights, scaled))
  writeLines(toJSON(case, digits = NA, pretty = TRUE, auto_unbox = TRUE), paste0("golden/", name, ".json"))
}

write_case("factominer_wine_scaled", NULL, TRUE)
write_case("factominer_wine", NULL, FALSE)
write_case("factominer_wine_weighted", rep(1:3, length.out = nrow(table)), TRUE)

events <- read.csv("examples/data/decathlon.csv", check.names = FALSE)
events$Competition <- factor(events$Competition)
plain <- function(m) unname(as.matrix(m))
of_decathlon <- function(row_weights, column_weights, scaled) {
  active <- 1:35
  fit <- PCA(events, scale.unit = scaled, ncp = 3, ind.sup = 36:41, quanti.sup = 11:12, quali.sup = 13,
             row.w = row_weights[active], col.w = column_weights, graph = FALSE)
  described <- dimdesc(fit, axes = 1:2, proba = 1)
  list(
    scale = scaled, row_weights = row_weights[active], column_weights = column_weights,
    eigenvalues = unname(fit$eig[1:3, 1]), percentages = unname(fit$eig[1:3, 2]),
    var_cor = plain(fit$var$cor), var_contrib = plain(fit$var$contrib), var_cos2 = plain(fit$var$cos2),
    ind_coord = plain(fit$ind$coord[1:8, ]), ind_contrib = plain(fit$ind$contrib[1:8, ]),
    ind_cos2 = plain(fit$ind$cos2[1:8, ]), ind_dist = unname(fit$ind$dist[1:8]),
    ind_sup_coord = plain(fit$ind.sup$coord), ind_sup_cos2 = plain(fit$ind.sup$cos2),
    ind_sup_dist = unname(fit$ind.sup$dist), quanti_sup_cor = plain(fit$quanti.sup$cor),
    quali_sup_names = rownames(fit$quali.sup$coord), quali_sup_coord = plain(fit$quali.sup$coord),
    quali_sup_v_test = plain(fit$quali.sup$v.test), quali_sup_eta2 = plain(fit$quali.sup$eta2),
    describe = lapply(unname(described[1:2]), function(axis) {
      list(quanti_names = rownames(axis$quanti), quanti = plain(axis$quanti), quali = plain(axis$quali),
           category_names = rownames(axis$category), category = plain(axis$category))
    })
  )
}

counts <- rep(c(2, 1, 3, 1, 4), length.out = 41)
columns <- c(1, 2, 0.5, 1, 1.5, 1, 0.25, 3, 1, 1)
writeLines(toJSON(list(
  made_by = paste0("golden/make_factominer.R, ", R.version.string, ", FactoMineR ", packageVersion("FactoMineR")),
  cases = list(of_decathlon(counts, NULL, TRUE), of_decathlon(counts, columns, TRUE),
               of_decathlon(counts, columns, FALSE), of_decathlon(rep(1, 41), columns, TRUE))
), digits = NA, pretty = FALSE, auto_unbox = TRUE, null = "null"), "golden/factominer_decathlon.json")
