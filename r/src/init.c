/* The C functions that R calls: each hands its arguments to Rust and turns a tagged answer into R's error. */

#include <stdint.h>
#include <stdlib.h>

#include <R_ext/Rdynload.h>
#include <Rinternals.h>

/* Rust marks an error by the lowest bit of the pointer: a message, or a jump of R (an interrupt) to continue. */
static SEXP checked(SEXP answer) {
    uintptr_t bits = (uintptr_t)answer;
    if ((bits & 1) == 0) {
        return answer;
    }
    SEXP error = (SEXP)(bits & ~(uintptr_t)1);
    if (TYPEOF(error) == CHARSXP) {
        Rf_errorcall(R_NilValue, "%s", CHAR(error));
    }
    R_ContinueUnwind(error);
    return R_NilValue;
}

SEXP savvy_kh_fit_pca__ffi(SEXP, SEXP, SEXP, SEXP, SEXP, SEXP);
SEXP savvy_kh_pca_scores__ffi(SEXP, SEXP, SEXP);
SEXP savvy_kh_pca_rows__ffi(SEXP, SEXP, SEXP);
SEXP savvy_kh_fit_incomplete__ffi(SEXP, SEXP, SEXP, SEXP, SEXP);
SEXP savvy_kh_incomplete_rows__ffi(SEXP, SEXP, SEXP);
SEXP savvy_kh_interval_factor__ffi(SEXP, SEXP, SEXP);
SEXP savvy_kh_fit_kernel__ffi(SEXP, SEXP, SEXP, SEXP);
SEXP savvy_kh_kernel_scores__ffi(SEXP, SEXP, SEXP);
SEXP savvy_kh_kernel_rows__ffi(SEXP, SEXP, SEXP);
SEXP savvy_kh_read_table__ffi(SEXP, SEXP, SEXP, SEXP);
SEXP savvy_kh_read_arguments__ffi(void);

static SEXP fit_pca(SEXP call, SEXP data, SEXP options, SEXP weights, SEXP column_weights, SEXP tol) {
    return checked(savvy_kh_fit_pca__ffi(call, data, options, weights, column_weights, tol));
}

static SEXP pca_scores(SEXP call, SEXP model, SEXP data) {
    return checked(savvy_kh_pca_scores__ffi(call, model, data));
}

static SEXP pca_rows(SEXP call, SEXP model, SEXP scores) {
    return checked(savvy_kh_pca_rows__ffi(call, model, scores));
}

static SEXP fit_incomplete(SEXP call, SEXP data, SEXP options, SEXP weights, SEXP column_weights) {
    return checked(savvy_kh_fit_incomplete__ffi(call, data, options, weights, column_weights));
}

static SEXP incomplete_rows(SEXP call, SEXP model, SEXP data) {
    return checked(savvy_kh_incomplete_rows__ffi(call, model, data));
}

static SEXP interval_factor(SEXP call, SEXP model, SEXP level) {
    return checked(savvy_kh_interval_factor__ffi(call, model, level));
}

static SEXP fit_kernel(SEXP call, SEXP data, SEXP options, SEXP weights) {
    return checked(savvy_kh_fit_kernel__ffi(call, data, options, weights));
}

static SEXP kernel_scores(SEXP call, SEXP model, SEXP data) {
    return checked(savvy_kh_kernel_scores__ffi(call, model, data));
}

static SEXP kernel_rows(SEXP call, SEXP model, SEXP scores) {
    return checked(savvy_kh_kernel_rows__ffi(call, model, scores));
}

static SEXP read_table(SEXP call, SEXP path, SEXP options, SEXP aside) {
    return checked(savvy_kh_read_table__ffi(call, path, options, aside));
}

static SEXP read_arguments(void) {
    return checked(savvy_kh_read_arguments__ffi());
}

static const R_CallMethodDef entries[] = {
    {"fit_pca", (DL_FUNC)&fit_pca, 6},
    {"pca_scores", (DL_FUNC)&pca_scores, 3},
    {"pca_rows", (DL_FUNC)&pca_rows, 3},
    {"fit_incomplete", (DL_FUNC)&fit_incomplete, 5},
    {"incomplete_rows", (DL_FUNC)&incomplete_rows, 3},
    {"interval_factor", (DL_FUNC)&interval_factor, 3},
    {"fit_kernel", (DL_FUNC)&fit_kernel, 4},
    {"kernel_scores", (DL_FUNC)&kernel_scores, 3},
    {"kernel_rows", (DL_FUNC)&kernel_rows, 3},
    {"read_table", (DL_FUNC)&read_table, 4},
    {"read_arguments", (DL_FUNC)&read_arguments, 0},
    {NULL, NULL, 0},
};

void R_init_karhunen(DllInfo *dll) {
    R_registerRoutines(dll, NULL, entries, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
}
