# Fits the table of a folder by a method of pcaMethods; writes the seconds of each fit and the completed table.
#   Rscript pcamethods.R FOLDER METHOD N_COMPONENTS ROUNDS
suppressMessages(library(pcaMethods))
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
x <- as.matrix(read.csv(file.path(folder, "holes.csv"), header = FALSE, na.strings = "nan"))
for (round in seq_len(as.integer(arguments[4]))) {
    seconds <- system.time(
        fitted <- pca(x, method = arguments[2], nPcs = as.integer(arguments[3]), verbose = FALSE)
    )[["elapsed"]]
    cat(seconds, "\n")
}
write.table(completeObs(fitted), file.path(folder, "completed.csv"), sep = ",", row.names = FALSE, col.names = FALSE)
