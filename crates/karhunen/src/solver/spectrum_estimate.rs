//! The spectrum estimate: the number of eigenvalues that a share of their sum takes, from a few products.
//!
//! A random block and its Krylov space give a quadrature rule for the density of the eigenvalues: the nodes are
//! the Ritz values, and the weight of a node is the squared norm of its Ritz vector within the first block (Golub
//! & Meurant 1994; Lin, Saad & Yang 2016, doi:10.1137/130934283). Block Krylov iteration begins with the same
//! space, so an estimate before that route costs nothing extra.

/// A node of the quadrature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// A Ritz value.
    pub(super) value: f64,
    /// Number of eigenvalues that the node represents.
    pub(super) weight: f64,
    /// The norm of its residual.
    pub(super) residual: f64,
}

/// A node whose residual is below this fraction of its value represents one eigenvalue.
const SETTLED: f64 = 0.1;

/// Estimates how many of `dim` eigenvalues, the largest first, have the sum `sum`, if all have the sum `total`.
/// `nodes` are in descending order. Returns at least 1 and at most `dim`.
///
/// The leading nodes that have converged count as one eigenvalue each. The others share the rest of the total by
/// their weights: with eight random columns the weight of a single eigenvalue is off by half, the weight of many
/// together by little.
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
    fn converged_nodes_count_as_single_eigenvalues() {
        // Eigenvalues 8, 4, 2, whose weights by eight random vectors are far from one.
        let nodes = [node(8.0, 0.3, 1e-9), node(4.0, 2.5, 1e-9), node(2.0, 1.7, 1e-9)];
        let counts = [1.0, 8.5, 11.9, 12.5, 13.9].map(|sum| count(&nodes, 3, sum, 14.0));
        assert_eq!(counts, [1, 2, 2, 3, 3]);
        assert_eq!(count(&nodes, 3, 15.0, 14.0), 3, "more than there is takes all");
    }

    #[test]
    fn other_nodes_share_the_rest_of_the_total() {
        // One eigenvalue of 50, and a hundred of about 1, represented by two nodes with too small weights.
        let nodes = [node(50.0, 0.5, 1e-3), node(1.1, 30.0, 0.5), node(0.9, 30.0, 0.5)];
        assert_eq!(count(&nodes, 101, 40.0, 150.0), 1);
        // 27.5 of 60 in the first node: half of 55% of the rest.
        assert_eq!(count(&nodes, 101, 50.0 + 27.5, 150.0), 1 + 25);
        let most = count(&nodes, 101, 50.0 + 95.0, 150.0);
        assert!((90..=101).contains(&most), "{most}");
    }

    #[test]
    fn without_nodes_all_eigenvalues_count() {
        assert_eq!(count(&[], 7, 1.0, 2.0), 7);
        assert_eq!(count(&[node(0.0, 1.0, 0.0)], 7, 1.0, 2.0), 7);
    }
}
