// Counting labels: cliques, and samples joined to centres.
//
// Histograms have shape (features, labels, borders). Rows are counted at the border after their bin;
// scanned along the borders, entry b is then the number of rows of a label left of border b, and
// stays the sum of what its parts have there. The last label is that of samples of no cluster;
// vertices with a label beyond it are centres and not counted. Where rows have amounts, these are
// added up instead, and the last label counts all rows.

// Blocks: (features / n_together, parts of the rows). Shared memory: n_together histograms.
extern "C" __global__ void count_labels(const u8* codes, i64 n_vertices, const int* rows,
                                        i64 n_rows, const u16* labels, const int* amounts,
                                        i64 n_labels, i64 n_borders, i64 n_features,
                                        i64 n_together, int* histograms) {
  extern __shared__ int counts[];
  int stride = (int)n_borders | 1;  // odd: bins of different labels lie in different banks
  int n_cells = (int)(n_together * n_labels) * stride;
  for (int i = threadIdx.x; i < n_cells; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  i64 first = (i64)blockIdx.x * n_together;
  int n_words = max((int)n_together / 4, 1), n_bytes = min((int)n_together, 4);
  int word = threadIdx.x % n_words, shift = (int)(first & 3) * 8;
  const u8* code = codes + (first / LANES) * n_vertices * LANES + ((first % LANES) & ~3ll) + 4 * word;
  i64 part = (n_rows + gridDim.y - 1) / gridDim.y;
  i64 start = blockIdx.y * part, stop = min(n_rows, start + part);
  int* mine = counts + 4 * word * (int)n_labels * stride + 1;
  i64 step = blockDim.x / n_words;
  for (i64 base = start + threadIdx.x / n_words; base < stop; base += N_AHEAD * step) {
    // Several rows in flight hide the way to memory.
    int label[N_AHEAD], amount[N_AHEAD];
    u32 packed[N_AHEAD];
#pragma unroll
    for (int u = 0; u < N_AHEAD; ++u) {
      i64 i = base + u * step, row = i < stop ? rows[i] : -1;
      label[u] = row < 0 ? (int)n_labels : labels[row];
      amount[u] = row < 0 || !amounts ? 1 : amounts[row];
      packed[u] = row < 0 ? 0 : *(const u32*)(code + row * LANES) >> shift;
    }
#pragma unroll
    for (int u = 0; u < N_AHEAD; ++u) {
      if (label[u] >= n_labels) continue;
      for (int j = 0; j < n_bytes; ++j) {
        int* cell = mine + j * (int)n_labels * stride + ((packed[u] >> (8 * j)) & 255);
        if (amounts) atomicAdd(cell + ((int)n_labels - 1) * stride, 1);
        if (!amounts || label[u] < n_labels - 1) atomicAdd(cell + label[u] * stride, amount[u]);
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n_cells; i += blockDim.x) {
    int line = i / stride, border = i % stride;
    if (counts[i] && first + line / (int)n_labels < n_features)
      atomicAdd(&histograms[(first * n_labels + line) * n_borders + border], counts[i]);
  }
}

// The same with too many labels for shared memory; blocks: (features, parts of the rows).
extern "C" __global__ void count_many_labels(const u8* codes, i64 n_vertices, const int* rows,
                                             i64 n_rows, const u16* labels, const int* amounts,
                                             i64 n_labels, i64 n_borders, int* histograms) {
  i64 f = blockIdx.x;
  const u8* code = codes + (f / LANES) * n_vertices * LANES + f % LANES;
  for (i64 i = (i64)blockIdx.y * blockDim.x + threadIdx.x; i < n_rows;
       i += (i64)gridDim.y * blockDim.x) {
    i64 row = rows[i];
    i64 label = labels[row];
    if (label >= n_labels) continue;
    int* cell = histograms + f * n_labels * n_borders + code[row * LANES] + 1;
    if (amounts) atomicAdd(cell + (n_labels - 1) * n_borders, 1);
    if (!amounts || label < n_labels - 1)
      atomicAdd(cell + label * n_borders, amounts ? amounts[row] : 1);
  }
}

// Scan one line of one node. With `subtract` the second holds its parent's scanned counts.
__device__ __forceinline__ int scan_line(int* line, int n_borders, bool subtract, int taken,
                                         int* warp_sums) {
  int b = threadIdx.x;
  int value = b < n_borders ? line[b] : 0;
  value = subtract ? value - taken : block_scan(value, warp_sums);
  if (b < n_borders) line[b] = value;
  return value;
}

struct Sums {
  i64 joined, rest, volume, size, members, samples;
};

__device__ __forceinline__ void write_sums(const Sums& sums, i64 place, i64 step, i64* fields) {
  fields[place] = sums.joined;
  fields[place + step] = sums.rest;
  fields[place + 2 * step] = sums.volume;
  fields[place + 3 * step] = sums.size;
  fields[place + 4 * step] = sums.members;
  fields[place + 5 * step] = sums.samples;
}

// Sums at all borders of one or two nodes; one block a feature, one thread a border. Fields: (6, nodes,
// features, borders). Caps: (2, nodes, features, borders). Moves, what the largest cluster of the bin after
// a border adds to the first four fields when it goes left: (4, nodes, features, borders).
extern "C" __global__ void scan_labels(int* first, int* second, i64 n_nodes, i64 subtract,
                                       i64 has_amounts, i64 n_labels, i64 n_borders,
                                       const i64* clusters, const double* rates, i64* fields,
                                       double* caps,
                                       i64* moves, i64* n_kinds) {
  __shared__ int warp_sums[8], ends[2][257];
  i64 f = blockIdx.x, n_features = gridDim.x;
  int b = threadIdx.x, n = (int)n_nodes, last = (int)n_borders - 1;
  Sums sums[2] = {};
  double cap_left[2] = {0, 0}, cap_right[2] = {0, 0};
  i64 move[2][4] = {};
  int largest[2] = {0, 0}, kinds[2] = {0, 0};
  for (int c = 0; c < n_labels; ++c) {
    i64 line = (f * n_labels + c) * n_borders;
    i64 weight = clusters[c], degree = clusters[n_labels + c], counted = clusters[2 * n_labels + c];
    int left[2] = {0, 0};
    left[0] = scan_line(first + line, (int)n_borders, false, 0, warp_sums);
    if (n > 1) left[1] = scan_line(second + line, (int)n_borders, subtract, left[0], warp_sums);
    for (int v = 0; v < n; ++v) ends[v][b] = left[v];
    __syncthreads();
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      if (v >= n || b > last) continue;
      i64 total = ends[v][last], a = left[v], r = total - a;
      sums[v].joined += weight * a * (a - 1);
      sums[v].rest += weight * r * (r - 1);
      sums[v].volume += degree * a;
      sums[v].size += counted * a;
      if (!has_amounts || c == n_labels - 1) sums[v].members += a;
      if (a > 0) cap_left[v] = max(cap_left[v], (double)(a - 1) * rates[c]);
      if (r > 0) cap_right[v] = max(cap_right[v], (double)(r - 1) * rates[c]);
      kinds[v] += total > 0 && c < n_labels - 1;
      i64 inside = b < last ? ends[v][b + 1] - a : 0;
      if (inside > largest[v] && c < n_labels - 1) {
        largest[v] = (int)inside;
        move[v][0] = weight * inside * (2 * a + inside - 1);
        move[v][1] = -weight * inside * (2 * r - inside - 1);
        move[v][2] = degree * inside;
        move[v][3] = counted * inside;
      }
    }
    __syncthreads();
  }
  i64 step = n_nodes * n_features * n_borders;
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    if (v >= n || b > last) continue;
    sums[v].samples = sums[v].members;
    i64 place = (v * n_features + f) * n_borders + b;
    write_sums(sums[v], place, step, fields);
    caps[place] = cap_left[v];
    caps[step + place] = cap_right[v];
    if (f == 0 && b == 0) n_kinds[v] = kinds[v];
  }
  if (moves == 0) return;
#pragma unroll
  for (int v = 0; v < 2; ++v)
    if (v < n && b <= last)
      for (int field = 0; field < 4; ++field)
        moves[field * step + (v * n_features + f) * n_borders + b] = move[v][field];
}

// The same for stars: sums of unit edges between samples and those centres that are in the node.
// Centres: (nodes, 3, centres): present, size, degree.
extern "C" __global__ void scan_stars(int* first, int* second, i64 n_nodes, i64 subtract,
                                      i64 n_labels, i64 n_borders, const u8* center_codes,
                                      i64 code_step, const i64* centers, i64* fields) {
  __shared__ int warp_sums[8], ends[2];
  i64 f = blockIdx.x, n_features = gridDim.x, n_centers = n_labels - 1;
  int b = threadIdx.x, n = (int)n_nodes, last = (int)n_borders - 1;
  Sums sums[2] = {};
  for (int c = 0; c < n_labels; ++c) {
    i64 line = (f * n_labels + c) * n_borders;
    int left[2] = {0, 0};
    left[0] = scan_line(first + line, (int)n_borders, false, 0, warp_sums);
    if (n > 1) left[1] = scan_line(second + line, (int)n_borders, subtract, left[0], warp_sums);
    if (b == last)
      for (int v = 0; v < n; ++v) ends[v] = left[v];
    __syncthreads();
    bool center_left = c < n_centers && center_codes[(f / LANES) * code_step + c * LANES + f % LANES] < b;
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      if (v >= n) continue;
      i64 a = left[v], total = ends[v];
      sums[v].samples += a;
      sums[v].members += a;
      if (c == n_centers) continue;
      const i64* center = centers + v * 3 * n_centers + c;
      sums[v].volume += a;
      if (center[0] && center_left) {
        sums[v].joined += 2 * a;
        sums[v].size += center[n_centers];
        sums[v].volume += center[2 * n_centers];
        sums[v].members += 1;
      } else if (center[0]) {
        sums[v].rest += 2 * (total - a);
      }
    }
    __syncthreads();
  }
  i64 step = n_nodes * n_features * n_borders;
#pragma unroll
  for (int v = 0; v < 2; ++v)
    if (v < n && b <= last) write_sums(sums[v], (v * n_features + f) * n_borders + b, step, fields);
}
