// Sums over listed edges, from the neighbours of every vertex.
//
// Moving a vertex to the left joins it to its neighbours in lower bins and parts it from those in
// higher ones; half of either within its bin. Histograms have shape (features, 4, borders): joined
// weight, weight of edge ends, volume and members, each at the border after the vertex's bin; scanned
// along the borders.

// The neighbours of every vertex from a list of edges, in any order; one thread an edge. Taken: where
// each vertex's list starts, moved on to where it ends.
extern "C" __global__ void list_neighbors(const int* heads, const int* tails, const i64* edge_weights,
                                          i64 n_edges, i64* taken, int* neighbors, SUM* weights,
                                          i64* degrees) {
  i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= n_edges) return;
  int ends[2] = {heads[e], tails[e]};
  i64 weight = edge_weights[e];
  for (int side = 0; side < 2; ++side) {
    i64 place = (i64)atomicAdd((u64*)&taken[ends[side]], 1ull);
    neighbors[place] = ends[1 - side];
    weights[place] = (SUM)weight;
    atomicAdd((u64*)&degrees[ends[side]], (u64)weight);
  }
}

#define N_COUNTS 6  // those four, and joined weight and ends of the edges to the sibling

__device__ __forceinline__ u32 byte_of(const uint4& packed, int j) {
  u32 word = j < 4 ? packed.x : j < 8 ? packed.y : j < 12 ? packed.z : packed.w;
  return (word >> (8 * (j & 3))) & 255;
}

// Blocks: (sixteens of features, parts of the rows); shared memory: 16 × 6 × stride counters. Edges
// to vertices of the part `sibling` are counted apart, at both ends, into `crossing`, shape (features,
// 2, borders).
extern "C" __global__ void count_edges(const u8* codes, i64 n_vertices, const int* rows, i64 n_rows,
                                       const i64* indptr, const int* neighbors, const SUM* weights,
                                       const i64* degrees, const int* part_of, i64 part,
                                       i64 sibling, i64 n_borders, i64 n_features, int* taken,
                                       i64* histograms, i64* crossing) {
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
    for (i64 e = indptr[x]; e < indptr[x + 1]; ++e) {
      int y = neighbors[e], there = part_of[y];
      if (there != part && there != sibling) continue;
      SUM weight = weights[e];
      uint4 other = code[y];
      if (there == part) {
        inside += weight;
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
          u32 mine = byte_of(own, j), its = byte_of(other, j);
          lower[j] += (its < mine ? weight : 0) + (its <= mine ? weight : 0);
        }
      } else {
        outside += weight;
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
          u32 mine = byte_of(own, j), its = byte_of(other, j);
          parted[j] += (its < mine ? weight : 0) + (its <= mine ? weight : 0);
          SUM* cell = counts + (j * N_COUNTS + 4) * stride + its + 1;
          if (mine <= its) atomicAdd(cell, mine < its ? 2 * weight : weight);
          atomicAdd(cell + stride, 2 * weight);
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
    i64* cell = field < 4 ? histograms + (f * 4 + field) * n_borders + border
                          : crossing + (f * 2 + field - 4) * n_borders + border;
    atomicAdd((u64*)cell, (u64)counts[i]);
  }
}

// Sums at all borders of one or two nodes; one block a feature, one thread a border. With `subtract`
// the second holds its parent's scanned counts.
extern "C" __global__ void scan_edges(i64* first, i64* second, i64* crossing, i64 n_nodes,
                                      i64 subtract, i64 n_borders, i64* fields) {
  __shared__ i64 warp_sums[8], inner[2];
  i64 f = blockIdx.x, n_features = gridDim.x, step = n_nodes * n_features * n_borders;
  int b = threadIdx.x, last = (int)n_borders - 1;
  i64 left[2][4] = {};
#pragma unroll
  for (int field = 0; field < 4; ++field) {
    i64 line = (f * 4 + field) * n_borders + b;
    left[0][field] = block_scan(b <= last ? first[line] : 0, warp_sums);
    if (b <= last) first[line] = left[0][field];
    if (n_nodes < 2) continue;
    if (subtract) {
      i64 across = 0;
      if (field < 2)
        across = block_scan(b <= last ? crossing[(f * 2 + field) * n_borders + b] : 0, warp_sums);
      left[1][field] = (b <= last ? second[line] : 0) - left[0][field] - across;
    } else {
      left[1][field] = block_scan(b <= last ? second[line] : 0, warp_sums);
    }
    if (b <= last) second[line] = left[1][field];
  }
  if (b == last) { inner[0] = left[0][0]; inner[1] = left[1][0]; }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    if (v >= n_nodes || b > last) continue;
    i64 place = (v * n_features + f) * n_borders + b, members = left[v][3];
    fields[place] = left[v][0];
    fields[place + step] = inner[v] - (left[v][1] - left[v][0]);
    fields[place + 2 * step] = left[v][2];
    fields[place + 3 * step] = members;
    fields[place + 4 * step] = members;
    fields[place + 5 * step] = members;
  }
}

// What every row of the sorted jobs joins on the left and leaves on the right; eight threads a row.
// Between equal values the order is that of the row numbers: sums are read only after the last one.
extern "C" __global__ void move_edges(VALUES, const u8* codes, i64 n_vertices, const double* values, const int* members,
                                      const int* job_of, i64 n_places, const int* jobs,
                                      const i64* indptr, const int* neighbors, const SUM* weights,
                                      const int* part_of, i64 first_part, i64 second_part,
                                      i64* joined, i64* parted) {
  Values at = THE_VALUES;
  i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 3;
  bool active = i < n_places;
  if (!active) i = n_places - 1;
  const int* job = jobs + 5 * (i64)job_of[i];
  i64 part = job[0] ? second_part : first_part, f = job[1];
  int x = members[i];
  double value = values[i];
  // Codes of a feature lie closer together than its values, and mostly tell already.
  const u8* code = codes + (f / LANES) * n_vertices * LANES + f % LANES;
  int own = code[(i64)x * LANES];
  i64 joins = 0, parts = 0;
  for (i64 e = indptr[x] + (threadIdx.x & 7); e < indptr[x + 1]; e += 8) {
    int y = neighbors[e];
    if (part_of[y] != part) continue;
    int its = code[(i64)y * LANES];
    bool earlier = its < own;
    if (its == own) {
      double other = at.at(y, f);
      earlier = other < value || (other == value && y < x);
    }
    if (earlier) joins += 2 * (i64)weights[e];
    else parts += 2 * (i64)weights[e];
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
