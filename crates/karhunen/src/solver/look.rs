//! A look at the spectrum: how many eigenvalues a share of their sum takes, estimated from a few products.
//!
//! A block of random columns and its Krylov space are a quadrature rule for the density of the eigenvalues: every Ritz value is
//! a node, and its weight is the part that the first block has of its Ritz vector (Golub & Meurant 1994; Lin, Saad & Yang
//! 2016, doi:10.1137/130934283). The space is the one that block Krylov iteration begins with, so that a look before that
//! route costs nothing beyond it.

/// A node of the quadrature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// A Ritz value.
    pub(super) value: f64,
    /// How many eigenvalues it stands for.
    pub(super) weight: f64,
    /// The norm of its residual.
    pub(super) residual: f64,
}

/// A node whose residual is below this share of its value stands for one eigenvalue: its weight is known.
const SETTLED: f64 = 0.1;

/// About how many of `dim` eigenvalues, the largest first, have the sum `sum`, where all of them have the sum `total`. `nodes`
/// descend. At least 1 and at most `dim`.
///
/// The leading nodes that have settled count as one eigenvalue each. The others share out what is left of the total: the weight
/// of a single eigenvalue is off by half as a rule where the first block has eight columns, that of many together by little.
pub(super) fn count(nodes: &[Node], dim: usize, sum: f64, total: f64) -> usize {
    let settled = nodes.iter().take_while(|node| node.residual <= SETTLED * node.value).count();
    let (settled, others) = nodes.split_at(settled);
    let left = (total - settled.iter().map(|node| node.value).sum::<f64>()).max(0.0);
    let found: f64 = others.iter().map(|node| node.weight * node.value.max(0.0)).sum();
    let factor = if found > 0.0 { left / found } else { 0.0 };
    let weighed = others.iter().map(|node| (node.value, (factor * node.weight).max(1.0)));
    let (mut reached, mut number) = (0.0, 0.0);
    for (value, weight) in settled.iter().map(|node| (node.value, 1.0)).chain(weighed) {
        let part = weight * value.max(0.0);
        if reached + part > sum {
            number += (sum - reached) / value;
            return (number.ceil() as usize).clamp(1, dim);
        }
        reached += part;
        number += weight;
    }
    dim
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(value: f64, weight: f64, residual: f64) -> Node {
        Node { value, weight, residual }
    }

    #[test]
    fn settled_nodes_are_single_eigenvalues() {
        // Eigenvalues 8, 4, 2: their weights by eight random vectors say nothing.
        let nodes = [node(8.0, 0.3, 1e-9), node(4.0, 2.5, 1e-9), node(2.0, 1.7, 1e-9)];
        let counts = [1.0, 8.5, 11.9, 12.5, 13.9].map(|sum| count(&nodes, 3, sum, 14.0));
        assert_eq!(counts, [1, 2, 2, 3, 3]);
        assert_eq!(count(&nodes, 3, 15.0, 14.0), 3, "more than there is takes all");
    }

    #[test]
    fn other_nodes_share_what_is_left() {
        // One eigenvalue of 50, and a hundred of about 1 that two nodes stand for with weights that are too small.
        let nodes = [node(50.0, 0.5, 1e-3), node(1.1, 30.0, 0.5), node(0.9, 30.0, 0.5)];
        assert_eq!(count(&nodes, 101, 40.0, 150.0), 1);
        // 27.5 of 60 in the first node: a half of 55% of what is left.
        assert_eq!(count(&nodes, 101, 50.0 + 27.5, 150.0), 1 + 25);
        let most = count(&nodes, 101, 50.0 + 95.0, 150.0);
        assert!((90..=101).contains(&most), "{most}");
    }

    #[test]
    fn nothing_known_is_all() {
        assert_eq!(count(&[], 7, 1.0, 2.0), 7);
        assert_eq!(count(&[node(0.0, 1.0, 0.0)], 7, 1.0, 2.0), 7);
    }
}
