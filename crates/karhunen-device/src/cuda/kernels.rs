//! The kernels of `kernels.cu` and their launches.
#![allow(unsafe_code)]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaView, LaunchConfig, PushKernelArg as _};
use cudarc::nvrtc::Ptx;

use crate::cuda::gpu::{Gpu, Result, driver};
use crate::cuda::sparse::Lines;

/// Threads of a block of the kernels that divide their work by elements.
const THREADS: u32 = 256;
/// Threads of a block of `sparse_sums` and `dense_sums`.
pub(super) const LINE_THREADS: u32 = 128;
/// Most blocks of threads of a kernel that takes several elements a thread.
const BLOCKS: u64 = 1 << 16;

/// A null pointer as an argument of a kernel.
const NULL: u64 = 0;

/// The functions of `kernels.ptx`. Pairs are for f32 and f64.
#[derive(Debug)]
pub(super) struct Kernels {
    dense_panel: [CudaFunction; 2],
    dense_sums: [CudaFunction; 2],
    sparse_panel: CudaFunction,
    sparse_sums: CudaFunction,
    correct: CudaFunction,
}

impl Kernels {
    /// Loads the kernels, which the driver compiles for the GPU.
    pub(super) fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let module = context
            .load_module(Ptx::from_src(include_str!("kernels.ptx")))
            .map_err(driver("cuModuleLoadData"))?;
        let function = |name: &str| module.load_function(name).map_err(driver("cuModuleGetFunction"));
        Ok(Self {
            dense_panel: [function("dense_panel_f32")?, function("dense_panel_f64")?],
            dense_sums: [function("dense_sums_f32")?, function("dense_sums_f64")?],
            sparse_panel: function("sparse_panel")?,
            sparse_sums: function("sparse_sums")?,
            correct: function("correct")?,
        })
    }
}

/// Centres and factors of the columns and factors of the rows, in the memory of the GPU.
pub(super) struct OnGpu {
    pub(super) center: CudaSlice<f64>,
    pub(super) factor: CudaSlice<f64>,
    /// `None` means `common` in every row.
    pub(super) roots: Option<CudaSlice<f64>>,
    pub(super) common: f64,
}

/// The rows and the columns of a panel.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub(super) first_row: usize,
    pub(super) n_rows: usize,
    pub(super) first_col: usize,
    pub(super) n_cols: usize,
}

/// A launch of `THREADS` threads a block for `n` elements.
fn over(n: usize) -> LaunchConfig {
    let blocks = (n as u64).div_ceil(u64::from(THREADS)).clamp(1, BLOCKS) as u32;
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

impl Gpu {
    /// Writes the rows and columns of `panel` of dense values, standardised, into `out`.
    pub(super) fn dense_panel(
        &self,
        out: &mut CudaSlice<f64>,
        (x, is_f32, p): (&CudaSlice<u8>, bool, usize),
        panel: Panel,
        by: &OnGpu,
    ) -> Result<()> {
        let (p, first_row, first_col) = (p as i64, panel.first_row as i64, panel.first_col as i64);
        let (n_rows, width) = (panel.n_rows as u32, panel.n_cols as u32);
        let mut launch = self.stream.launch_builder(&self.kernels.dense_panel[usize::from(!is_f32)]);
        launch.arg(out).arg(x).arg(&p).arg(&first_row).arg(&first_col).arg(&n_rows).arg(&width);
        launch.arg(&by.center).arg(&by.factor);
        match &by.roots {
            Some(roots) => launch.arg(roots),
            None => launch.arg(&NULL),
        };
        launch.arg(&by.common);
        // SAFETY: the arguments match the kernel; the panel lies within x and fits in out.
        unsafe { launch.launch(over(panel.n_rows * panel.n_cols)) }.map_err(driver("dense_panel"))?;
        Ok(())
    }

    /// Sums of deviations from `shift` and of their squares for each of `n_chunks` runs of rows: n_chunks x 2
    /// x p.
    pub(super) fn dense_sums(
        &self,
        (x, is_f32): (&CudaSlice<u8>, bool),
        (n, p): (usize, usize),
        n_chunks: usize,
        shift: &CudaSlice<f64>,
        weights: Option<&CudaSlice<f64>>,
    ) -> Result<Vec<f64>> {
        let mut out = self.zeros("sums of columns", n_chunks * 2 * p)?;
        let (rows, columns, chunk_rows) = (n as i64, p as i64, n.div_ceil(n_chunks) as i64);
        let mut launch = self.stream.launch_builder(&self.kernels.dense_sums[usize::from(!is_f32)]);
        launch.arg(&mut out).arg(x).arg(&rows).arg(&columns).arg(&chunk_rows).arg(shift);
        match weights {
            Some(weights) => launch.arg(weights),
            None => launch.arg(&NULL),
        };
        let grid = ((p as u64).div_ceil(u64::from(LINE_THREADS)) as u32, n_chunks as u32, 1);
        let config = LaunchConfig { grid_dim: grid, block_dim: (LINE_THREADS, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments match the kernel, which checks rows and columns.
        unsafe { launch.launch(config) }.map_err(driver("dense_sums"))?;
        self.get(&out, n_chunks * 2 * p)
    }

    /// Writes rows of a sparse matrix of `p` columns, standardised, into `out`. `roots` belong to the lines.
    pub(super) fn sparse_panel(
        &self,
        out: &mut CudaSlice<f64>,
        lines: &Lines,
        (first_row, n_rows): (usize, usize),
        by: &OnGpu,
        roots: Option<&CudaView<'_, f64>>,
    ) -> Result<()> {
        let (first, p) = (first_row as i64, lines.n_indices as i64);
        let mut launch = self.stream.launch_builder(&self.kernels.sparse_panel);
        launch.arg(out).arg(&lines.start).arg(&lines.index).arg(&lines.value).arg(&first).arg(&p);
        launch.arg(&by.center).arg(&by.factor);
        match roots {
            Some(roots) => launch.arg(roots),
            None => launch.arg(&NULL),
        };
        launch.arg(&by.common);
        let grid_dim = (n_rows as u32, 1, 1);
        let config = LaunchConfig { grid_dim, block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments match the kernel; the rows are lines and fit in out.
        unsafe { launch.launch(config) }.map_err(driver("sparse_panel"))?;
        Ok(())
    }

    /// Sums over the stored entries of each line: of deviations from `shift`, of their squares, and of
    /// weights.
    pub(super) fn sparse_sums(
        &self,
        lines: &Lines,
        shift: &CudaSlice<f64>,
        weights: Option<&CudaView<'_, f64>>,
    ) -> Result<Vec<f64>> {
        let mut out = self.zeros("sums of columns", 3 * lines.n_lines)?;
        let mut launch = self.stream.launch_builder(&self.kernels.sparse_sums);
        launch.arg(&mut out).arg(&lines.start).arg(&lines.index).arg(&lines.value).arg(shift);
        match weights {
            Some(weights) => launch.arg(weights),
            None => launch.arg(&NULL),
        };
        let grid_dim = (lines.n_lines as u32, 1, 1);
        let config = LaunchConfig { grid_dim, block_dim: (LINE_THREADS, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments match the kernel, with as many threads as it asks for and one block a
        // line.
        unsafe { launch.launch(config) }.map_err(driver("sparse_sums"))?;
        self.get(&out, 3 * lines.n_lines)
    }

    /// `x[i][c] = (x[i][c] - a[i] t[c]) b[i]`, shape (n, l). Without `a` it is one, without `b` it is
    /// `common`.
    pub(super) fn correct(
        &self,
        x: &mut CudaSlice<f64>,
        (n, l): (usize, usize),
        (a, t): (Option<&CudaSlice<f64>>, &CudaSlice<f64>),
        b: Option<&CudaSlice<f64>>,
        common: f64,
    ) -> Result<()> {
        let (n_rows, width) = (n as i64, l as u32);
        let mut launch = self.stream.launch_builder(&self.kernels.correct);
        launch.arg(x).arg(&n_rows).arg(&width);
        match a {
            Some(a) => launch.arg(a),
            None => launch.arg(&NULL),
        };
        launch.arg(t);
        match b {
            Some(b) => launch.arg(b),
            None => launch.arg(&NULL),
        };
        launch.arg(&common);
        // SAFETY: the arguments match the kernel, with the lengths that it reads.
        unsafe { launch.launch(over(n * l)) }.map_err(driver("correct"))?;
        Ok(())
    }
}
