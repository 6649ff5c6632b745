#!/bin/sh
# Makes the files of this folder with karhunen 0.1.0 (commit ded8066), which wrote no checksums:
#   git worktree add ../k010 ded8066 && cargo build --release --manifest-path ../k010/Cargo.toml
#   KARHUNEN=../k010/target/release/karhunen sh make.sh
# They are never made again: what 0.1.0 wrote must load, and give these numbers, in every later version.
# `library/` holds the kinds that the command line does not write; make.rs says how those were made.
set -eu
cd "$(dirname "$0")"
k=${KARHUNEN:?the command of version 0.1.0}
"$k" --version | grep -q ' 0\.1\.0$'

$k fit rows.csv --label group --scale -k 2 -q -o pca.model
$k transform pca.model rows.csv -o pca.csv
$k fit rows.csv --label group --no-center -k 1 -q --weights weights.csv --weighting population -o weighted.model
$k transform weighted.model rows.csv --whiten -o weighted.csv
for kernel in "rows rbf --gamma 0.1 --pre-image ridge --solver full" "landmarks polynomial --degree 2 --solver nystrom --kernel-features 6" \
    "features rbf --gamma 0.2 --solver fourier --kernel-features 32" "sparse cosine"; do
    set -- $kernel
    name=$1 function=$2
    shift 2
    data=rows.csv label="--label group"
    if [ "$name" = sparse ]; then data=sparse.mtx label=; fi
    $k fit "$data" $label --kernel "$function" "$@" -k 2 -q -o "kernel_$name.model"
    $k transform "kernel_$name.model" "$data" -o "kernel_$name.csv"
done
$k reconstruct kernel_rows.model kernel_rows.csv -o kernel_rows_back.csv
for method in als vb-full ridge; do
    $k fit holes.csv --missing=$method -k 1 --max-iter 30 -q -o "missing_$method.model"
    $k transform "missing_$method.model" holes.csv -o "missing_$method.csv"
    $k impute "missing_$method.model" holes.csv -q -o "missing_${method}_filled.csv"
done
$k fit ratings.csv --triples user,item,rating -k 1 --row-offsets --max-iter 30 -q -o triples.model
$k predict triples.model pairs.csv -q -o triples.csv
for method in als vb; do
    rm -f "$method.checkpoint"
    $k fit holes.csv --missing=$method -k 1 --tol 0 --max-iter 6 --checkpoint "$method.checkpoint" --checkpoint-every 0 -q
    cp "$method.checkpoint" "$method.kept"
    $k fit holes.csv --missing=$method -k 1 --tol 0 --max-iter 12 --checkpoint "$method.kept" --resume -q --scores "$method.resumed.csv"
    rm "$method.kept"
done
