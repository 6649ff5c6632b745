//! Unpacking of genotypes, two bits each, to f32: at once by all threads, and in blocks of rows on one. IDs read
//! `unpack/shape/way`; elements are genotypes. The files are written to a temporary folder; the time includes opening them.

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use karhunen::source::Block;
use karhunen_io::{Data, ReadOptions, read};
use karhunen_testkit::SplitMix64;

const SHAPE: (usize, usize) = (2_000, 5_000);

/// Writes a .bed file by variants with random genotypes, of which a sixteenth are missing, and its companions.
fn write(path: &Path) -> std::io::Result<()> {
    let (n, p) = SHAPE;
    let mut random = SplitMix64::new(1);
    let mut bed = vec![0x6c, 0x1b, 1];
    // The codes of two copies, of one, of none and of a missing value.
    let code = |x: f64| if x < 1.0 / 16.0 { 0b01 } else { [0b00, 0b10, 0b11][(3.0 * x) as usize] };
    for _ in 0..p {
        bed.extend(
            (0..n.div_ceil(4)).map(|_| (0..4).fold(0u8, |byte, _| byte << 2 | code(random.uniform()))),
        );
    }
    std::fs::write(path, bed)?;
    let variants: String = (0..p).map(|j| format!("1 rs{j} 0 {j} A C\n")).collect();
    let samples: String = (0..n).map(|i| format!("0 s{i} 0 0 1 -9\n")).collect();
    std::fs::write(path.with_extension("bim"), variants)?;
    std::fs::write(path.with_extension("fam"), samples)
}

/// Visits all rows; returns the sum of the first ones of each block.
fn sum(data: &Data) -> f64 {
    let Data::F32(values) = data else { panic!("genotypes are f32") };
    let rows = values.source().expect("the file is open");
    let mut sum = 0.0;
    rows.visit(&mut |_, block| {
        if let Block::Dense(block) = block {
            sum += f64::from(block.get(0, 0));
        }
        Ok(())
    })
    .expect("the file is well formed");
    sum
}

fn all(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = folder.path().join("x.bed");
    write(&path).expect("the folder takes files");
    let mut group = c.benchmark_group(format!("unpack/{}x{}", SHAPE.0, SHAPE.1));
    group.throughput(Throughput::Elements((SHAPE.0 * SHAPE.1) as u64));
    for (way, memory_limit) in [("at-once", None), ("blocks", Some(1))] {
        let options = ReadOptions { memory_limit, ..ReadOptions::default() };
        group.bench_function(way, |b| {
            b.iter(|| sum(&read(&path, &options).expect("the file is well formed").data));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = all
}
criterion_main!(benches);
