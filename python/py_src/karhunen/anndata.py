"""PCA of single cells in an AnnData, with the names and results of scanpy.

Works with every version of anndata, which is not imported: the objects bring it along.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import PCA, TruncatedSVD
from karhunen._inputs.annotated import is_annotated, is_lazy, rows_of_chunk, to_known
from karhunen._inputs.cells import Cells
from karhunen._inputs.row_blocks import RowBlocks
from karhunen._shared.choices import ColumnScaling, SvdSolver
from karhunen._shared.options import count_option, flag_option, is_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Cells", "pca", "rank_genes"]

Cells.__module__ = __name__

#: Number of components without `n_comps`, as in scanpy.
_N_COMPS = 50


class _Absent:
    """The default of `mask_var`, which differs from None."""

    def __repr__(self) -> str:
        return "'highly_variable' if there is such a column"


_ABSENT = _Absent()


def pca(
    data: Any,
    n_comps: int | None = None,
    *,
    layer: str | None = None,
    obsm: str | None = None,
    zero_center: bool = True,
    scale: bool | ColumnScaling = False,
    svd_solver: SvdSolver | None = None,
    chunked: bool = False,
    chunk_size: int | None = None,
    random_state: Any = 0,
    return_info: bool = False,
    mask_var: NDArray[np.bool_] | str | _Absent | None = _ABSENT,
    dtype: Any = "float32",
    key_added: str | None = None,
    copy: bool = False,
    sample_weight: ArrayLike | str | None = None,
    tol: float | None = None,
    n_threads: int | None = None,
) -> Any:
    """Compute principal components of cells, as ``scanpy.pp.pca`` does.

    Sparse matrices stay sparse, also if they are scaled. A matrix that AnnData left in its file is read block by block
    in every pass, and a dask array stays on its scheduler. Results do not depend on `random_state` beyond `tol`, nor a
    bit of them on `n_threads`.

    Parameters
    ----------
    data : AnnData, or array or sparse matrix of shape (n_obs, n_vars)
        Rows are cells, columns genes. Values are taken as they are: normalise and log-transform counts first.
    n_comps : int or None, default=None
        Number of components. None is 50, or one less than the smaller number of rows and columns if that is at most 50.
    layer : str or None, default=None
        Layer to use instead of `X`.
    obsm : str or None, default=None
        Entry of `obsm` to use instead of `X`. The components then go to ``uns["pca"]["components"]``.
    zero_center : bool, default=True
        Subtract the mean of every gene. False computes a truncated SVD (:class:`~karhunen.TruncatedSVD`).
    scale : bool or {"std", "pareto", "range"}, default=False
        Divide every gene by its standard deviation or another measure of :class:`~karhunen.PCA`, inside the products:
        as after ``scanpy.pp.scale`` without ``max_value``, but without its dense copy.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"} or None, default=None
        scikit-learn's names of the solvers; None is "auto". All have the accuracy `tol`.
    chunked : bool, default=False
        Read the matrix in blocks of `chunk_size` rows. The result is exact, unlike the result of scanpy's incremental
        PCA.
    chunk_size : int or None, default=None
        Number of rows of a block, needed with `chunked`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the starting block of the iteration.
    return_info : bool, default=False
        Of an array, return components and variances as well.
    mask_var : str, ndarray of bool of shape (n_vars,), or None
        Column of `var`, or values, true for the genes to use. The default is ``"highly_variable"`` if `var` has such a
        column; None uses all genes.
    dtype : dtype, default="float32"
        Type of the scores.
    key_added : str or None, default=None
        Name of all three results, instead of ``"X_pca"``, ``"PCs"`` and ``"pca"``.
    copy : bool, default=False
        Leave `data` unchanged and return a copy with the results.
    sample_weight : str, array-like of shape (n_obs,), or None, default=None
        Column of `obs`, or weights of the cells: multiplicities, as of :class:`~karhunen.PCA`.
    tol : float or None, default=None
        As of :class:`~karhunen.PCA`.
    n_threads : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    None, AnnData, ndarray or tuple
        Of an AnnData, None, or the copy. Of an array, the scores, shape (n_obs, n_comps), and with `return_info` also
        components (n_comps, n_vars), shares of the variance, and variances.

        An AnnData gets ``obsm["X_pca"]``, scores of shape (n_obs, n_comps), lazy if the matrix is; ``varm["PCs"]``,
        components of shape (n_vars, n_comps), with rows of zeros outside the mask; and ``uns["pca"]`` with `params`,
        `variance`, `variance_ratio` and `residuals`.

    Raises
    ------
    ValueError
        If an option is out of range, a name does not exist, or a value is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import karhunen.anndata
    >>> x = np.random.default_rng(0).poisson(1.0, size=(100, 30)).astype(float)
    >>> karhunen.anndata.pca(x, n_comps=5).shape
    (100, 5)
    """
    for name, value in (("zero_center", zero_center), ("chunked", chunked), ("copy", copy)):
        flag_option(name, value)
    if chunk_size is not None and not chunked:
        raise ValueError("chunk_size is the number of rows of a block of chunked=True; set it, or leave chunk_size out")
    annotated = is_annotated(data)
    adata = data.copy() if annotated and copy else data
    matrix = _matrix(adata, layer, obsm) if annotated else data
    mask, named_mask = _mask(adata if annotated else None, mask_var, int(matrix.shape[1]), obsm)
    columns = None if mask is None else np.flatnonzero(mask)
    dtype = _dtype(dtype)
    if matrix.shape[0] == 0:
        raise ValueError(f"the matrix has 0 cells and {matrix.shape[1]} genes; two cells or more are needed")
    rows = to_known(matrix, columns, rows_of_chunk(chunk_size) if chunked else None)
    n, p = int(matrix.shape[0]), int(matrix.shape[1]) if columns is None else len(columns)
    n_comps = _n_comps(n_comps, n, p)
    weights = _weights(adata if annotated else None, sample_weight)
    options = {"tol": tol, "random_state": random_state, "n_threads": n_threads}
    estimator = _estimator(rows, n_comps, zero_center, scale, svd_solver, weights, options)
    scores = estimator.fit(rows) if weights is None else estimator.fit(rows, sample_weight=weights)
    scores = estimator.transform(rows)
    scores = scores.astype(dtype) if scores.dtype != dtype else scores
    if not annotated:
        found = estimator.components_, estimator.explained_variance_ratio_, estimator.explained_variance_
        return (scores, *found) if return_info else scores
    _store(adata, estimator, scores, (mask, named_mask), (layer, obsm, zero_center, scale), key_added)
    return adata if copy else None


def rank_genes(data: Any, n: int = 20, *, key: str | None = None, components: int | None = None) -> Any:
    """List the genes with the largest loadings of each component.

    Parameters
    ----------
    data : AnnData or fitted estimator
        With the results of :func:`pca`, or an estimator with `components_`, such as :class:`~karhunen.PCA`.
    n : int, default=20
        Number of genes of each component.
    key : str or None, default=None
        `key_added` of :func:`pca`.
    components : int or None, default=None
        Number of components, from the first; None takes all.

    Returns
    -------
    pandas.DataFrame
        Columns `component` ("PC1", ...), `rank` (from 1), `gene`, `loading` (the entry of the component, with its sign)
        and `share` (the square of the loading: the gene's part of the component, all parts sum to 1), in order of
        component and rank. Equal loadings are in the order of the genes.

    Raises
    ------
    ValueError
        If there are no results of that name, or `n` or `components` is not a positive whole number.

    Examples
    --------
    >>> import pandas as pd
    >>> from karhunen import PCA
    >>> import karhunen.anndata
    >>> x = pd.DataFrame({"CD3D": [0.0, 1.0, 5.0], "LYZ": [4.0, 2.0, 0.0], "NKG7": [1.0, 1.0, 1.5]})
    >>> karhunen.anndata.rank_genes(PCA(1).fit(x), 2)[["component", "rank", "gene"]].values.tolist()
    [['PC1', 1, 'CD3D'], ['PC1', 2, 'LYZ']]
    """
    pd = import_module("pandas")
    count_option("n", n)
    if components is not None:
        count_option("components", components)
    if is_annotated(data):
        name = "PCs" if key is None else key
        if name not in data.varm:
            raise ValueError(f"the AnnData has no varm[{name!r}]; call karhunen.anndata.pca first, or give its key")
        loadings, genes = np.asarray(data.varm[name]), [str(gene) for gene in data.var_names]
    elif hasattr(data, "components_"):
        from karhunen._shared.fitted_model import feature_names

        loadings, genes = np.asarray(data.components_).T, feature_names(data)
    else:
        raise TypeError(f"data is of type {type(data).__name__}; give an AnnData with the results of pca, or a fit")
    of_components = []
    for k in range(loadings.shape[1] if components is None else min(components, loadings.shape[1])):
        loading = loadings[:, k]
        order = np.argsort(-np.abs(loading), kind="stable")[:n]
        of_components.append(
            pd.DataFrame(
                {
                    "component": f"PC{k + 1}",
                    "rank": np.arange(1, len(order) + 1),
                    "gene": [genes[j] for j in order],
                    "loading": loading[order],
                    "share": loading[order] ** 2,
                }
            )
        )
    return pd.concat(of_components, ignore_index=True)


def _matrix(adata: Any, layer: str | None, obsm: str | None) -> Any:
    """Return the matrix that the options choose."""
    if layer is not None and obsm is not None:
        raise ValueError("layer and obsm each name a matrix; give one of them")
    for option, name, there in (("layer", layer, adata.layers), ("obsm", obsm, adata.obsm)):
        if name is None:
            continue
        if name not in there:
            raise ValueError(f"{option} = {name!r} does not exist; there are {_listed(there)}")
        return there[name]
    if adata.X is None:
        raise ValueError(f"the AnnData has no X; give a layer: {', '.join(map(repr, adata.layers)) or 'there is none'}")
    return adata.X


def _mask(
    adata: Any, mask_var: Any, n_vars: int, obsm: str | None
) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | str | None]:
    """Return the mask of the genes, and the mask as given."""
    if obsm is not None:
        if mask_var is not _ABSENT and mask_var is not None:
            raise ValueError("mask_var masks genes, and obsm has none; leave one of them out")
        return None, None
    if mask_var is _ABSENT:
        mask_var = "highly_variable" if adata is not None and "highly_variable" in adata.var.columns else None
    if mask_var is None:
        return None, None
    if isinstance(mask_var, str):
        if adata is None:
            raise ValueError(f"mask_var = {mask_var!r} names a column of an AnnData, and data is an array; give values")
        if mask_var not in adata.var.columns:
            raise ValueError(f"mask_var = {mask_var!r}: var has no such column; it has {_listed(adata.var.columns)}")
    mask = np.asarray(adata.var[mask_var] if isinstance(mask_var, str) else mask_var)
    given = repr(mask_var) if isinstance(mask_var, str) else "the array"
    if mask.shape != (n_vars,):
        raise ValueError(f"mask_var: {given} has shape {mask.shape}; there are {n_vars} genes")
    if mask.dtype != np.bool_:
        raise ValueError(f"mask_var: {given} has dtype {mask.dtype}; give true or false for each gene")
    if not mask.any():
        raise ValueError(f"mask_var: {given} takes none of the {n_vars} genes")
    return mask, mask_var


def _dtype(dtype: Any) -> np.dtype[Any]:
    """Return the type of the scores, which are not integers."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.kind != "f":
        raise ValueError(f"dtype = {dtype!r} is not allowed: scores are floating point, float32 or float64")
    return found


def _weights(adata: Any, sample_weight: Any) -> Any:
    """Return the weights of the cells, of a column of `obs` if they are named."""
    if not isinstance(sample_weight, str):
        return sample_weight
    if adata is None:
        raise ValueError(
            f"sample_weight = {sample_weight!r} names a column of an AnnData, and data is an array; give values"
        )
    if sample_weight not in adata.obs.columns:
        raise ValueError(
            f"sample_weight = {sample_weight!r}: obs has no such column; it has {_listed(adata.obs.columns)}"
        )
    return adata.obs[sample_weight].to_numpy()


def _listed(names: Any) -> str:
    return ", ".join(repr(str(name)) for name in names) or "none"


def _n_comps(n_comps: int | None, n: int, p: int) -> int:
    """Return the number of components, by scanpy's rule without one."""
    least = min(n, p)
    if n_comps is None:
        return least - 1 if least <= _N_COMPS else _N_COMPS
    if not is_whole(n_comps) or not 1 <= n_comps <= least:
        raise ValueError(f"n_comps = {n_comps!r} is not allowed: give a whole number from 1 to {least} for {n} x {p}")
    return int(n_comps)


def _estimator(
    rows: Any,
    n_comps: int,
    zero_center: bool,
    scale: bool | ColumnScaling,
    svd_solver: SvdSolver | None,
    weights: Any,
    options: dict[str, Any],
) -> Any:
    """Return the estimator that fits the rows."""
    of: Any = (PCA, TruncatedSVD)
    if is_lazy(rows):
        from karhunen import dask

        of = dask.PCA, dask.TruncatedSVD
    if zero_center:
        return of[0](n_comps, scale=scale, svd_solver=svd_solver or "auto", **options)
    for name, is_given in (("scale", scale is not False), ("sample_weight", weights is not None)):
        if is_given:
            raise ValueError(f"zero_center=False has no {name}; leave it out")
    if svd_solver not in (None, "arpack", "randomized"):
        raise ValueError(f"svd_solver = {svd_solver!r} is not allowed with zero_center=False: give None")
    if isinstance(rows, RowBlocks):
        raise ValueError("zero_center=False needs the matrix in memory; read it with to_memory()")
    return of[1](n_comps, **options)


def _store(
    adata: Any,
    estimator: Any,
    scores: Any,
    masks: tuple[NDArray[np.bool_] | None, Any],
    given: tuple[str | None, str | None, bool, bool | ColumnScaling],
    key_added: str | None,
) -> None:
    """Store the results under scanpy's names."""
    (mask, named_mask), (layer, obsm, zero_center, scale) = masks, given
    key_obsm, key_varm, key_uns = ("X_pca", "PCs", "pca") if key_added is None else (key_added,) * 3
    adata.obsm[key_obsm] = scores
    components = np.asarray(estimator.components_).T
    if obsm is None:
        if mask is not None:
            whole = np.zeros((adata.n_vars, components.shape[1]))
            whole[mask] = components
            components = whole
        adata.varm[key_varm] = np.array(components)
    params: dict[str, Any] = {
        "zero_center": zero_center,
        "use_highly_variable": isinstance(named_mask, str) and named_mask == "highly_variable",
        "mask_var": named_mask,
    }
    for name, value in (("layer", layer), ("obsm", obsm)):
        if value is not None:
            params[name] = value
    if scale is not False:
        params["scale"] = scale
    adata.uns[key_uns] = {
        "params": params,
        "variance": np.array(estimator.explained_variance_),
        "variance_ratio": np.array(estimator.explained_variance_ratio_),
        "residuals": np.array(estimator.residuals_),
        **({} if obsm is None else {"components": np.array(components)}),
    }
