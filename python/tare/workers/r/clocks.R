# The clocks of the worker. Base R has none that tells nanoseconds of CPU; the kernel does:
# /proc/self/schedstat, field 1. The kernel brings it up to date at a tick, so that alone it steps by
# 4 ms; asking for the process's usage (proc.time) first makes it exact.

COLUMNS <- c("wall_ns", "user_ns", "sys_ns", "nivcsw", "nvcsw", "minflt", "majflt", "gc_ns", "drop_ns")
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

# One sample: `batch` calls between the clocks, their results held, then freed and that timed.
# R's collector cannot be switched off: it runs as it must, and gc_ns is its part.
sample_calls <- function(call, batch, threads = FALSE, look = function(result) NULL) {
  cost <- reading_ns(threads)
  gc(full = TRUE)
  held <- vector("list", batch)
  before <- counters()
  collecting <- sum(gc.time()[1:2])
  system_before <- proc.time()[[2L]]
  cpu <- cpu_ns(threads)
  wall <- wall_ns()
  for (n in seq_len(batch)) {
    result <- call()
    if (!is.null(result)) held[[n]] <- result
  }
  wall <- wall_ns() - wall
  cpu <- max(0, cpu_ns(threads) - cpu - cost)
  system <- (proc.time()[[2L]] - system_before) * 1e9
  collecting <- (sum(gc.time()[1:2]) - collecting) * 1e9
  counted <- if (is.null(before)) NULL else counters() - before
  wall <- max(1, wall)
  if (!threads) cpu <- min(cpu, wall)
  system <- min(cpu, system)
  look(result)
  dropping <- cpu_ns(threads)
  held <- result <- NULL
  gc(full = FALSE)
  dropping <- max(0, cpu_ns(threads) - dropping - cost)
  round(c(wall, cpu - system, system, counted, min(collecting, wall), dropping))
}

columns <- function() if (HAS_SCHEDSTAT) COLUMNS else setdiff(COLUMNS, c("nivcsw", "nvcsw", "minflt", "majflt"))

# Calls in a batch that takes about target_ns, at most `most`.
calibrate <- function(call, target_ns, most) {
  call() # the first is up to several times slower than the rest: it compiles
  calls <- 1
  repeat {
    wall <- wall_ns()
    held <- vector("list", calls)
    for (n in seq_len(calls)) {
      result <- call()
      if (!is.null(result)) held[[n]] <- result
    }
    wall <- wall_ns() - wall
    one <- max(1, wall) / calls
    held <- result <- NULL
    if (one * calls * 4 >= target_ns || calls >= most) return(max(1, min(most, 1e6, round(target_ns / one))))
    calls <- min(most, ceiling(calls * max(2, min(16, target_ns / 4 / one / calls))))
  }
}
