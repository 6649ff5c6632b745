// The kernels of the back end for CUDA. kernels.ptx holds them compiled, by
//     python crates/karhunen-device/src/cuda/kernels.py
// so that neither a compiler of CUDA nor its run-time form is needed. All arithmetic is in double precision.

typedef long long i64;
typedef unsigned int u32;

/// Standardises a panel of dense rows, of columns from first_col on:
///     out[i][j] = (x[first_row + i][at] - center[at]) * factor[at] * root[first_row + i], at = first_col + j.
/// x has p columns, row-major; out has n_rows x width values, fewer than 2^32. A null root is `common`.
template <typename T>
__device__ void dense_panel(double* out, const T* x, i64 p, i64 first_row, i64 first_col, u32 n_rows,
                            u32 width, const double* center, const double* factor, const double* root,
                            double common)
{
    const u32 total = n_rows * width;
    #pragma unroll 1
    for (i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x; at < total; at += gridDim.x * (i64)blockDim.x) {
        const u32 i = (u32)at / width;
        const i64 j = first_col + ((u32)at - i * width);
        const double row = root ? root[first_row + i] : common;
        out[at] = ((double)x[(first_row + i) * p + j] - center[j]) * factor[j] * row;
    }
}

/// Sums over the rows of a chunk, blockIdx.y: out[chunk][0][j] = sum w d, out[chunk][1][j] = sum w d^2 with
/// d = x[i][j] - shift[j]. A null weight means ones.
template <typename T>
__device__ void dense_sums(double* out, const T* x, i64 n, i64 p, i64 chunk_rows, const double* shift,
                           const double* weight)
{
    const i64 j = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (j >= p) return;
    const i64 first = blockIdx.y * chunk_rows;
    const i64 end = first + chunk_rows < n ? first + chunk_rows : n;
    const double from = shift[j];
    double sum = 0.0, squares = 0.0;
    #pragma unroll 4
    for (i64 i = first; i < end; i++) {
        const double d = (double)x[i * p + j] - from;
        const double wd = weight ? weight[i] * d : d;
        sum += wd;
        squares += wd * d;
    }
    out[(2 * blockIdx.y) * p + j] = sum;
    out[(2 * blockIdx.y + 1) * p + j] = squares;
}

extern "C" __global__ void dense_panel_f32(double* out, const float* x, i64 p, i64 first_row, i64 first_col,
                                           u32 n_rows, u32 width, const double* center, const double* factor,
                                           const double* root, double common)
{
    dense_panel(out, x, p, first_row, first_col, n_rows, width, center, factor, root, common);
}

extern "C" __global__ void dense_panel_f64(double* out, const double* x, i64 p, i64 first_row, i64 first_col,
                                           u32 n_rows, u32 width, const double* center, const double* factor,
                                           const double* root, double common)
{
    dense_panel(out, x, p, first_row, first_col, n_rows, width, center, factor, root, common);
}

extern "C" __global__ void dense_sums_f32(double* out, const float* x, i64 n, i64 p, i64 chunk_rows,
                                          const double* shift, const double* weight)
{
    dense_sums(out, x, n, p, chunk_rows, shift, weight);
}

extern "C" __global__ void dense_sums_f64(double* out, const double* x, i64 n, i64 p, i64 chunk_rows,
                                          const double* shift, const double* weight)
{
    dense_sums(out, x, n, p, chunk_rows, shift, weight);
}

/// Standardises a panel of sparse rows, one block of threads a row: zeros, then the stored entries.
/// root points at the first row of the panel.
extern "C" __global__ void sparse_panel(double* out, const int* start, const int* index, const double* value,
                                        i64 first_row, i64 p, const double* center, const double* factor,
                                        const double* root, double common)
{
    const i64 i = first_row + blockIdx.x;
    const double row = root ? root[i] : common;
    double* line = out + blockIdx.x * p;
    #pragma unroll 1
    for (i64 j = threadIdx.x; j < p; j += blockDim.x) line[j] = -center[j] * factor[j] * row;
    __syncthreads();
    #pragma unroll 1
    for (int e = start[i] + threadIdx.x; e < start[i + 1]; e += blockDim.x) {
        const int j = index[e];
        line[j] = (value[e] - center[j]) * factor[j] * row;
    }
}

/// Sums over the stored entries of each line, one block of 128 threads a line: out[line] = sum w d,
/// sum w d^2, sum w with d = value - shift[line] and the weight w of the index. A null weight means ones.
extern "C" __global__ void sparse_sums(double* out, const int* start, const int* index, const double* value,
                                       const double* shift, const double* weight)
{
    __shared__ double sums[3][128];
    const i64 line = blockIdx.x;
    const int t = threadIdx.x;
    double sum = 0.0, squares = 0.0, stored = 0.0;
    #pragma unroll 1
    for (int e = start[line] + t; e < start[line + 1]; e += 128) {
        const double w = weight ? weight[index[e]] : 1.0;
        const double d = value[e] - shift[line];
        sum += w * d;
        squares += w * d * d;
        stored += w;
    }
    sums[0][t] = sum;
    sums[1][t] = squares;
    sums[2][t] = stored;
    #pragma unroll 1
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            for (int k = 0; k < 3; k++) sums[k][t] += sums[k][t + half];
    }
    if (t < 3) out[3 * line + t] = sums[t][0];
}

/// x[i][c] = (x[i][c] - a[i] * t[c]) * b[i] for n_rows x width values. A null a means ones, a null b for
/// `common`.
extern "C" __global__ void correct(double* x, i64 n_rows, u32 width, const double* a, const double* t,
                                   const double* b, double common)
{
    const i64 total = n_rows * width;
    #pragma unroll 1
    for (i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x; at < total; at += gridDim.x * (i64)blockDim.x) {
        const i64 i = at / width;
        const u32 c = (u32)(at - i * width);
        x[at] = (x[at] - (a ? a[i] : 1.0) * t[c]) * (b ? b[i] : common);
    }
}
