// Features in bins: edges are quantiles of a sample; a code is the number of edges below the value.

template <typename T>
__device__ void sort_in_block(T* keys, int n) {  // n is a power of two
  for (int size = 2; size <= n; size <<= 1)
    for (int step = size >> 1; step > 0; step >>= 1) {
      __syncthreads();
      for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
        int low = 2 * i - (i & (step - 1)), high = low + step;
        bool ascending = (low & size) == 0;
        T a = keys[low], b = keys[high];
        if ((a > b) == ascending) { keys[low] = b; keys[high] = a; }
      }
    }
  __syncthreads();
}

// The cell of a value in a regular grid over the edges; never falls as the value rises.
__device__ __forceinline__ int cell_of(double value, double origin, double scale) {
  return (int)min(max((value - origin) * scale, 0.0), (double)(CELLS - 1));
}

__device__ __forceinline__ u32 edges_below(const REAL* edges, REAL value) {
  u32 below = 0;
#pragma unroll
  for (u32 half = 128; half > 0; half >>= 1) below += edges[below + half - 1] < value ? half : 0;
  return below;
}

// One block a feature. Shared memory: n_padded keys. A value that would fill several bins gets an
// edge below it too, so that little else joins its bin; such features may have bins of one value.
// Grid: origin and scale, and for every cell the number of edges in cells before it, which is then the
// code of the values there; scale 0 where the grid does not tell most edges apart.
extern "C" __global__ void choose_edges(const REAL* table, i64 row_step, i64 column_step,
                                        const int* sample, i64 n_sample, i64 n_padded, i64 n_bins,
                                        REAL* edges, u8* is_discrete, double* grid, u8* cells) {
  extern __shared__ char room[];
  __shared__ REAL own[EDGES];
  REAL* keys = (REAL*)room;
  i64 f = blockIdx.x;
  int n_edges = (int)n_bins - 1;
  for (i64 i = threadIdx.x; i < n_padded; i += blockDim.x)
    keys[i] = i < n_sample ? table[sample[i] * row_step + f * column_step] : (REAL)INF;
  sort_in_block(keys, (int)n_padded);
  int repeats = 0;
  for (i64 i = threadIdx.x; i < EDGES; i += blockDim.x) {
    REAL value = (REAL)INF;
    if (i < n_edges) {
      i64 here = max((i + 1) * n_sample / n_bins, 1ll) - 1;
      i64 before = max(i * n_sample / n_bins, 1ll) - 1;
      i64 after = max((i + 2) * n_sample / n_bins, 1ll) - 1;
      value = keys[here];
      bool again = i + 1 < n_edges && keys[after] == value;
      repeats |= again;
      if (again && (i == 0 || keys[before] != value)) {
        i64 low = 0, high = here;  // first place of the value
        while (low < high) {
          i64 middle = (low + high) / 2;
          if (keys[middle] < value) low = middle + 1; else high = middle;
        }
        if (low > 0) value = keys[low - 1];
      }
    }
    own[i] = value;
    edges[f * EDGES + i] = value;
  }
  repeats = __syncthreads_or(repeats || n_sample < n_bins);
  if (threadIdx.x == 0) is_discrete[f] = repeats != 0;
  double origin = own[0], scale = (CELLS - 2) / ((double)own[n_edges - 1] - origin);
  int apart = 0;
  if (scale > 0 && scale < INF) {
    int i = threadIdx.x;
    apart = __syncthreads_count(i < n_edges && (i == 0 || cell_of(own[i], origin, scale) >
                                                              cell_of(own[i - 1], origin, scale)));
  }
  if (repeats || 10 * apart < 9 * n_edges) scale = 0;
  if (threadIdx.x == 0) { grid[2 * f] = origin; grid[2 * f + 1] = scale; }
  for (int c = threadIdx.x; c < CELLS; c += blockDim.x) {
    int low = 0, high = n_edges;  // edges in cells before this one
    while (low < high && scale > 0) {
      int middle = (low + high) / 2;
      if (cell_of(own[middle], origin, scale) < c) low = middle + 1; else high = middle;
    }
    cells[f * CELLS + c] = (u8)low;
  }
}

#define N_ROWS_AHEAD (16 / (int)sizeof(REAL))

struct alignas(4 * sizeof(REAL)) Four {
  REAL at[4];
};

// Blocks: (parts of the rows, sixteens of features). Codes: (sixteens, vertices, 16). Shared memory:
// edges, grid and cells of the sixteen features.
extern "C" __global__ void __launch_bounds__(512, 2)
    code_table(const REAL* table, i64 row_step, i64 column_step, const REAL* edges,
               const double* grid, const u8* cells, i64 n_rows, i64 n_vertices, i64 n_features,
               i64 rows_a_block, u8* codes) {
  extern __shared__ char room[];
  double* own_grid = (double*)room;
  REAL* own = (REAL*)(own_grid + 2 * LANES);
  u8* own_cells = (u8*)(own + LANES * (EDGES + 1));
  i64 first = (i64)blockIdx.y * LANES;
  int n_here = (int)min((i64)LANES, n_features - first);
  for (int i = threadIdx.x; i < n_here * EDGES; i += blockDim.x)
    own[i / EDGES * (EDGES + 1) + i % EDGES] = edges[first * EDGES + i];
  for (int i = threadIdx.x; i < n_here * CELLS / 4; i += blockDim.x)
    ((u32*)own_cells)[i] = ((const u32*)(cells + first * CELLS))[i];
  for (int i = threadIdx.x; i < 2 * n_here; i += blockDim.x) own_grid[i] = grid[2 * first + i];
  __syncthreads();
  auto code_of = [&](int j, double origin, double scale, REAL value) -> u32 {
    if (scale == 0) return edges_below(own + j * (EDGES + 1), value);
    return own_cells[j * CELLS + cell_of((double)value, origin, scale)];
  };
  i64 start = (i64)blockIdx.x * rows_a_block, stop = min(n_rows, start + rows_a_block);
  u8* out = codes + (i64)blockIdx.y * n_vertices * LANES;
  if (column_step <= row_step) {  // values of a row lie together: four threads share a row
    int word = threadIdx.x & 3;
    double origin[4], scale[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      origin[j] = 4 * word + j < n_here ? own_grid[2 * (4 * word + j)] : 0;
      scale[j] = 4 * word + j < n_here ? own_grid[2 * (4 * word + j) + 1] : 0;
    }
    const REAL* values = table + (first + 4 * word) * column_step;
    // Four values are read at once where they lie side by side.
    bool is_dense = n_here == LANES && column_step == 1 && row_step % 4 == 0 &&
                    (u64)values % (4 * sizeof(REAL)) == 0;
    int step = blockDim.x >> 2;
    for (i64 base = start + (threadIdx.x >> 2); base < stop; base += N_ROWS_AHEAD * step) {
      Four value[N_ROWS_AHEAD];  // several rows in flight hide the way to memory
#pragma unroll
      for (int u = 0; u < N_ROWS_AHEAD; ++u) {
        i64 row = base + u * step;
        if (row >= stop) continue;
        if (is_dense) {
          value[u] = *(const Four*)(values + row * row_step);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j)
            if (4 * word + j < n_here) value[u].at[j] = values[row * row_step + j * column_step];
        }
      }
#pragma unroll
      for (int u = 0; u < N_ROWS_AHEAD; ++u) {
        i64 row = base + u * step;
        if (row >= stop) continue;
        u32 packed = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (4 * word + j < n_here)
            packed |= code_of(4 * word + j, origin[j], scale[j], value[u].at[j]) << (8 * j);
        ((u32*)(out + row * LANES))[word] = packed;
      }
    }
  } else {
    for (i64 row = start + threadIdx.x; row < stop; row += blockDim.x) {
      u32 packed[4] = {0, 0, 0, 0};
#pragma unroll
      for (int j = 0; j < LANES; ++j)
        if (j < n_here)
          packed[j / 4] |= code_of(j, own_grid[2 * j], own_grid[2 * j + 1],
                                   table[row * row_step + (first + j) * column_step])
                           << (8 * (j % 4));
      ((uint4*)(out + row * LANES))[0] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
  }
}

// The least and greatest value of every bin of the discrete features; blocks: (features, parts).
extern "C" __global__ void spread_bins(const REAL* table, i64 row_step, i64 column_step,
                                       const u8* codes, i64 n_rows, i64 n_vertices,
                                       const u8* is_discrete, u64* low, u64* high) {
  i64 f = blockIdx.x;
  if (!is_discrete[f]) return;
  __shared__ u64 least[EDGES], most[EDGES];
  for (int b = threadIdx.x; b < EDGES; b += blockDim.x) { least[b] = ~0ull; most[b] = 0; }
  __syncthreads();
  const u8* code = codes + (f / LANES) * n_vertices * LANES + f % LANES;
  for (i64 row = (i64)blockIdx.y * blockDim.x + threadIdx.x; row < n_rows;
       row += (i64)gridDim.y * blockDim.x) {
    u64 key = key_of((double)table[row * row_step + f * column_step]);
    int b = code[row * LANES];
    if (key < least[b]) atomicMin(&least[b], key);
    if (key > most[b]) atomicMax(&most[b], key);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < EDGES; b += blockDim.x) {
    if (least[b] != ~0ull) atomicMin(&low[f * EDGES + b], least[b]);
    if (most[b] != 0) atomicMax(&high[f * EDGES + b], most[b]);
  }
}

// The leaf of every row, down a tree in birth order; one thread a row. A test also says where NaN goes.
extern "C" __global__ void route_rows(const REAL* table, i64 row_step, i64 column_step, i64 n_rows,
                                      const i64* feature, const double* threshold,
                                      const double* lower, const bool* missing, const i64* left,
                                      const i64* right, const i64* leaf_id, i64* out) {
  i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n_rows) return;
  i64 node = 0;
  while (feature[node] >= 0) {
    double x = (double)table[row * row_step + feature[node] * column_step];
    bool goes_left = isnan(x) ? missing[node] : lower[node] < x && x <= threshold[node];
    node = goes_left ? left[node] : right[node];
  }
  out[row] = leaf_id[node];
}

// The same, and beside it what the values at the tests are. Ends: (4, nodes), keys of the greatest value that is not
// above the threshold and of the least that is, and the same around the lower bound; they start at 0 and ~0. Shared
// memory: as many keys, and a count of missing values a node, if `in_shared`.
extern "C" __global__ void meet_tests(const REAL* table, i64 row_step, i64 column_step, i64 n_rows,
                                      const i64* feature, const double* threshold,
                                      const double* lower, const bool* missing, const i64* left,
                                      const i64* right, const i64* leaf_id, i64 n_nodes,
                                      i64 in_shared, u64* ends, u64* n_missing, i64* out) {
  extern __shared__ u64 keys[];
  u64 *own = in_shared ? keys : ends, *gaps = in_shared ? keys + 4 * n_nodes : n_missing;
  if (in_shared)
    for (i64 i = threadIdx.x; i < 5 * n_nodes; i += blockDim.x)
      keys[i] = i < 4 * n_nodes && (i / n_nodes) % 2 ? ~0ull : 0;
  __syncthreads();
  auto meet = [&](i64 node, i64 which, double x, double limit) {
    u64 key = key_of(x + 0.0);  // one zero
    if (x <= limit) {
      u64* end = own + which * n_nodes + node;
      if (key > *(volatile u64*)end) atomicMax(end, key);
    } else {
      u64* end = own + (which + 1) * n_nodes + node;
      if (key < *(volatile u64*)end) atomicMin(end, key);
    }
  };
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows;
       row += (i64)gridDim.x * blockDim.x) {
    i64 node = 0;
    while (feature[node] >= 0) {
      double x = (double)table[row * row_step + feature[node] * column_step];
      bool goes_left = missing[node];
      if (isnan(x)) {
        atomicAdd(&gaps[node], 1ull);
      } else {
        goes_left = lower[node] < x && x <= threshold[node];
        meet(node, 0, x, threshold[node]);
        if (lower[node] > -INF) meet(node, 2, x, lower[node]);
      }
      node = goes_left ? left[node] : right[node];
    }
    out[row] = leaf_id[node];
  }
  if (!in_shared) return;
  __syncthreads();
  for (i64 i = threadIdx.x; i < 5 * n_nodes; i += blockDim.x) {
    if (i >= 4 * n_nodes) {
      if (keys[i]) atomicAdd(&n_missing[i - 4 * n_nodes], keys[i]);
    } else if ((i / n_nodes) % 2) {
      atomicMin(&ends[i], keys[i]);
    } else {
      atomicMax(&ends[i], keys[i]);
    }
  }
}

// The sum of the bits of all values, each times an odd number of its place; warps take rows.
extern "C" __global__ void sum_bits(const REAL* table, i64 row_step, i64 column_step, i64 n_rows,
                                    i64 n_columns, u64* total) {
  u64 sum = 0;
  bool by_row = column_step <= row_step;  // neighbours in memory go to neighbouring threads
  i64 n_lines = by_row ? n_rows : n_columns, n_each = by_row ? n_columns : n_rows;
  i64 line_step = by_row ? row_step : column_step, step = by_row ? column_step : row_step;
  int lane = threadIdx.x & 31;
  i64 first = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  for (i64 line = first; line < n_lines; line += ((i64)gridDim.x * blockDim.x) >> 5)
    for (i64 i = lane; i < n_each; i += 32) {
      double value = (double)table[line * line_step + i * step];
      sum += (u64)__double_as_longlong(value) * (2 * (u64)(line * n_each + i) + 1);
    }
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(FULL, sum, step);
  if (lane == 0) atomicAdd(total, sum);
}

// Sums of rows less an origin, and of the squares, over groups of rows; blocks: (groups, columns / 32, parts of
// the groups) of 256 threads. Rows come group by group; starts: (groups + 1). Sums: (parts, groups, columns);
// squares: (parts, columns / 32, groups).
extern "C" __global__ void sum_groups(const REAL* table, i64 row_step, i64 column_step,
                                      i64 n_columns, const double* origin, const i64* rows,
                                      const i64* starts, double* sums, double* squares) {
  __shared__ double room[2][8][33];
  i64 j = (i64)blockIdx.y * 32 + (threadIdx.x & 31), group = blockIdx.x;
  int part = threadIdx.x >> 5;
  i64 n = starts[group + 1] - starts[group], each = (n + gridDim.z - 1) / gridDim.z;
  i64 start = starts[group] + min(n, each * blockIdx.z), stop = min(starts[group + 1], start + each);
  double total = 0, square = 0;
  if (j < n_columns)
#pragma unroll 4
    for (i64 i = start + part; i < stop; i += 8) {
      double x = (double)table[rows[i] * row_step + j * column_step] - origin[j];
      total += x;
      square += x * x;
    }
  room[0][part][threadIdx.x & 31] = total;
  room[1][part][threadIdx.x & 31] = square;
  __syncthreads();
  if (part) return;
  for (int other = 1; other < 8; ++other) {
    total += room[0][other][threadIdx.x];
    square += room[1][other][threadIdx.x];
  }
  if (j < n_columns) sums[((i64)blockIdx.z * gridDim.x + group) * n_columns + j] = total;
  for (int step = 16; step > 0; step >>= 1) square += __shfl_xor_sync(FULL, square, step);
  if (threadIdx.x == 0)
    squares[((i64)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + group] = square;
}

// Sums of some columns less an origin, and of the squares, part by part; blocks: (parts, columns). Out: (parts,
// columns, 2).
extern "C" __global__ void sum_columns(const REAL* table, i64 row_step, i64 column_step, i64 n_rows,
                                       const i64* columns, const double* origin, double* out) {
  __shared__ double room[2][8];
  i64 column = columns[blockIdx.y];
  double total = 0, square = 0, from = origin[blockIdx.y];
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows;
       row += (i64)gridDim.x * blockDim.x) {
    double x = (double)table[row * row_step + column * column_step] - from;
    total += x;
    square += x * x;
  }
  for (int step = 16; step > 0; step >>= 1) {
    total += __shfl_xor_sync(FULL, total, step);
    square += __shfl_xor_sync(FULL, square, step);
  }
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 0) { room[0][warp] = total; room[1][warp] = square; }
  __syncthreads();
  if (threadIdx.x > 1) return;
  total = 0;
  for (int w = 0; w < (int)blockDim.x >> 5; ++w) total += room[threadIdx.x][w];
  out[((i64)blockIdx.x * gridDim.y + blockIdx.y) * 2 + threadIdx.x] = total;
}
