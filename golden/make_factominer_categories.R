# Writes golden/factominer_categories.json, the results of FactoMineR's MCA and FAMD on the tables Titanic and mtcars of R,
# which the file holds too. Run from the root of the repository, with the packages FactoMineR and jsonlite:
#   Rscript golden/make_factominer_categories.R
# The rows of Titanic are its cells with passengers; their number is the weight. Rows 1 and 5 of mtcars are supplementary
# in one case. FactoMineR's signs are its own.

suppressMessages(library(FactoMineR))
library(jsonlite)

plain <- function(m) unname(as.matrix(m))
passengers <- as.data.frame(Titanic, stringsAsFactors = TRUE)
passengers <- passengers[passengers$Freq > 0, ]
mca <- MCA(passengers[, 1:4], row.w = passengers$Freq, ncp = 6, graph = FALSE)
without <- passengers
without$Age[c(2, 9)] <- NA
holes <- MCA(without[, 1:4], ncp = 3, graph = FALSE)

of_mca <- function(fit) list(
  eigenvalues = unname(fit$eig[, 1]), percentages = unname(fit$eig[, 2]), categories = rownames(fit$var$coord),
  coord = plain(fit$var$coord), contrib = plain(fit$var$contrib) / 100, cos2 = plain(fit$var$cos2),
  v_test = plain(fit$var$v.test), eta2 = plain(fit$var$eta2), ind_coord = plain(fit$ind$coord),
  ind_contrib = plain(fit$ind$contrib) / 100, ind_cos2 = plain(fit$ind$cos2)
)

cars <- data.frame(mtcars[, c("mpg", "disp", "hp", "wt")], cyl = factor(paste0("c", mtcars$cyl)),
                   gear = factor(paste0("g", mtcars$gear)), am = factor(ifelse(mtcars$am == 1, "manual", "automatic")))
weights <- rep(c(2, 1, 3), length.out = nrow(cars))
of_famd <- function(fit) list(
  eigenvalues = unname(fit$eig[, 1]), categories = rownames(fit$quali.var$coord),
  coord = plain(fit$quali.var$coord), contrib = plain(fit$quali.var$contrib) / 100, cos2 = plain(fit$quali.var$cos2),
  v_test = plain(fit$quali.var$v.test), number_cor = plain(fit$quanti.var$coord),
  number_contrib = plain(fit$quanti.var$contrib) / 100, var_coord = plain(fit$var$coord),
  ind_coord = plain(fit$ind$coord)
)
sup <- FAMD(cars, ncp = 3, ind.sup = c(1, 5), graph = FALSE)

writeLines(toJSON(list(
  made_by = paste0("golden/make_factominer_categories.R, ", R.version.string, ", FactoMineR ",
                   packageVersion("FactoMineR")),
  titanic = list(table = lapply(passengers[, 1:4], as.character), counts = passengers$Freq, weighted = of_mca(mca),
                 missing_age = c(1, 8), missing = of_mca(holes)),
  mtcars = list(table = lapply(cars, function(x) if (is.factor(x)) as.character(x) else x), weights = weights,
                plain = of_famd(FAMD(cars, ncp = 3, graph = FALSE)),
                weighted = of_famd(FAMD(cars, ncp = 3, row.w = weights, graph = FALSE)),
                supplementary = c(list(rows = c(0, 4), ind_sup_coord = plain(sup$ind.sup$coord)), of_famd(sup)))
), digits = NA, pretty = FALSE, auto_unbox = TRUE), "golden/factominer_categories.json")
