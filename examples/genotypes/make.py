"""Make the example genotypes: people of three populations that do not exist, and new samples to project onto them.

    python3 make.py

``people`` has 90 samples and 1,200 variants with 1 % of the genotypes missing. ``new`` has 30 samples of the same
populations and the same variants, in another order within chromosomes: the alleles of a third stand in the other
order, 40 variants are on the other strand, 25 are absent and 20 others were added. ``populations.csv`` has the
population of each sample.
"""

from pathlib import Path
from random import Random

FOLDER = Path(__file__).parent
#: Variance of allele frequencies between populations, as a share of f (1 - f).
FST = (0.03, 0.05, 0.08)
N_VARIANTS, N_EACH, N_NEW = 1200, 30, 10
MISSING = 0.01
CODES = {2: 0b00, None: 0b01, 1: 0b10, 0: 0b11}
PAIRS = ("AC", "AG", "CA", "CT", "GA", "GT", "TC", "TG")
#: Pairs of alleles that are the same on both strands, rare in genotyping arrays.
AMBIGUOUS = ("AT", "TA", "CG", "GC")
OTHER_STRAND = str.maketrans("ACGT", "TGCA")


def main() -> None:
    """Draw frequencies and genotypes, and write both sets of files."""
    random = Random(20260101)
    variants, frequencies = [], []
    for j in range(N_VARIANTS):
        chromosome, position = 1 + j * 22 // N_VARIANTS, 10_000 + 1_500 * j
        pairs = AMBIGUOUS if random.random() < 0.04 else PAIRS
        variants.append((chromosome, f"rs{1000 + 7 * j}", position, *random.choice(pairs)))
        ancestral = random.uniform(0.1, 0.9)
        shapes = [(1 - fst) / fst for fst in FST]
        frequencies.append([random.betavariate(ancestral * s, (1 - ancestral) * s) for s in shapes])
    people = [(f"P{k + 1}", f"P{k + 1}S{i + 1}", k) for k in range(3) for i in range(N_EACH)]
    new = [(f"P{k + 1}", f"P{k + 1}N{i + 1}", k) for k in range(3) for i in range(N_NEW)]

    def draw(samples: list[tuple[str, str, int]]) -> list[list[int | None]]:
        def genotype(f: float) -> int | None:
            copies = (random.random() < f) + (random.random() < f)
            return None if random.random() < MISSING else copies

        return [[genotype(f[k]) for *_, k in samples] for f in frequencies]

    write("people", variants, draw(people), people)
    rows = list(zip(variants, draw(new), strict=True))
    order = list(range(N_VARIANTS))
    random.shuffle(order)
    order.sort(key=lambda j: variants[j][0])
    chosen = random.sample(range(N_VARIANTS), 65)
    absent, flipped = set(chosen[:25]), set(chosen[25:])
    found = []
    for j in order:
        (chromosome, name, position, counted, other), genotypes = rows[j]
        if j in absent:
            continue
        if j in flipped:
            counted, other = counted.translate(OTHER_STRAND), other.translate(OTHER_STRAND)
        if j % 3 == 0:
            counted, other = other, counted
            genotypes = [None if copies is None else 2 - copies for copies in genotypes]
        found.append(((chromosome, name, position, counted, other), genotypes))
    for j in range(20):
        added = (22, f"rs9{j:04}", 500 + j, "A", "G")
        found.append((added, [random.choice((0, 1, 2)) for _ in new]))
    write("new", [variant for variant, _ in found], [genotypes for _, genotypes in found], new)
    lines = [f"{name},{population}" for population, name, _ in people + new]
    (FOLDER / "populations.csv").write_text("\n".join(["sample,population", *lines]) + "\n")


def write(name: str, variants: list, genotypes: list, samples: list) -> None:
    """Write the three files of PLINK 1."""
    packed = bytearray(b"\x6c\x1b\x01")
    for row in genotypes:
        for first in range(0, len(row), 4):
            packed.append(sum(CODES[copies] << 2 * i for i, copies in enumerate(row[first : first + 4])))
    (FOLDER / f"{name}.bed").write_bytes(packed)
    bim = [f"{chromosome}\t{rs}\t0\t{position}\t{a}\t{b}" for chromosome, rs, position, a, b in variants]
    (FOLDER / f"{name}.bim").write_text("\n".join(bim) + "\n")
    fam = [f"0\t{sample}\t0\t0\t0\t-9" for _, sample, _ in samples]
    (FOLDER / f"{name}.fam").write_text("\n".join(fam) + "\n")


if __name__ == "__main__":
    main()
