#!/bin/sh
# Makes the files of this folder with karhunen 0.2.0: states of fits in batches, and sums of rows.
#   KARHUNEN=target/release/karhunen sh make.sh
# They are not made again once 0.2.0 is released: they must load, and give these numbers, in every later version.
set -eu
cd "$(dirname "$0")"
k=${KARHUNEN:?the command of version 0.2.0}
"$k" --version | grep -q ' 0\.2\.0$'
rm -f ./*.state ./*.scatter
rows=../golden_0_1_0/rows.csv

$k update scatter.state $rows --label group -k 2 --scale --half-life 20 -q
$k update sketch.state $rows --label group -k 1 --method sketch --oversamples 1 -q
for name in scatter sketch; do
    $k transform "$name.state" $rows --label group -o "$name.csv" --force
    cp "$name.state" "$name.kept"
    $k update "$name.kept" $rows --label group -q -o "$name.model"
    $k transform "$name.model" $rows --label group -o "$name.updated.csv" --force
    rm "$name.kept" "$name.model"
done
$k moments $rows --label group -q -o rows.scatter
$k fit --from-moments rows.scatter rows.scatter -k 2 -q -o moments.model
$k transform moments.model $rows --label group -o moments.csv --force
rm moments.model
