# The clocks of the worker. Base R has none that tells nanoseconds of CPU; the kernel does:
# /proc/self/schedstat, field 1. The kernel brings it up to date at a tick, so that alone it steps by
# 4 ms; asking for the process's usage (proc.time) first makes it exact.

COLUMNS <- c("wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns")
CPU_SOURCE <- "/proc/self/schedstat after getrusage, split by getrusage"
TARGET_NS <- 5e6 # reading the clocks costs about 25 us, which is taken off

SCHEDSTAT <- "/proc/self/schedstat"
HAS_SCHEDSTAT <- file.exists(SCHEDSTAT)

wall_ns <- function() unclass(Sys.time()) * 1e9

# CPU time of this process in nanoseconds; of all its threads if `threads`.
cpu_ns <- function(threads = FALSE) {
  used <- proc.time()
  if (!HAS_SCHEDSTAT) return((used[[1L]] + used[[2L]]) * 1e9)
  if (!threads) return(as.double(strsplit(readLines(SCHEDSTAT, 1L), " ", fixed = TRUE)[[1L]][1L]))
  sum(vapply(Sys.glob("/proc/self/task/*/schedstat"), function(path) {
    as.double(strsplit(readLines(path, 1L), " ", fixed = TRUE)[[1L]][1L])
  }, 0))
}

# Forced and other context switches, minor and major faults; NULL where /proc does not tell.
counters <- function() {
  if (!HAS_SCHEDSTAT) return(NULL)
  status <- readLines("/proc/self/status")
  switches <- as.double(gsub("[^0-9]", "", grep("ctxt_switches", status, value = TRUE)))
  stat <- strsplit(sub("^.*\\) ", "", readLines("/proc/self/stat", 1L)), " ", fixed = TRUE)[[1L]]
  c(switches[2L], switches[1L], as.double(stat[8L]), as.double(stat[10L]))
}

# What reading the clocks costs, found once; it is in no figure.
.reading <- new.env()
reading_ns <- function(threads) {
  key <- if (threads) "all" else "one"
  if (is.null(.reading[[key]])) {
    spent <- vapply(1:41, function(.) { before <- cpu_ns(threads); cpu_ns(threads) - before }, 0)
    .reading[[key]] <- min(spent[-(1:11)])
  }
  .reading[[key]]
}

# One sample: `batch` calls between the clocks; each result is dropped before the next call, and the last is looked at.
# R's collector cannot be switched off: it frees what was dropped as it must, and gc_ns is its part.
sample_calls <- function(call, batch, threads = FALSE, look = function(result) NULL) {
  cost <- reading_ns(threads)
  gc(full = TRUE)
  before <- counters()
  collecting <- sum(gc.time()[1:2])
  system_before <- proc.time()[[2L]]
  cpu <- cpu_ns(threads)
  wall <- wall_ns()
  for (n in seq_len(batch - 1)) call()
  result <- call()
  wall <- wall_ns() - wall
  cpu <- max(0, cpu_ns(threads) - cpu - cost)
  system <- (proc.time()[[2L]] - system_before) * 1e9
  collecting <- (sum(gc.time()[1:2]) - collecting) * 1e9
  counted <- if (is.null(before)) NULL else counters() - before
  wall <- max(1, wall)
  if (!threads) cpu <- min(cpu, wall)
  system <- min(cpu, system)
  look(result)
  round(c(wall, cpu - system, system, counted, min(collecting, wall)))
}

columns <- function() if (HAS_SCHEDSTAT) COLUMNS else setdiff(COLUMNS, c("nivcsw", "nvcsw", "minflt", "majflt"))

MOST_CALLS <- 1e6

# Calls in a batch that takes about target_ns.
calibrate <- function(call, target_ns) {
  call() # the first is up to several times slower than the rest: it compiles
  calls <- 1
  repeat {
    wall <- wall_ns()
    for (n in seq_len(calls)) call()
    wall <- wall_ns() - wall
    one <- max(1, wall) / calls
    if (one * calls * 4 >= target_ns || calls >= MOST_CALLS) return(max(1, min(MOST_CALLS, round(target_ns / one))))
    calls <- min(MOST_CALLS, ceiling(calls * max(2, min(16, target_ns / 4 / one / calls))))
  }
}
