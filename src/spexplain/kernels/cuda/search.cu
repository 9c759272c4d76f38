// From scores and bounds to the best cut: select, gather, sort, then walk and finish.
//
// A job is a bin whose rows are sorted and swept. Jobs are taken in portions, so that their places
// always fit the same room; kernels leave out the jobs of other portions.

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
      entry[6] = 0;
    }
    job_at[v * n_features * n_bins + i] = job;
  }
}

// Put the rows of a portion's jobs into their places, in any order. Blocks: (sixteens, parts of the rows, nodes).
extern "C" __global__ void __launch_bounds__(512, 2)
    gather_jobs(VALUES, const u8* codes, i64 n_vertices, const int* rows, i64 n_rows,
                const int* more_rows, i64 n_more, i64 n_features, i64 n_bins, i64 everything,
                const int* job_at, int* jobs, i64 portion, double* values, int* members,
                int* job_of) {
  __shared__ int own[LANES][EDGES];
  __shared__ u32 lanes;  // those with jobs: the others are not looked up
  Values at = THE_VALUES;
  i64 first = (i64)blockIdx.x * LANES;
  if (blockIdx.z) { rows = more_rows; n_rows = n_more; }
  const int* here = job_at + (i64)blockIdx.z * n_features * n_bins;
  if (threadIdx.x == 0) lanes = 0;
  __syncthreads();
  u32 some = 0;
  for (int i = threadIdx.x; i < LANES * EDGES; i += blockDim.x) {
    i64 f = first + i / EDGES, b = everything ? 0 : i % EDGES;
    int job = f < n_features && b < n_bins ? here[f * n_bins + b] : -1;
    if (job >= 0 && jobs[JOB * (i64)job + 5] != portion) job = -1;
    own[i / EDGES][i % EDGES] = job;
    if (job >= 0) some |= 1u << (i / EDGES);
  }
  if (some) atomicOr(&lanes, some);
  __syncthreads();
  u32 wanted = lanes;
  if (!wanted) return;
  const uint4* code = (const uint4*)(codes + (i64)blockIdx.x * n_vertices * LANES);
  i64 step = (i64)gridDim.y * blockDim.x;
  for (i64 base = (i64)blockIdx.y * blockDim.x + threadIdx.x; base < n_rows;
       base += N_AHEAD * step) {
    // Several rows in flight hide the way to memory.
    int row[N_AHEAD];
    uint4 packed[N_AHEAD];
#pragma unroll
    for (int u = 0; u < N_AHEAD; ++u) {
      row[u] = base + u * step < n_rows ? rows[base + u * step] : -1;
      if (row[u] >= 0) packed[u] = code[row[u]];
    }
#pragma unroll
    for (int u = 0; u < N_AHEAD; ++u) {
      if (row[u] < 0) continue;
      u32 words[4] = {packed[u].x, packed[u].y, packed[u].z, packed[u].w};
#pragma unroll
      for (int j = 0; j < LANES; ++j) {
        if (!(wanted >> j & 1)) continue;
        int job = own[j][(words[j / 4] >> (8 * (j % 4))) & 255];
        if (job < 0) continue;
        int* entry = jobs + JOB * (i64)job;
        i64 place = entry[3] + atomicAdd(&entry[6], 1);
        values[place] = at.at(row[u], first + j);
        members[place] = row[u];
        job_of[place] = job;
      }
    }
  }
}

// Sort the rows of a portion's jobs by value; one block a job. A thread holds N_OWN neighbouring rows in registers;
// threads of a warp pass theirs on directly, others by shared memory: room for N_OWN keys and rows a thread.
struct SortedRow {
  u64 key;
  int row;
  __device__ __forceinline__ void meet(u64 key_there, int row_there, bool keep_less) {
    if (key_there != key && (key_there < key) == keep_less) { key = key_there; row = row_there; }
  }
};

template <int N_OWN>
__device__ void sort_job(const int* jobs, i64 portion, double* values, int* members) {
  extern __shared__ u64 passed_keys[];
  int n_threads = blockDim.x, t = threadIdx.x;
  int* passed_rows = (int*)(passed_keys + N_OWN * n_threads);
  const int* job = jobs + JOB * (i64)blockIdx.x;
  int n = job[4], n_padded = 32 * N_OWN;
  if (job[5] != portion) return;
  while (n_padded < n) n_padded <<= 1;
  values += job[3];
  members += job[3];
  bool active = t * N_OWN < n_padded;  // the same for all threads of a warp
  SortedRow own[N_OWN];
#pragma unroll
  for (int j = 0; j < N_OWN; ++j) {
    int i = t * N_OWN + j;
    own[j].key = i < n ? key_of(values[i]) : ~0ull;
    own[j].row = i < n ? members[i] : -1;
  }
  for (int size = 2; size <= n_padded; size <<= 1) {
    int step = size >> 1;
    for (; step >= 32 * N_OWN; step >>= 1) {
      __syncthreads();
#pragma unroll
      for (int j = 0; j < N_OWN; ++j) {  // neighbours in other places: no two of a warp meet in a bank
        passed_keys[j * n_threads + t] = own[j].key;
        passed_rows[j * n_threads + t] = own[j].row;
      }
      __syncthreads();
      int there = t ^ (step / N_OWN);
      bool keep_less = ((t * N_OWN & size) == 0) == (t < there);
      if (active)
#pragma unroll
        for (int j = 0; j < N_OWN; ++j)
          own[j].meet(passed_keys[j * n_threads + there],
                      passed_rows[j * n_threads + there], keep_less);
    }
    if (!active) continue;
    for (; step >= N_OWN; step >>= 1) {
      int apart = step / N_OWN;
      bool keep_less = ((t * N_OWN & size) == 0) == ((t & apart) == 0);
#pragma unroll
      for (int j = 0; j < N_OWN; ++j) {
        u64 key = __shfl_xor_sync(FULL, own[j].key, apart);
        own[j].meet(key, __shfl_xor_sync(FULL, own[j].row, apart), keep_less);
      }
    }
#pragma unroll
    for (int within = N_OWN / 2; within > 0; within >>= 1) {
      if (within > step) continue;
#pragma unroll
      for (int j = 0; j < N_OWN; ++j) {
        if (j & within) continue;
        bool ascending = ((t * N_OWN + j) & size) == 0;
        SortedRow low = own[j], high = own[j + within];
        own[j].meet(high.key, high.row, ascending);
        own[j + within].meet(low.key, low.row, !ascending);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < N_OWN; ++j) {
    int i = t * N_OWN + j;
    if (i >= n) continue;
    values[i] = value_of(own[j].key);
    members[i] = own[j].row;
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    sort_jobs_of_4(const int* jobs, i64 portion, double* values, int* members) {
  sort_job<4>(jobs, portion, values, members);
}

extern "C" __global__ void __launch_bounds__(1024)
    sort_jobs_of_8(const int* jobs, i64 portion, double* values, int* members) {
  sort_job<8>(jobs, portion, values, members);
}

extern "C" __global__ void __launch_bounds__(1024)
    sort_jobs_of_16(const int* jobs, i64 portion, double* values, int* members) {
  sort_job<16>(jobs, portion, values, members);
}
