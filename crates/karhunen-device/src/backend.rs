//! The option `device`.

use std::fmt;

use karhunen::choice::{Choice, Named};

/// Where a fit computes its products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The processor.
    #[default]
    Cpu,
    /// The first GPU that CUDA finds.
    Cuda,
}

impl Choice for Backend {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Cpu, "cpu", "The processor, with all of its cores"),
        Named::new(
            Self::Cuda,
            "cuda",
            "A GPU of NVIDIA, which holds a copy of the data; needs CUDA 12 or 13",
        ),
    ];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.named().name)
    }
}
