"""Makes the files of tests/data/binary: what numpy, scipy, pandas and pyarrow really write.

Needs numpy, scipy, pandas and pyarrow; run from this folder: python make_binary.py
"""

import datetime
import decimal
import pathlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse

HERE = pathlib.Path(__file__).parent / "binary"
X = np.array([[1.5, -2.0, 3.0], [4.0, 5.25, -6.0]])


def arrays():
    """The same 2 x 3 array in every type and order that numpy writes."""
    for name in ["float32", "float64", "float16"]:
        np.save(HERE / f"{name}.npy", X.astype(name))
    np.save(HERE / "big_endian.npy", X.astype(">f8"))
    np.save(HERE / "fortran.npy", np.asfortranarray(X))
    np.save(HERE / "int16.npy", X.astype("int16"))
    np.save(HERE / "bool.npy", X > 0)
    np.save(HERE / "vector.npy", X[0])
    with open(HERE / "version3.npy", "wb") as file:
        np.lib.format.write_array(file, X, version=(3, 0))
    np.savez(HERE / "one.npz", X)
    np.savez_compressed(HERE / "two.npz", x=X, weights=X[0])


def sparse():
    """[[1.5, 0, 3], [0, 5.25, 0]] in every layout; one with unsorted and repeated indices."""
    dense = np.where(X > 1.5, X, 0)
    dense[0, 0], dense[1, 0] = 1.5, 0
    for layout in ["csr", "csc", "coo"]:
        matrix = scipy.sparse.csr_array(dense).asformat(layout)
        scipy.sparse.save_npz(HERE / f"{layout}.npz", matrix, compressed=layout != "csc")
    unsorted = scipy.sparse.csr_matrix(
        (np.array([2, 1, 1, 5], dtype="float32"), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    scipy.sparse.save_npz(HERE / "unsorted.npz", unsorted)


def table():
    """A table with a column of every kind that can be read."""
    return pa.table(
        {
            "cell": ["a", "b", "c"],
            "int8": pa.array([1, -2, 3], pa.int8()),
            "uint64": pa.array([1, 2, 2**63], pa.uint64()),
            "float16": pa.array(np.array([0.5, 1, 2], "float16")),
            "float32": pa.array([0.5, 1, 2], pa.float32()),
            "bool": [True, False, True],
            "decimal": [decimal.Decimal("1.25"), decimal.Decimal("-3.50"), decimal.Decimal("0")],
            "coded": pa.array([7.5, 8.5, 7.5]).dictionary_encode(),
            "group": pa.array(["x", "y", "x"]).dictionary_encode(),
            "day": [datetime.date(2024, 1, day) for day in (1, 2, 3)],
            "weight": [1.0, 2.0, 0.5],
        }
    )


def columns():
    kinds = table()
    pa.parquet.write_table(kinds, HERE / "kinds.parquet", row_group_size=2)
    for compression in ["uncompressed", "lz4", "zstd"]:
        pa.feather.write_feather(kinds, str(HERE / f"kinds_{compression}.arrow"), compression=compression, chunksize=2)
    with pa.ipc.new_stream(HERE / "kinds.arrows", kinds.schema) as stream:
        stream.write_table(kinds, max_chunksize=2)
    pyarrow.parquet.write_table(
        pa.table({"a": X[0], "b": X[1]}),
        HERE / "page_checksums.parquet",
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
    )
    for compression in ["gzip", "brotli", "lz4", "snappy", "zstd", "none"]:
        pa.parquet.write_table(pa.table({"a": X[0], "b": X[1]}), HERE / f"{compression}.parquet", compression=compression)
    single = pa.table({"a": X[0].astype("float32"), "b": X[1].astype("float32")})
    pa.parquet.write_table(single, HERE / "float32.parquet", data_page_version="2.0", use_dictionary=False)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(HERE / "range_index.parquet")
    frame.to_parquet(HERE / "stored_range_index.parquet", index=True)
    frame.set_axis(["r", "s"]).to_parquet(HERE / "text_index.parquet")
    frame.set_axis(pd.Index([20, 10], name="sample")).to_parquet(HERE / "number_index.parquet")


def zero_rows():
    """Tables of five columns and no row."""
    empty = pa.table({name: pa.array([], pa.float64()) for name in "abcde"})
    pa.parquet.write_table(empty, HERE / "zero_rows.parquet")
    pa.feather.write_feather(empty, str(HERE / "zero_rows.feather"))
    np.save(HERE / "zero_rows.npy", np.zeros((0, 5)))
    scipy.sparse.save_npz(HERE / "zero_rows.npz", scipy.sparse.csr_array((0, 5)))


def rounded():
    """Whole numbers of which 64-bit floating-point numbers hold only some; the first that is rounded stands in row 2, column 2."""
    whole = np.array([[2**53, 2], [4, 2**53 + 1], [2**53 + 3, 6]])
    table = pa.table({"a": whole[:, 0], "b": whole[:, 1]})
    pa.parquet.write_table(table, HERE / "rounded.parquet", row_group_size=2)
    pa.feather.write_feather(table, str(HERE / "rounded.feather"), chunksize=2)
    scipy.sparse.save_npz(HERE / "rounded_csr.npz", scipy.sparse.csr_array(whole))
    scipy.sparse.save_npz(HERE / "rounded_coo.npz", scipy.sparse.coo_array(whole))
    np.savez(HERE / "rounded.npz", whole)
    scipy.io.mmwrite(HERE / "rounded.mtx", scipy.sparse.coo_array(whole))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    arrays()
    sparse()
    columns()
    zero_rows()
    rounded()
