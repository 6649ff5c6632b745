"""Write the Zarr stores in this folder from golden/scanpy_cells.h5ad. Run from the root of the repository:

    python crates/karhunen-io/tests/data/make_zarr.py

needs anndata 0.12, zarr 3.1 and numcodecs 0.16. `cells_v2.zarr.zip` and `cells_v3.zarr.zip` hold the AnnData, each
matrix with other chunks and codecs than those that AnnData writes:

                       version 2                            version 3
    X                  as AnnData: Blosc, LZ4, shuffle      as AnnData: Zstandard
    layers["counts"]   zlib, chunks of 500                  shards of 1000, chunks of 100, gzip, CRC-32C
    layers["by_gene"]  not packed, big-endian               not packed, big-endian, chunks that are fill values left out
    layers["dense"]    Blosc, Zstandard, bits shuffled,     shards of 80 x 120, chunks of 20 x 30, transposed, Blosc with
                       chunks of 44 x 96 by columns         LZ4, the index at the start
    raw.X              LZ4, shuffle                         gzip
    obs index          chunks of 40 texts                   texts of fixed length
    var                as in the file; `categories`, highly_variable as categories; `nullable`, the same with a mask

`tables_v2.zarr.zip` and `tables_v3.zarr.zip` hold arrays with i + 1000 j in row i and column j, 23 x 7: `whole` (int16),
`filled` (float32, of which one chunk of 10 x 5 is left out, with the fill value -1), `half` (float16), and in version 2
`zstd`. `blosc.bin` holds frames of Blosc, each after a line with its name, the size and the number of its elements, and its length.
"""

import os
import shutil
import tempfile
import zipfile

import anndata as ad
import numcodecs
import numcodecs.blosc
import numpy as np
import pandas as pd
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec

FOLDER = "crates/karhunen-io/tests/data/zarr"
os.makedirs(FOLDER, exist_ok=True)


def zipped(folder, name):
    """Pack a folder without compression, in the order of its names and with a fixed date."""
    with zipfile.ZipFile(f"{FOLDER}/{name}.zip", "w") as archive:
        for parent, _, files in sorted(os.walk(folder)):
            for file in sorted(files):
                path = os.path.join(parent, file)
                info = zipfile.ZipInfo(os.path.relpath(path, folder))
                with open(path, "rb") as content:
                    archive.writestr(info, content.read())


def replaced(group, name, array=None, **options):
    """Write an array again, with other chunks and codecs."""
    array = group[name][:] if array is None else array
    attributes = dict(group[name].attrs)
    dtype = options.pop("dtype", array.dtype)
    del group[name]
    new = group.create_array(name, shape=array.shape, dtype=dtype, **options)
    new[:] = array
    new.attrs.update(attributes)


adata = ad.read_h5ad("golden/scanpy_cells.h5ad")
flags = adata.var["highly_variable"].to_numpy()
adata.var["categories"] = pd.Categorical(flags)
adata.var["nullable"] = pd.array(flags, dtype="boolean")
work = tempfile.mkdtemp()

ad.settings.zarr_write_format = 2
store = f"{work}/cells_v2.zarr"
adata.write_zarr(store)
root = zarr.open_group(store, mode="r+", use_consolidated=False)
for part in ("data", "indices", "indptr"):
    replaced(root["layers/counts"], part, chunks=(500,), compressors=numcodecs.Zlib(5))
    array = root["layers/by_gene"][part][:]
    replaced(root["layers/by_gene"], part, dtype=array.dtype.newbyteorder(">"), compressors=None)
    size = root["raw/X"][part].dtype.itemsize
    replaced(root["raw/X"], part, chunks=(1000,), compressors=numcodecs.LZ4(), filters=[numcodecs.Shuffle(size)])
packed = numcodecs.Blosc("zstd", 5, numcodecs.Blosc.BITSHUFFLE)
replaced(root["layers"], "dense", chunks=(44, 96), order="F", compressors=packed)
replaced(root["obs"], "_index", dtype=str, chunks=(40,), filters=[numcodecs.VLenUTF8()], compressors=numcodecs.Zstd())
os.remove(f"{store}/.zmetadata")
zipped(store, "cells_v2.zarr")

ad.settings.zarr_write_format = 3
store = f"{work}/cells_v3.zarr"
adata.write_zarr(store)
root = zarr.open_group(store, mode="r+", use_consolidated=False)
for part in ("data", "indices", "indptr"):
    group = root["layers/counts"]
    replaced(group, part, chunks=(100,), shards=(1000,), compressors=[GzipCodec(level=5), Crc32cCodec()])
    replaced(
        root["layers/by_gene"], part, chunks=(64,), serializer=BytesCodec(endian="big"), compressors=None, fill_value=1
    )
    replaced(root["raw/X"], part, chunks=(1000,), compressors=GzipCodec(level=5))
dense = root["layers/dense"][:]
attributes = dict(root["layers/dense"].attrs)
del root["layers/dense"]
inner = [TransposeCodec(order=(1, 0)), BytesCodec(), BloscCodec(typesize=4, cname="lz4", shuffle="shuffle")]
sharding = ShardingCodec(chunk_shape=(20, 30), codecs=inner, index_location="start")
new = zarr.create(
    shape=dense.shape, dtype=dense.dtype, chunks=(80, 120), codecs=[sharding], store=store, path="layers/dense"
)
new[:] = dense
new.attrs.update(attributes)
names = root["obs/_index"][:].astype("U12")
replaced(root["obs"], "_index", array=names, chunks=(40,))
zipped(store, "cells_v3.zarr")

table = np.arange(23)[:, None] + 1000 * np.arange(7)
for version in (2, 3):
    store = f"{work}/tables_v{version}.zarr"
    root = zarr.open_group(store, mode="w", zarr_format=version)
    root.create_array("whole", data=table.astype("int16"), chunks=(5, 7))
    new = root.create_array("filled", shape=table.shape, chunks=(10, 5), dtype="float32", fill_value=-1)
    values = table.astype("float32")
    values[10:20, 5:] = -1
    new[:] = values
    root.create_array("half", data=np.minimum(table, 2000).astype("float16"), chunks=(23, 7))
    if version == 2:
        root.create_array("zstd", data=table.astype(">u4"), chunks=(23, 2), compressors=numcodecs.Zstd())
    zipped(store, f"tables_v{version}.zarr")

with open(f"{FOLDER}/blosc.bin", "wb") as file:
    for size in (1, 2, 3, 4, 8, 17):
        for n, block in ((13, 0), (650, 1024)) + (((1600, 0),) if size == 4 else ()):
            i = np.arange(n)
            elements = np.repeat((i % 7).astype(np.uint8)[:, None], size, axis=1)
            low = (i * i % 1009).astype("<u2").view(np.uint8).reshape(n, 2)
            elements[:, : min(2, size)] = low[:, : min(2, size)]
            for compression in ("blosclz", "lz4", "zlib", "zstd"):
                for shuffle in (0, 1, 2):
                    frame = numcodecs.blosc.compress(
                        elements.tobytes(), compression.encode(), 5, shuffle, block, typesize=size
                    )
                    file.write(f"{compression}-{shuffle} {size} {n} {len(frame)}\n".encode() + frame)
shutil.rmtree(work)
