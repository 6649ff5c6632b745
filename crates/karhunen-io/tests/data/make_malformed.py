"""Makes the binary files of tests/malformed: each breaks one rule of its format, and has a line in expected.tsv next to it.

Needs numpy, scipy, pandas and pyarrow; run from this folder: python make_malformed.py
"""

import datetime
import io
import json
import pathlib
import struct
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse

HERE = pathlib.Path(__file__).parent.parent / "malformed"
X = np.array([[1.5, -2.0, 3.0], [4.0, 5.25, -6.0]])
SPARSE = scipy.sparse.csr_array(np.array([[1.5, 0, 3.0], [0, 5.25, 0]]))


def write(folder, files):
    (HERE / folder).mkdir(exist_ok=True)
    for name, content in files.items():
        (HERE / folder / name).write_bytes(content)


def npy_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npy_with(header, data=b"", version=b"\1\0"):
    """An NPY file with any text for a header."""
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header.encode() + data


def described(descr, shape, data=b""):
    return npy_with(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


def npy():
    whole = npy_of(X)
    write(
        "npy",
        {
            "magic_alone.npy": whole[:6],
            "header_cut.npy": whole[:40],
            "version_unknown.npy": npy_with("{}", version=b"\4\1"),
            "header_not_a_dictionary.npy": npy_with("[1, 2]"),
            "header_key_missing.npy": npy_with("{'descr': '<f8', 'shape': (2, 3)}"),
            "header_key_twice.npy": npy_with("{'descr': '<f8', 'descr': '<f8'}"),
            "order_not_boolean.npy": npy_with("{'fortran_order': 1}"),
            "shape_negative.npy": described("'<f8'", "(2, -3)"),
            "shape_beyond_integers.npy": described("'<f8'", "(99999999999999999999, 2)"),
            "shape_huge.npy": described("'<f8'", "(4294967296, 4294967296)"),
            "values_cut.npy": whole[:-8],
            "values_too_many.npy": whole + b"\0",
            "two_arrays.npy": whole + whole,
            "scalar.npy": npy_of(np.float64(1)),
            "cube.npy": npy_of(X[None]),
            "complex.npy": npy_of(X.astype(complex)),
            "text.npy": npy_of(X.astype(str)),
            "bytes.npy": npy_of(X.astype("S4")),
            "object.npy": npy_of(X.astype(object)),
            "structured.npy": npy_of(np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")])),
            "dates.npy": npy_of(np.array(["2024-01-01"], dtype="M8[D]")),
            "spans.npy": npy_of(np.array([[1, 2]], dtype="m8[s]")),
            "long_double.npy": described("'<f16'", "(1, 1)", b"\0" * 16),
            "void.npy": described("'|V8'", "(1, 1)", b"\0" * 8),
        },
    )


def archive(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            # A fixed date: the same bytes each time.
            zipped.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def sparse_with(**changes):
    """The members of a scipy matrix, some replaced or (None) left out."""
    arrays = {
        "indices": SPARSE.indices,
        "indptr": SPARSE.indptr,
        "format": np.bytes_(b"csr"),
        "shape": np.array(SPARSE.shape),
        "data": SPARSE.data,
    }
    arrays = {name: array for name, array in (arrays | changes).items() if array is not None}
    return archive({f"{name}.npy": array if type(array) is bytes else npy_of(array) for name, array in arrays.items()})


def triples_with(**changes):
    arrays = {"row": [0, 0, 1], "col": [0, 2, 1], "shape": [2, 3]}
    arrays = {name: np.array(values) for name, values in (arrays | changes).items()}
    return sparse_with(indices=None, indptr=None, format=np.bytes_(b"coo"), **arrays)


def npz():
    whole = archive({"x.npy": npy_of(X)})
    central = whole.index(b"PK\1\2")
    larger = whole[: central + 24] + struct.pack("<I", 4_000_000_000) + whole[central + 28 :]
    content = whole.index(b"x.npy") + 20
    damaged = whole[:content] + bytes([whole[content] ^ 0xFF]) + whole[content + 1 :]
    write(
        "npz",
        {
            "magic_alone.npz": whole[:4],
            "cut.npz": whole[:-10],
            "without_arrays.npz": archive({"readme.txt": b"nothing here"}),
            "two_arrays.npz": archive({"x.npy": npy_of(X), "weights.npy": npy_of(X[0])}),
            "packed_bytes_damaged.npz": damaged,
            "size_too_large.npz": larger,
            "array_cut.npz": archive({"x.npy": npy_of(X)[:-8]}),
            "array_complex.npz": archive({"x.npy": npy_of(X * 1j)}),
            "array_not_npy.npz": archive({"x.npy": b"1,2\n3,4\n"}),
            "sparse_indptr_missing.npz": sparse_with(indptr=None),
            "sparse_shape_missing.npz": sparse_with(shape=None),
            "sparse_bsr.npz": sparse_with(format=np.bytes_(b"bsr")),
            "sparse_dia.npz": sparse_with(format=np.bytes_(b"dia")),
            "sparse_shape_of_three.npz": sparse_with(shape=np.array([2, 3, 4])),
            "sparse_shape_negative.npz": sparse_with(shape=np.array([-2, 3])),
            "sparse_indices_are_floats.npz": sparse_with(indices=SPARSE.indices.astype(float)),
            "sparse_index_beyond.npz": sparse_with(indices=np.array([0, 3, 1])),
            "sparse_index_negative.npz": sparse_with(indices=np.array([0, -1, 1])),
            "sparse_indptr_decreases.npz": sparse_with(indptr=np.array([0, 4, 3])),
            "sparse_indptr_starts_late.npz": sparse_with(indptr=np.array([1, 2, 3])),
            "sparse_indptr_ends_early.npz": sparse_with(indptr=np.array([0, 1, 2])),
            "sparse_indptr_short.npz": sparse_with(indptr=np.array([0, 3])),
            "sparse_data_short.npz": sparse_with(data=SPARSE.data[:2]),
            "sparse_data_complex.npz": sparse_with(data=SPARSE.data * 1j),
            "sparse_data_cut.npz": sparse_with(data=npy_of(SPARSE.data)[:-1]),
            "coo_row_beyond.npz": triples_with(row=[0, 0, 2]),
            "coo_row_negative.npz": triples_with(row=[0, 0, -1]),
            "coo_lengths_differ.npz": triples_with(row=[0, 0]),
            "coo_huge.npz": triples_with(shape=[2**62, 3]),
        },
    )


def table():
    return pa.table({"a": [1.0, 2.0, 3.0], "b": [1.5, 2.5, 3.5]})


def refused_tables():
    """Whole files with content that is not a matrix."""
    repeated = ["u", "v", "u"]
    return {
        # The first in the order of rows is named, not the first of a column.
        "null": pa.table({"a": [1.0, 2.0], "b": [1.0, None], "c": [None, 2.0]}),
        "list": pa.table({"a": [1.0], "b": [[1.0, 2.0]]}),
        "struct": pa.table({"a": [1.0], "b": [{"c": 1.0}]}),
        "dates": pa.table({"a": [1.0], "day": [datetime.date(2024, 1, 1)]}),
        "text": pa.table({"a": [1.0, 2.0, 3.0], "b": repeated}),
        "text_coded": pa.table({"a": [1.0, 2.0, 3.0], "b": pa.array(repeated).dictionary_encode()}),
        "text_alone": pa.table({"a": ["u", "v"]}),
        "no_columns": pa.table({}),
        "nulls_alone": pa.table({"a": pa.array([1.0, 2.0]), "b": pa.array([None, None], pa.null())}),
    }


def parquet_of(content, **options):
    file = io.BytesIO()
    pa.parquet.write_table(content, file, **options)
    return file.getvalue()


def parquet():
    whole = parquet_of(table(), compression="snappy", use_dictionary=False)
    length = struct.unpack("<I", whole[-8:-4])[0]
    files = {
        "magic_alone.parquet": whole[:4],
        "cut.parquet": whole[:-20],
        "footer_too_long.parquet": whole[:-8] + struct.pack("<I", len(whole)) + whole[-4:],
        "footer_damaged.parquet": whole[: -8 - length] + b"\xff" * length + whole[-8:],
        "page_damaged.parquet": whole[:4] + b"\xff" * 20 + whole[24:],
        "pages_missing.parquet": b"PAR1" + whole[-8 - length :],
    }
    files |= {f"{name}.parquet": parquet_of(content) for name, content in refused_tables().items()}
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(group=pd.Categorical(["x", "x"]))
    files["pandas_categories.parquet"] = parquet_of(pa.Table.from_pandas(frame))
    write("parquet", files)


def arrow_of(content, **options):
    file = io.BytesIO()
    pa.feather.write_feather(content, file, **options)
    return file.getvalue()


def stream_of(content):
    file = io.BytesIO()
    with pa.ipc.new_stream(file, content.schema) as stream:
        stream.write_table(content)
    return file.getvalue()


def arrow():
    whole, packed, stream = arrow_of(table(), compression="uncompressed"), arrow_of(table(), compression="lz4"), stream_of(table())
    length = struct.unpack("<i", whole[-10:-6])[0]
    body = packed.index(b"\x04\x22\x4d\x18")
    files = {
        "magic_alone.arrow": whole[:8],
        "cut.arrow": whole[:-20],
        "footer_too_long.arrow": whole[:-10] + struct.pack("<i", len(whole)) + whole[-6:],
        "footer_length_negative.arrow": whole[:-10] + struct.pack("<i", -1) + whole[-6:],
        "footer_damaged.arrow": whole[: -10 - length] + b"\xff" * length + whole[-10:],
        "buffer_damaged.arrow": packed[: body + 7] + b"\xff" * 8 + packed[body + 15 :],
        "stream_cut.arrows": stream[:-30],
        "stream_message_damaged.arrows": stream[:8] + b"\xff" * 16 + stream[24:],
        "stream_without_schema.arrows": b"\xff" * 4 + b"\0" * 4,
    }
    files |= {f"{name}.arrow": arrow_of(content, compression="uncompressed") for name, content in refused_tables().items()}
    write("arrow", files)


def model_of(metadata, tensors):
    header, data = {"__metadata__": metadata}, b""
    for name, array in tensors.items():
        array = np.asarray(array)
        kind = {"f": "F", "i": "I"}[array.dtype.kind] + str(8 * array.itemsize)
        end = len(data) + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


METADATA = {
    "karhunen": "0.1.0",
    "kind": "pca",
    "format_version": "1",
    "convergence": json.dumps(
        {"solver": "svd", "reason": "asked for", "n_passes": 2, "n_converged": 1, "tol": 1e-8}
    ),
    "dtype": "f64",
    "feature_names": '["a", "b"]',
    "n_samples": "4",
    "options": json.dumps(
        {
            "n_components": {"count": 1},
            "center": True,
            "scale": False,
            "weighting": "frequency",
            "solver": None,
            "tol": None,
            "max_iter": 1000,
            "block_size": None,
            "seed": 0,
            "n_threads": None,
            "strict": False,
        }
    ),
}
TENSORS = {
    "components": [[0.6, 0.8]],
    "explained_variance": [2.0],
    "explained_variance_ratio": [0.5],
    "singular_values": [3.0],
    "residuals": [1e-16],
    "mean": [1.0, 2.0],
    "scale": [1.0, 1.0],
    "noise_variance": 0.5,
    "total_variance": 4.0,
    "sum_of_weights": 4.0,
}


def metadata(**changes):
    entries = {key: text for key, text in (METADATA | changes).items() if text is not None}
    return model_of(entries, TENSORS)


def tensors(**changes):
    return model_of(METADATA, {name: array for name, array in (TENSORS | changes).items() if array is not None})


def model():
    whole = metadata()
    write(
        "model",
        {
            "table.csv": b"a,b\n1,2\n",
            "array.npy": npy_of(X),
            "empty.safetensors": b"",
            "header_cut.safetensors": whole[:60],
            "header_damaged.safetensors": whole[:9] + b"\xff" * 9 + whole[18:],
            "header_not_json.safetensors": whole.replace(b'"shape": [2]', b'"shape"; [2]', 1),
            "values_cut.safetensors": whole[:-1],
            "values_too_many.safetensors": whole + b"\0" * 8,
            "offsets_damaged.safetensors": whole.replace(b"[0, 16]", b"[0, 17]"),
            "shape_damaged.safetensors": whole.replace(b'"shape": [1, 2]', b'"shape": [9, 2]'),
            "other_program.safetensors": model_of({"format": "pt"}, TENSORS),
            "newer.safetensors": metadata(format_version="7"),
            "format_zero.safetensors": metadata(format_version="0"),
            "format_text.safetensors": metadata(format_version="one"),
            "format_missing.safetensors": metadata(format_version=None),
            "kind_missing.safetensors": metadata(kind=None),
            "kind_unknown.safetensors": metadata(kind="kernel"),
            "dtype_missing.safetensors": metadata(dtype=None),
            "names_too_few.safetensors": metadata(feature_names='["a"]'),
            "names_not_json.safetensors": metadata(feature_names="a, b"),
            "n_samples_negative.safetensors": metadata(n_samples="-1"),
            "options_empty.safetensors": metadata(options="{}"),
            "options_missing.safetensors": metadata(options=None),
            "convergence_not_an_object.safetensors": metadata(convergence="[]"),
            "components_missing.safetensors": tensors(components=None),
            "components_of_one_axis.safetensors": tensors(components=[0.6, 0.8]),
            "components_single.safetensors": tensors(components=np.array([[0.6, 0.8]], "float32")),
            "components_nan.safetensors": tensors(components=[[0.6, np.nan]]),
            "mean_too_long.safetensors": tensors(mean=[1.0, 2.0, 3.0]),
            "scale_missing.safetensors": tensors(scale=None),
            "variance_infinite.safetensors": tensors(explained_variance=[np.inf]),
            "feature_weights_too_few.safetensors": tensors(feature_weights=[1.0]),
        },
    )


if __name__ == "__main__":
    npy()
    npz()
    parquet()
    arrow()
    model()
