// From scores and bounds to the best cut: pick, select, gather, sort, walk, finish.
//
// A job is a bin whose rows are sorted and swept. Jobs are taken in portions, so that their places
// always fit the same room; kernels leave out the jobs of other portions.

// One side of a cut at its best for the formula: each field from the smaller or the larger of two nested
// sets, by the trend, and no more inner weight than the cap allows per volume (or size): the same as in
// `spexplain.objectives.bounds`.
struct Trend {
  i64 inner, volume, size;
};

template <typename T>
__device__ __forceinline__ void write_optimistic(const i64* smaller, const i64* larger,
                                                 const Trend& trend, const double* cap, T* out,
                                                 i64 step) {
  T inner = (T)(trend.inner < 0 ? larger[0] : smaller[0]);
  T volume = (T)(trend.volume < 0 ? larger[1] : smaller[1]);
  T size = (T)(trend.size < 0 ? larger[2] : smaller[2]);
  if (trend.inner < 0 && trend.volume > 0) {
    // An edge that comes to lie inside has an end among the vertices that were added.
    volume += (T)((larger[0] - smaller[0] + 1) / 2);
    inner = min(inner, volume);
  }
  // A side without volume (or size) is inadmissible where it would be best.
  if (trend.volume > 0) volume = max(volume, (T)1);
  if (trend.size > 0) size = max(size, (T)1);
  if (cap && trend.inner < 0) {
    if (trend.volume > 0)
      inner = min(inner, (T)(*cap * (double)volume));
    else if (trend.size > 0)
      inner = min(inner, (T)(*cap * (double)size));
  }
  out[0] = inner;
  out[step] = volume;
  out[2 * step] = size;
}

// What the formula is asked for: sides of the cuts at all borders, and after them sides at their best
// for the cuts inside the bin after each border; with moves twice, with the largest cluster right and
// left. Of the features from `start` on, n_here. Sides: (6, variants, nodes, n_here, borders): inner,
// volume, size left, the same right. As doubles where there are caps, since these are no integers; else
// as exact integers. Totals, written with the first feature: inner, volume, size of the nodes.
struct Extent {
  i64 n_nodes, n_features, n_borders, start, n_here;
};

template <typename T>
__device__ void make_sides_of(const Fields& fields, const double* caps, const i64* moves,
                              const Extent& extent, const Trend& trend, T* sides, i64* totals) {
  i64 n_borders = extent.n_borders, n_nodes = extent.n_nodes;
  i64 n_cells = n_nodes * extent.n_here * n_borders, n_variants = moves ? 3 : 2;
  i64 step = n_variants * n_cells, n_all = n_nodes * extent.n_features * n_borders;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_cells;
       i += (i64)gridDim.x * blockDim.x) {
    i64 b = i % n_borders, end = n_borders - 1, next = min(b + 1, end);
    i64 f = extent.start + i / n_borders % extent.n_here, v = i / n_borders / extent.n_here;
    i64 line = (v * extent.n_features + f) * n_borders;
    i64 volume = fields.at(v, 2, f, end), size = fields.at(v, 3, f, end);
    i64 now[4], after[4], move[4] = {0, 0, 0, 0};
    for (int field = 0; field < 4; ++field) {
      now[field] = fields.at(v, field, f, b);
      after[field] = fields.at(v, field, f, next);
      if (moves) move[field] = moves[field * n_all + line + b];
    }
    if (f == 0 && b == end) {
      totals[v] = now[0];
      totals[n_nodes + v] = volume;
      totals[2 * n_nodes + v] = size;
    }
    sides[i] = (T)now[0];
    sides[step + i] = (T)now[2];
    sides[2 * step + i] = (T)now[3];
    sides[3 * step + i] = (T)now[1];
    sides[4 * step + i] = (T)(volume - now[2]);
    sides[5 * step + i] = (T)(size - now[3]);
    for (int variant = 1; variant < n_variants; ++variant) {
      i64 low[4], high[4];
      for (int field = 0; field < 4; ++field) {
        low[field] = now[field] + (variant == 2 ? move[field] : 0);
        high[field] = after[field] - (variant == 2 ? 0 : move[field]);
      }
      i64 left_low[3] = {low[0], low[2], low[3]}, left_high[3] = {high[0], high[2], high[3]};
      i64 right_low[3] = {high[1], volume - high[2], size - high[3]};
      i64 right_high[3] = {low[1], volume - low[2], size - low[3]};
      T* out = sides + variant * n_cells + i;
      const double *left_cap = caps ? caps + line + next : 0;
      const double *right_cap = caps ? caps + n_all + line + b : 0;
      write_optimistic(left_low, left_high, trend, left_cap, out, step);
      write_optimistic(right_low, right_high, trend, right_cap, out + 3 * step, step);
    }
  }
}

extern "C" __global__ void make_sides(FIELDS, const double* caps, const i64* moves, i64 n_nodes,
                                      i64 n_features, i64 n_borders, i64 start, i64 n_here,
                                      i64 trend_inner, i64 trend_volume, i64 trend_size,
                                      void* sides, i64* totals) {
  Fields fields = THE_FIELDS;
  Trend trend = {trend_inner, trend_volume, trend_size};
  Extent extent = {n_nodes, n_features, n_borders, start, n_here};
  if (caps)
    make_sides_of(fields, caps, moves, extent, trend, (double*)sides, totals);
  else
    make_sides_of(fields, caps, moves, extent, trend, (i64*)sides, totals);
}

#define MARGIN 1e-12  // relative; far above what rounding does to a bound

struct Best {
  double score;
  i64 rank, place;  // equal scores resolve to the lower rank, then place
  __device__ __forceinline__ bool beats(const Best& other) const {
    if (score != other.score) return score < other.score;
    return rank != other.rank ? rank < other.rank : place < other.place;
  }
};

__device__ Best block_best(Best mine, Best* room) {
  room[threadIdx.x] = mine;
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half && room[threadIdx.x + half].beats(room[threadIdx.x]))
      room[threadIdx.x] = room[threadIdx.x + half];
  }
  __syncthreads();
  return room[0];
}

// The best cut at a border of the features from `start` on, n_here, and the bounds of the cuts in
// between. Scores: (1 + n_bounds, nodes, n_here, borders). Bounds: (nodes, features, borders), the least
// of those of a bin. Parts: n_parts a node, of which this writes one a block; blocks: (parts, nodes).
// Also clears the counters of jobs and places.
extern "C" __global__ void pick_borders(const double* scores, i64 n_bounds, FIELDS, i64 start,
                                        i64 n_here, i64 n_features, i64 n_borders,
                                        i64 min_samples, Best* parts, i64 n_parts, double* bounds,
                                        i64* counters) {
  __shared__ Best room[256];
  Fields fields = THE_FIELDS;
  i64 v = blockIdx.y, n_cells = n_here * n_borders, end = n_borders - 1;
  i64 n_members = fields.at(v, 4, 0, end), n_samples = fields.at(v, 5, 0, end);
  if (blockIdx.x == 0 && v == 0 && threadIdx.x < 4) counters[threadIdx.x] = 0;
  Best mine = {INF, 0, 0};
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_cells;
       i += (i64)gridDim.x * blockDim.x) {
    i64 f = start + i / n_borders, b = i % n_borders, place = f * n_borders + b;
    double bound = INF;
    for (int c = 1; c <= n_bounds; ++c) {
      double corner = scores[(c * gridDim.y + v) * n_cells + i];
      // Not even the optimistic cut is admissible where a bound is NaN.
      if (corner < bound) bound = corner;
    }
    bounds[v * n_features * n_borders + place] =
        bound < INF ? bound - MARGIN * fabs(bound) : bound;
    double score = scores[v * n_cells + i];
    i64 members = fields.at(v, 4, f, b), samples = fields.at(v, 5, f, b);
    if (!(score < INF) || members == 0 || members == n_members) continue;
    if (samples < min_samples || samples > n_samples - min_samples) continue;
    Best found = {score, place, -1};
    if (found.beats(mine)) mine = found;
  }
  mine = block_best(mine, room);
  if (threadIdx.x == 0) parts[v * n_parts + blockIdx.x] = mine;
}

// List the bins that can hold a better cut, or an equal one that comes earlier, among the features
// from `start` to `stop`. Prior: scores and features of the best cuts so far, -inf to leave a node out.
// Without bounds a job is a whole feature. A portion takes the jobs that start in `a_portion` places.
// Blocks: (parts, nodes).
extern "C" __global__ void select_bins(const double* bounds, FIELDS, const u8* solid,
                                       const double* prior, const Best* parts, i64 n_parts,
                                       i64 start, i64 stop, i64 n_features, i64 n_borders,
                                       i64 min_samples, i64 a_portion, int* job_at, int* jobs,
                                       i64* counters) {
  __shared__ Best room[256];
  Fields fields = THE_FIELDS;
  i64 v = blockIdx.y, n_bins = n_borders - 1, n_cells = n_features * n_borders;
  Best best = {INF, 0, 0};
  for (i64 i = threadIdx.x; i < n_parts; i += blockDim.x)
    if (parts[v * n_parts + i].beats(best)) best = parts[v * n_parts + i];
  best = block_best(best, room);
  double limit = min(best.score, prior[v]);
  i64 last_feature = n_features;
  if (best.score == limit) last_feature = best.rank / n_borders;
  if (prior[v] == limit) last_feature = min(last_feature, (i64)prior[gridDim.y + v]);
  i64 n_members = fields.at(v, 4, 0, n_bins), n_samples = fields.at(v, 5, 0, n_bins);
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_features * n_bins;
       i += (i64)gridDim.x * blockDim.x) {
    i64 f = i / n_bins, b = i % n_bins, n_inside = b == 0 ? n_members : 0;
    if (bounds) n_inside = fields.at(v, 4, f, b + 1) - fields.at(v, 4, f, b);
    bool wanted = f >= start && f < stop && n_inside > 1 && prior[v] > -INF;
    if (bounds && wanted) {
      double bound = bounds[v * n_cells + f * n_borders + b];
      wanted = !solid[i] && fields.at(v, 5, f, b + 1) >= min_samples &&
               fields.at(v, 5, f, b) <= n_samples - min_samples &&
               (bound < limit || (bound == limit && limit < INF && f <= last_feature));
    }
    int job = -1;
    if (wanted) {
      job = (int)atomicAdd((u64*)&counters[0], 1ull);
      i64 first = (i64)atomicAdd((u64*)&counters[1], (u64)n_inside);
      atomicMax((u64*)&counters[2], (u64)n_inside);
      int* entry = jobs + JOB * (i64)job;
      entry[0] = (int)v; entry[1] = (int)f; entry[2] = (int)b;
      entry[3] = (int)(first % a_portion); entry[4] = (int)n_inside;
      entry[5] = (int)(first / a_portion);
    }
    job_at[v * n_features * n_bins + i] = job;
  }
}

// Put the rows of a portion's jobs into their places, in any order. Blocks: (sixteens, parts of the rows, nodes).
extern "C" __global__ void gather_jobs(VALUES, const u8* codes, i64 n_vertices, const int* rows,
                                       i64 n_rows, const int* more_rows, i64 n_more,
                                       i64 n_features, i64 n_bins, i64 everything,
                                       const int* job_at, const int* jobs, i64 portion, int* taken,
                                       double* values, int* members, int* job_of) {
  __shared__ int own[LANES][EDGES];
  Values at = THE_VALUES;
  i64 first = (i64)blockIdx.x * LANES;
  if (blockIdx.z) { rows = more_rows; n_rows = n_more; }
  const int* here = job_at + (i64)blockIdx.z * n_features * n_bins;
  int some = 0;
  for (int i = threadIdx.x; i < LANES * EDGES; i += blockDim.x) {
    i64 f = first + i / EDGES, b = everything ? 0 : i % EDGES;
    int job = f < n_features && b < n_bins ? here[f * n_bins + b] : -1;
    if (job >= 0 && jobs[JOB * (i64)job + 5] != portion) job = -1;
    own[i / EDGES][i % EDGES] = job;
    some |= job >= 0;
  }
  if (!__syncthreads_or(some)) return;
  const uint4* code = (const uint4*)(codes + (i64)blockIdx.x * n_vertices * LANES);
  for (i64 i = (i64)blockIdx.y * blockDim.x + threadIdx.x; i < n_rows;
       i += (i64)gridDim.y * blockDim.x) {
    int row = rows[i];
    uint4 packed = code[row];
    u32 words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int j = 0; j < LANES; ++j) {
      int job = own[j][(words[j / 4] >> (8 * (j % 4))) & 255];
      if (job < 0) continue;
      i64 place = jobs[JOB * (i64)job + 3] + atomicAdd(&taken[job], 1);
      values[place] = at.at(row, first + j);
      members[place] = row;
      job_of[place] = job;
    }
  }
}

// Sort the rows of a portion's jobs of at most `n_room` rows by value; one block a job.
extern "C" __global__ void sort_jobs(const int* jobs, i64 portion, i64 n_room, double* values,
                                     int* members) {
  extern __shared__ u64 keys[];
  int* own = (int*)(keys + n_room);
  const int* job = jobs + JOB * (i64)blockIdx.x;
  int n = job[4], n_padded = 2;
  if (n > n_room || job[5] != portion) return;
  while (n_padded < n) n_padded <<= 1;
  values += job[3];
  members += job[3];
  for (int i = threadIdx.x; i < n_padded; i += blockDim.x) {
    keys[i] = i < n ? key_of(values[i]) : ~0ull;
    own[i] = i < n ? members[i] : -1;
  }
  for (int size = 2; size <= n_padded; size <<= 1)
    for (int step = size >> 1; step > 0; step >>= 1) {
      __syncthreads();
      for (int i = threadIdx.x; i < n_padded / 2; i += blockDim.x) {
        int low = 2 * i - (i & (step - 1)), high = low + step;
        u64 a = keys[low], b = keys[high];
        if (a != b && (a > b) == ((low & size) == 0)) {
          keys[low] = b; keys[high] = a;
          int other = own[low]; own[low] = own[high]; own[high] = other;
        }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    values[i] = value_of(keys[i]);
    members[i] = own[i];
  }
}
