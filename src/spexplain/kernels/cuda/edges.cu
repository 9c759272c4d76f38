// Sums over listed edges, from the neighbours of every vertex.
//
// Moving a vertex to the left joins it to its neighbours in lower bins and parts it from those in
// higher ones; half of either within its bin. Histograms have shape (features, 4, borders): joined
// weight, weight of edge ends, volume and members, each at the border after the vertex's bin. Scanned
// along the borders they become the first four fields, with the rest in place of the ends.

// How many neighbours every vertex has; one thread an edge.
extern "C" __global__ void count_neighbors(const int* heads, const int* tails, i64 n_edges,
                                           i64* counts) {
  i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= n_edges) return;
  atomicAdd((u64*)&counts[heads[e]], 1ull);
  atomicAdd((u64*)&counts[tails[e]], 1ull);
}

// The neighbours of every vertex from a list of edges, in any order; one thread an edge. Taken: where
// each vertex's list starts, moved on to where it ends.
extern "C" __global__ void list_neighbors(const int* heads, const int* tails,
                                          const WEIGHT* edge_weights, i64 n_edges, i64* taken,
                                          int* neighbors, WEIGHT* weights,
                                          i64* degrees) {
  i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= n_edges) return;
  int ends[2] = {heads[e], tails[e]};
  WEIGHT weight = edge_weights[e];
  for (int side = 0; side < 2; ++side) {
    i64 place = (i64)atomicAdd((u64*)&taken[ends[side]], 1ull);
    neighbors[place] = ends[1 - side];
    weights[place] = weight;
    atomicAdd((u64*)&degrees[ends[side]], (u64)weight);
  }
}

#define N_COUNTS 6  // those four, and joined weight and ends of the edges to the sibling
#define N_NEAR 4    // neighbours of a row in flight; more would take too many registers

__device__ __forceinline__ u32 byte_of(const uint4& packed, int j) {
  u32 word = j < 4 ? packed.x : j < 8 ? packed.y : j < 12 ? packed.z : packed.w;
  return (word >> (8 * (j & 3))) & 255;
}

// Blocks: (sixteens of features, parts of the rows); shared memory: 16 × 6 × stride counters. Edges
// to vertices of the part `sibling` are counted apart, at both ends, into `crossing`, shape (features,
// 2, borders).
extern "C" __global__ void __launch_bounds__(512)
    count_edges(const u8* codes, i64 n_vertices, const int* rows, i64 n_rows, const i64* indptr,
                const int* neighbors, const WEIGHT* weights, const i64* degrees,
                const int* part_of, i64 part, i64 sibling, i64 n_borders, i64 n_features,
                int* taken, SUM* histograms, SUM* crossing) {
  extern __shared__ char room[];
  SUM* counts = (SUM*)room;
  int stride = (int)n_borders | 1, n_cells = LANES * N_COUNTS * stride;
  for (int i = threadIdx.x; i < n_cells; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  const uint4* code = (const uint4*)(codes + (i64)blockIdx.x * n_vertices * LANES);
  // Rows differ in neighbours: every warp fetches new ones when it is done.
  for (;;) {
    int base = 0;
    if ((threadIdx.x & 31) == 0) base = atomicAdd(&taken[blockIdx.x], 32);
    i64 i = __shfl_sync(FULL, base, 0) + (threadIdx.x & 31);
    if (i - (threadIdx.x & 31) >= n_rows) break;
    if (i >= n_rows) continue;
    int x = rows[i];
    uint4 own = code[x];
    SUM lower[LANES], parted[LANES], inside = 0, outside = 0;
#pragma unroll
    for (int j = 0; j < LANES; ++j) lower[j] = parted[j] = 0;
    i64 stop = indptr[x + 1];
    for (i64 e = indptr[x]; e < stop; e += N_NEAR) {
      int there[N_NEAR];
      SUM weight[N_NEAR];
      uint4 other[N_NEAR];
      // Several neighbours in flight hide the way to memory.
#pragma unroll
      for (int u = 0; u < N_NEAR; ++u) {
        i64 place = min(e + u, stop - 1);
        int y = neighbors[place];
        there[u] = part_of[y];
        weight[u] = e + u < stop ? weights[place] : 0;
        other[u] = code[y];
      }
#pragma unroll
      for (int u = 0; u < N_NEAR; ++u) {
        if (there[u] == part) {
          inside += weight[u];
#pragma unroll
          for (int j = 0; j < LANES; ++j) {
            u32 mine = byte_of(own, j), its = byte_of(other[u], j);
            lower[j] += (its < mine ? weight[u] : 0) + (its <= mine ? weight[u] : 0);
          }
        } else if (there[u] == sibling && weight[u]) {
          outside += weight[u];
#pragma unroll
          for (int j = 0; j < LANES; ++j) {
            u32 mine = byte_of(own, j), its = byte_of(other[u], j);
            parted[j] += (its < mine ? weight[u] : 0) + (its <= mine ? weight[u] : 0);
            SUM* cell = counts + (j * N_COUNTS + 4) * stride + its + 1;
            if (mine <= its) atomicAdd(cell, mine < its ? 2 * weight[u] : weight[u]);
            atomicAdd(cell + stride, 2 * weight[u]);
          }
        }
      }
    }
    SUM degree = (SUM)degrees[x];
#pragma unroll
    for (int j = 0; j < LANES; ++j) {
      SUM* cell = counts + j * N_COUNTS * stride + byte_of(own, j) + 1;
      if (lower[j]) atomicAdd(cell, lower[j]);
      if (inside) atomicAdd(cell + stride, 2 * inside);
      if (degree) atomicAdd(cell + 2 * stride, degree);
      atomicAdd(cell + 3 * stride, (SUM)1);
      if (parted[j]) atomicAdd(cell + 4 * stride, parted[j]);
      if (outside) atomicAdd(cell + 5 * stride, 2 * outside);
    }
  }
  __syncthreads();
  i64 first = (i64)blockIdx.x * LANES;
  for (int i = threadIdx.x; i < n_cells; i += blockDim.x) {
    int border = i % stride, field = i / stride % N_COUNTS;
    i64 f = first + i / stride / N_COUNTS;
    if (counts[i] == 0 || f >= n_features) continue;
    atomicAdd(field < 4 ? histograms + (f * 4 + field) * n_borders + border
                        : crossing + (f * 2 + field - 4) * n_borders + border,
              counts[i]);
  }
}

// Sums at all borders of one or two nodes, in place; one block a feature, one thread a border. With
// `subtract` the second holds its parent's.
extern "C" __global__ void scan_edges(SUM* first, SUM* second, const SUM* crossing, i64 n_nodes,
                                      i64 subtract, i64 n_borders) {
  __shared__ i64 warp_sums[8], inner[3];
  i64 f = blockIdx.x;
  int b = threadIdx.x, last = (int)n_borders - 1;
  SUM *lines[2] = {first + f * 4 * n_borders + b, second + f * 4 * n_borders + b};
  i64 left[2][4] = {}, across[2] = {0, 0};
#pragma unroll
  for (int v = 0; v < 2; ++v)
    for (int field = 0; field < 4; ++field) {
      if (v >= n_nodes) continue;
      left[v][field] = b <= last ? (i64)lines[v][field * n_borders] : 0;
      if (v == 0 || !subtract) left[v][field] = block_scan(left[v][field], warp_sums);
    }
  if (n_nodes > 1 && subtract) {
    for (int field = 0; field < 2; ++field)
      across[field] = block_scan(
          b <= last ? (i64)crossing[(f * 2 + field) * n_borders + b] : 0, warp_sums);
    if (b == last) inner[2] = left[1][0];
    __syncthreads();
    left[1][1] = inner[2] - left[1][1] + left[1][0];  // the parent's edge ends
    for (int field = 0; field < 4; ++field)
      left[1][field] -= left[0][field] + (field < 2 ? across[field] : 0);
  }
  if (b == last) { inner[0] = left[0][0]; inner[1] = left[1][0]; }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    if (v >= n_nodes || b > last) continue;
    left[v][1] = inner[v] - (left[v][1] - left[v][0]);
    for (int field = 0; field < 4; ++field)
      lines[v][field * n_borders] = (SUM)left[v][field];
  }
}

// What every row of the sorted jobs joins on the left and leaves on the right; eight threads a row.
// Between equal values the order is that of the row numbers: sums are read only after the last one.
extern "C" __global__ void move_edges(VALUES, const u8* codes, i64 n_vertices, const double* values, const int* members,
                                      const int* job_of, i64 n_places, const int* jobs,
                                      const i64* indptr, const int* neighbors,
                                      const WEIGHT* weights, const int* part_of, i64 first_part,
                                      i64 second_part, SUM* joined, SUM* parted) {
  Values at = THE_VALUES;
  i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 3;
  bool active = i < n_places && job_of[i] >= 0;
  // A place that no job takes still lends its threads to the sums of the warp.
  const int* job = jobs + JOB * (i64)(active ? job_of[i] : 0);
  i64 part = job[0] ? second_part : first_part, f = job[1];
  int x = active ? members[i] : 0;
  double value = active ? values[i] : 0;
  // Codes of a feature lie closer together than its values, and mostly tell already.
  const u8* code = codes + (f / LANES) * n_vertices * LANES + f % LANES;
  int own = code[(i64)x * LANES];
  SUM joins = 0, parts = 0;
  i64 stop = active ? indptr[x + 1] : 0;
  for (i64 e = indptr[x] + (threadIdx.x & 7); e < stop; e += 8) {
    int y = neighbors[e];
    if (part_of[y] != part) continue;
    int its = code[(i64)y * LANES];
    bool earlier = its < own;
    if (its == own) {
      double other = at.at(y, f);
      earlier = other < value || (other == value && y < x);
    }
    if (earlier) joins += 2 * (SUM)weights[e];
    else parts += 2 * (SUM)weights[e];
  }
  for (int step = 4; step > 0; step >>= 1) {
    joins += __shfl_xor_sync(FULL, joins, step);
    parts += __shfl_xor_sync(FULL, parts, step);
  }
  if (active && (threadIdx.x & 7) == 0) {
    joined[i] = joins;
    parted[i] = parts;
  }
}
