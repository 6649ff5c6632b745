"""Compare the denoising of kernel ridge regression and the fixed-point iteration on handwritten digits.

Components are fitted to 1,000 digits, clean or noisy; gamma, the number of components and alpha minimise the mean
squared error of 297 other digits; the reported errors are those of the remaining 500, as means over draws of the
noise.

    python benchmarks/preimages.py [--draws 5]
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
from karhunen import PCA, KernelPCA

DATA = Path(__file__).parents[1] / "examples/data/digits_8x8.csv.gz"
COMPONENTS = (16, 32, 64, 128, 250)
#: Multiples of 1 / the median squared distance.
GAMMAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
ALPHAS = (0.0001, 0.001, 0.01, 1.0)


def error(found: np.ndarray, clean: np.ndarray) -> float:
    return float(np.square(found - clean).mean())


def linear(fitted, noisy):
    """Yield settings and denoised digits."""
    for k in (k for k in COMPONENTS if k < fitted.shape[1]):
        pca = PCA(k).fit(fitted)
        yield (k,), [pca.inverse_transform(pca.transform(x)) for x in noisy]


def kernel(fitted, noisy, pre_image):
    """Yield settings and denoised digits."""
    median = KernelPCA(1, kernel="rbf", gamma="median").fit(fitted).gamma_
    for factor, k in itertools.product(GAMMAS, COMPONENTS):
        for alpha in ALPHAS if pre_image == "ridge" else (None,):
            pca = KernelPCA(
                k, kernel="rbf", gamma=factor * median, fit_inverse_transform=True, pre_image=pre_image, alpha=alpha
            ).fit(fitted)
            yield (k, factor, alpha), [pca.inverse_transform(pca.transform(x)) for x in noisy]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument(
        "--deviation", type=float, nargs="+", default=[4.0, 8.0], help="of the noise; pixels are 0 to 16"
    )
    arguments = parser.parse_args()
    digits = np.loadtxt(DATA, delimiter=",", skiprows=1)[:, :-1]
    digits = digits[np.random.default_rng(0).permutation(len(digits))]
    train, validation, test = np.split(digits, [1000, 1297])
    methods = {
        "linear PCA": linear,
        "ridge": lambda *data: kernel(*data, "ridge"),
        "fixed point": lambda *data: kernel(*data, "fixed-point"),
    }
    print("| fitted to | noise | method | validation | test | of draws | settings (k, gamma * median, alpha) |")
    for deviation, fitted_to in itertools.product(arguments.deviation, ("clean", "noisy")):
        results = {name: {} for name in methods}
        unchanged = []
        for draw in range(arguments.draws):
            rng = np.random.default_rng(draw + 1)
            noisy = [x + deviation * rng.normal(size=x.shape) for x in (train, validation, test)]
            unchanged.append(error(noisy[2], test))
            fitted = train if fitted_to == "clean" else noisy[0]
            for name, method in methods.items():
                for settings, (v, t) in method(fitted, noisy[1:]):
                    results[name].setdefault(settings, []).append((error(v, validation), error(t, test)))
        print(f"| {fitted_to} | {deviation:g} | nothing | | {np.mean(unchanged):.2f} | | |")
        for name, found in results.items():
            best = min(found, key=lambda settings: np.mean(found[settings], axis=0)[0])
            chosen, errors = np.mean(found[best], axis=0), [t for _, t in found[best]]
            span = f"{min(errors):.2f} to {max(errors):.2f}"
            print(
                f"| {fitted_to} | {deviation:g} | {name} | {chosen[0]:.2f} | {chosen[1]:.2f} | {span} | {best} |",
                flush=True,
            )
        strong = min(np.mean(found, axis=0)[1] for (_, _, alpha), found in results["ridge"].items() if alpha == 1.0)
        print(f"| {fitted_to} | {deviation:g} | ridge, alpha 1, best on the test | | {strong:.2f} | | |", flush=True)
        by_rule = {k: np.mean(found, axis=0)[1] for (k, factor, _), found in results["fixed point"].items() if factor == 1.0}
        said = ", ".join(f"{k}: {value:.2f}" for k, value in by_rule.items())
        print(f"| {fitted_to} | {deviation:g} | fixed point, gamma='median', by k | | {said} | | |", flush=True)


if __name__ == "__main__":
    main()
