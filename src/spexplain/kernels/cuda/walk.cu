// Exact sums left and right of every gap of a portion's sorted jobs: one warp a job. Gaps: (10, places): inner,
// volume and size left, the same right, the same of the node, samples left.

struct Walk {
  i64 joined, rest, volume, size, samples;
  i64 inner_all, volume_all, size_all;
  i64 n_places;
  i64* gaps;
  u8* valid;
  const double* values;
  i64 first, n, least, most;  // samples left of a valid cut

  // Add what the rows of a warp bring along, in their order, and write the sums after each.
  __device__ void advance(i64 i, bool active, i64 joins, i64 parts, i64 vol, i64 counts, i64 known) {
    i64 j = joined + warp_scan(active ? joins : 0), r = rest - warp_scan(active ? parts : 0);
    i64 v = volume + warp_scan(active ? vol : 0), s = size + warp_scan(active ? counts : 0);
    i64 k = samples + warp_scan(active ? known : 0);
    if (active) {
      i64 place = first + i;
      gaps[place] = j;
      gaps[n_places + place] = v;
      gaps[2 * n_places + place] = s;
      gaps[3 * n_places + place] = r;
      gaps[4 * n_places + place] = volume_all - v;
      gaps[5 * n_places + place] = size_all - s;
      gaps[6 * n_places + place] = inner_all;
      gaps[7 * n_places + place] = volume_all;
      gaps[8 * n_places + place] = size_all;
      gaps[9 * n_places + place] = k;
      valid[place] = i + 1 < n && values[place] < values[place + 1] && k >= least && k <= most;
    }
    joined = __shfl_sync(FULL, j, 31);
    rest = __shfl_sync(FULL, r, 31);
    volume = __shfl_sync(FULL, v, 31);
    size = __shfl_sync(FULL, s, 31);
    samples = __shfl_sync(FULL, k, 31);
  }
};

__device__ Walk start_walk(const int* job, const Fields& fields, i64 n_borders, i64 min_samples,
                           const double* values, i64 n_places, i64* gaps, u8* valid) {
  i64 v = job[0], f = job[1], b = job[2], end = n_borders - 1;
  i64 n_samples = fields.at(v, 5, f, end);
  return {fields.at(v, 0, f, b), fields.at(v, 1, f, b), fields.at(v, 2, f, b), fields.at(v, 3, f, b),
          fields.at(v, 5, f, b), fields.at(v, 0, f, end), fields.at(v, 2, f, end),
          fields.at(v, 3, f, end), n_places, gaps, valid, values, job[3], job[4], min_samples,
          n_samples - min_samples};
}

#define WALK                                                                                  \
  const int *jobs, i64 portion, FIELDS, i64 n_borders, i64 min_samples, const double *values, \
      const int *members, i64 n_places, i64 *gaps, u8 *valid

#define START_WALK                                                                         \
  const int* job = jobs + JOB * (i64)blockIdx.x;                                           \
  if (job[5] != portion) return;                                                           \
  Walk walk = start_walk(job, THE_FIELDS, n_borders, min_samples, values, n_places, gaps, valid)

// A block a job, a warp a stretch of its rows. Shared memory: a counter a label and warp.
extern "C" __global__ void walk_labels(WALK, const int* first, const int* second,
                                       const u16* labels, const int* amounts, i64 n_labels,
                                       const i64* clusters) {
  extern __shared__ int counters[];
  START_WALK;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5;
  const int* counts = (job[0] ? second : first) + job[1] * n_labels * n_borders;
  int* seen = counters + warp * n_labels;
  for (i64 c = lane; c < n_labels; c += 32) seen[c] = 0;
  __syncwarp();
  i64 stretch = ((walk.n + n_warps - 1) / n_warps + 31) / 32 * 32;
  i64 start = min(warp * stretch, walk.n), stop = min(start + stretch, walk.n);
  for (i64 i = start + lane; i < stop; i += 32) {
    i64 row = members[walk.first + i];
    atomicAdd(&seen[labels[row]], amounts ? amounts[row] : 1);
  }
  __syncthreads();
  // Counts before the job, and after all of its warps, from those of each.
  for (i64 c = threadIdx.x; c < n_labels; c += blockDim.x) {
    int before = counts[c * n_borders + job[2]];
    for (int w = 0; w < n_warps; ++w) {
      int own = counters[w * n_labels + c];
      counters[w * n_labels + c] = before;
      before += own;
    }
  }
  __syncthreads();
  i64 joined = 0, rest = 0, volume = 0, size = 0;
  for (i64 c = lane; c < n_labels; c += 32) {
    i64 a = seen[c], r = counts[c * n_borders + n_borders - 1] - a;
    joined += clusters[c] * a * (a - 1);
    rest += clusters[c] * r * (r - 1);
    volume += clusters[n_labels + c] * a;
    size += clusters[2 * n_labels + c] * a;
  }
  for (int step = 16; step > 0; step >>= 1) {
    joined += __shfl_xor_sync(FULL, joined, step);
    rest += __shfl_xor_sync(FULL, rest, step);
    volume += __shfl_xor_sync(FULL, volume, step);
    size += __shfl_xor_sync(FULL, size, step);
  }
  walk.joined = joined;
  walk.rest = rest;
  walk.volume = volume;
  walk.size = size;
  walk.samples += start;
  for (i64 base = start; base < stop; base += 32) {
    i64 i = base + lane;
    bool active = i < stop;
    i64 row = active ? members[walk.first + i] : 0;
    int c = active ? labels[row] : -1;
    u32 same = __match_any_sync(FULL, c);
    int rank = __popc(same & ((1u << lane) - 1));
    int own = active && amounts ? amounts[row] : 1, before = rank, together = __popc(same);
    if (amounts) {
      before = together = 0;
      for (int other = 0; other < 32; ++other) {
        int its = __shfl_sync(FULL, own, other);
        if (!(same >> other & 1)) continue;
        together += its;
        if (other < lane) before += its;
      }
    }
    i64 earlier = active ? seen[c] + before : 0;
    __syncwarp();
    if (active && rank == 0) seen[c] += together;
    __syncwarp();
    i64 joins = 0, parts = 0, degree = 0, counted = 0;
    if (active) {
      // What `own` more change in n (n - 1).
      i64 weight = clusters[c] * own, left = counts[c * n_borders + n_borders - 1] - earlier;
      joins = weight * (2 * earlier + own - 1);
      parts = weight * (2 * left - own - 1);
      degree = clusters[n_labels + c] * own;
      counted = clusters[2 * n_labels + c] * own;
    }
    walk.advance(i, active, joins, parts, degree, counted, 1);
  }
}

// Shared memory: a counter and a flag a label. Centres: (nodes, 3, centres).
extern "C" __global__ void walk_stars(WALK, const int* first, const int* second, const u16* labels,
                                      i64 n_labels, const u8* center_codes, i64 code_step,
                                      const i64* centers, i64 n_samples) {
  extern __shared__ int seen[];
  int* is_left = seen + n_labels;
  START_WALK;
  int lane = threadIdx.x;
  i64 f = job[1], n_centers = n_labels - 1;
  const int* counts = (job[0] ? second : first) + f * n_labels * n_borders;
  const i64* center = centers + job[0] * 3 * n_centers;
  const u8* code = center_codes + (f / LANES) * code_step + f % LANES;
  for (i64 c = lane; c < n_labels; c += 32) {
    seen[c] = counts[c * n_borders + job[2]];
    is_left[c] = c < n_centers && center[c] && code[c * LANES] < job[2];
  }
  __syncwarp();
  for (i64 base = 0; base < walk.n; base += 32) {
    i64 i = base + lane;
    bool active = i < walk.n;
    i64 x = active ? members[walk.first + i] : 0;
    bool is_sample = active && x < n_samples;
    int c = !active ? -1 : is_sample ? labels[x] : (int)(x - n_samples);
    u32 same = __match_any_sync(FULL, c), before = same & ((1u << lane) - 1);
    u32 samples = __ballot_sync(FULL, is_sample);
    i64 earlier = active ? seen[c] + __popc(before & samples) : 0;
    bool center_left = active && (is_left[c] || (before & ~samples));
    __syncwarp();
    if (active && before == 0) {
      seen[c] += __popc(same & samples);
      if (same & ~samples) is_left[c] = 1;
    }
    __syncwarp();
    i64 joins = 0, parts = 0, degree = 0, counted = 0;
    if (is_sample && c < n_centers) {
      degree = 1;
      if (center[c]) { joins = center_left ? 2 : 0; parts = center_left ? 0 : 2; }
    } else if (active && !is_sample) {
      joins = 2 * earlier;
      parts = 2 * (counts[c * n_borders + n_borders - 1] - earlier);
      counted = center[n_centers + c];
      degree = center[2 * n_centers + c];
    }
    walk.advance(i, active, joins, parts, degree, counted, is_sample);
  }
}

extern "C" __global__ void walk_edges(WALK, const SUM* joined, const SUM* parted,
                                      const i64* degrees) {
  START_WALK;
  for (i64 base = 0; base < walk.n; base += 32) {
    i64 i = base + threadIdx.x, place = walk.first + i;
    bool active = i < walk.n;
    walk.advance(i, active, active ? (i64)joined[place] : 0, active ? (i64)parted[place] : 0,
                 active ? degrees[members[place]] : 0, 1, 1);
  }
}

// The best cut of every node, one block each: of those at borders, of this portion's, and unless `fresh`
// of those before. Records: (nodes, 12): bits of the score, feature, border or -1, members left, inner
// left, inner right, volume left, size left, samples left, keys of the values around the cut, rank.
extern "C" __global__ void finish(const Best* borders, i64 n_border_parts, const Best* gap_parts,
                                  i64 n_gap_parts, const double* scores, const int* job_of,
                                  const int* jobs, const double* values, FIELDS,
                                  const i64* gaps, i64 n_places, i64 n_borders, i64 fresh,
                                  i64* records) {
  __shared__ Best room[256];
  Fields fields = THE_FIELDS;
  i64 v = blockIdx.x;
  i64* record = records + v * 12;
  Best before = {INF, 0, 0};
  if (!fresh) before = {__longlong_as_double(record[0]), record[11], record[2] < 0 ? 0 : -1};
  Best mine = before;
  for (i64 i = threadIdx.x; i < n_border_parts + n_gap_parts; i += blockDim.x) {
    Best found = i < n_border_parts ? borders[v * n_border_parts + i]
                                    : gap_parts[v * n_gap_parts + i - n_border_parts];
    if (found.beats(mine)) mine = found;
  }
  mine = block_best(mine, room);
  if (threadIdx.x || !(fresh || mine.beats(before))) return;
  i64 f = mine.rank / n_borders, b = mine.rank % n_borders;
  bool is_gap = mine.place >= 0 && mine.score < INF;
  record[0] = __double_as_longlong(is_gap ? scores[mine.place] : mine.score);
  record[1] = f;
  record[2] = is_gap ? -1 : b;
  record[9] = 0;
  record[10] = -1;
  record[11] = mine.rank;
  record[3] = fields.at(v, 4, f, b);
  if (is_gap) {
    record[3] += mine.place - jobs[JOB * (i64)job_of[mine.place] + 3] + 1;
    record[4] = gaps[mine.place];
    record[5] = gaps[3 * n_places + mine.place];
    record[6] = gaps[n_places + mine.place];
    record[7] = gaps[2 * n_places + mine.place];
    record[8] = gaps[9 * n_places + mine.place];
    record[9] = (i64)key_of(values[mine.place]);
    record[10] = (i64)key_of(values[mine.place + 1]);
  } else {
    for (int field = 0; field < 4; ++field) record[4 + field] = fields.at(v, field, f, b);
    record[8] = fields.at(v, 5, f, b);
  }
}

// The greatest value left and the least value right of a cut at a border; blocks: (parts, nodes).
extern "C" __global__ void find_around(VALUES, const u8* codes, i64 n_vertices, const int* rows,
                                       i64 n_rows, const int* more_rows, i64 n_more,
                                       i64* records) {
  Values at = THE_VALUES;
  i64* record = records + blockIdx.y * 12;
  i64 f = record[1], border = record[2];
  if (border < 0) return;
  if (blockIdx.y) { rows = more_rows; n_rows = n_more; }
  const u8* code = codes + (f / LANES) * n_vertices * LANES + f % LANES;
  u64 low = 0, high = ~0ull;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows;
       i += (i64)gridDim.x * blockDim.x) {
    i64 row = rows[i];
    u64 key = key_of(at.at(row, f));
    if (code[row * LANES] < border) low = max(low, key); else high = min(high, key);
  }
  for (int step = 16; step > 0; step >>= 1) {
    low = max(low, __shfl_down_sync(FULL, low, step));
    high = min(high, __shfl_down_sync(FULL, high, step));
  }
  if ((threadIdx.x & 31) == 0) {
    if (low != 0) atomicMax((u64*)&record[9], low);
    if (high != ~0ull) atomicMin((u64*)&record[10], high);
  }
}

// Part the rows of a node, and number the parts; blocks of 1,024 rows keep their order inside.
extern "C" __global__ void split_rows(VALUES, const int* rows, i64 n_rows, i64 feature,
                                      double lower, double threshold, int* left, int* right,
                                      i64* sizes, int* part_of, i64 left_part, i64 right_part) {
  __shared__ int warp_sums[32];
  __shared__ i64 starts[2];
  Values at = THE_VALUES;
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  bool active = i < n_rows;
  int row = active ? rows[i] : 0;
  double x = active ? at.at(row, feature) : 0;
  bool goes_left = active && lower < x && x <= threshold;
  int n_left = block_scan(goes_left ? 1 : 0, warp_sums);
  if (threadIdx.x == blockDim.x - 1) {
    i64 here = min((i64)blockDim.x, n_rows - (i64)blockIdx.x * blockDim.x);
    starts[0] = (i64)atomicAdd((u64*)&sizes[0], (u64)n_left);
    starts[1] = (i64)atomicAdd((u64*)&sizes[1], (u64)(here - n_left));
  }
  __syncthreads();
  if (!active) return;
  if (goes_left) left[starts[0] + n_left - 1] = row;
  else right[starts[1] + threadIdx.x - n_left] = row;
  if (part_of) part_of[row] = (int)(goes_left ? left_part : right_part);
}
