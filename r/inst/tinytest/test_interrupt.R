# An interrupt stops a fit that would take hours, and the session continues.
if (.Platform$OS.type != "unix") exit_file("needs signals of unix")
set.seed(1)
x <- matrix(rnorm(2000 * 60), 2000)
x[sample(length(x), 1000)] <- NA
system(sprintf("(sleep 1; kill -INT %d) &", Sys.getpid()))
outcome <- tryCatch(
  kh_impute(x, 20, method = "gradient", step = 1e-9, tol = 0, max_iter = 1e9),
  interrupt = function(condition) "interrupted"
)
expect_identical(outcome, "interrupted")
expect_true(nrow(kh_pca(iris[, 1:4])$rotation) == 4L)

# Forked children have no threads of their parent's pool; they start their own.
big <- matrix(rnorm(4000 * 60), 4000)
alone <- kh_pca(big)$sdev
children <- parallel::mclapply(1:2, function(i) kh_pca(big)$sdev, mc.cores = 2)
expect_identical(children, list(alone, alone))
