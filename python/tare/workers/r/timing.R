# Samples and peaks of memory.

number_or <- function(value, default) if (is.null(value)) default else as.double(value)

# The call of one operation, with what it makes looked at: list(call, size, items, clear).
job_of <- function(what, request) {
  if (what == "null") return(list(call = function() NULL, phase = "decode"))
  ready <- prepared_of(request)
  one <- ready$codec
  o <- one$o
  refuse <- function(name, only) {
    if (!is.null(request[[name]]) && request[[name]] != only) fail("Unsupported",
        sprintf("this worker measures %s=%s", name, only), "io")
  }
  refuse("materialise", "full")
  refuse("sync", "none")
  if (identical(request$medium, "store")) fail("Unsupported", "this worker has no store", "io")
  in_conn <- identical(request$medium, "conn")
  if (what == "encode" || (what == "write" && in_conn)) {
    need_value()
    x <- STATE$value
    encode <- one$encode # found once: looking for it would be in every call
    call <- if (in_conn) function() conn_write(one, x) else function() encode(x, o)
    return(list(call = call, phase = "encode",
                size = function(result) if (is.raw(result)) length(result) else sum(nchar(result, "bytes"))))
  }
  if (what == "decode" || (what == "read" && in_conn)) {
    bytes <- need_encoded(ready)
    if (in_conn) {
      ready$conn <- if (is.null(ready$conn)) in_phase("encode", if (STATE$loaded) conn_write(one,
          STATE$value) else bytes) else ready$conn
      bytes <- ready$conn
    }
    data <- if (in_conn) NULL else memory_data(ready)
    decode <- one$decode
    return(list(call = if (in_conn) function() conn_read(one, bytes) else function() decode(data, o),
                phase = "decode", items = TRUE, ready = ready))
  }
  if (what == "copy") {
    bytes <- need_encoded(ready)
    return(list(call = function() { made <- bytes; made[1L] <- made[1L]; made },
        phase = "decode", size = length))
  }
  if (what == "write") {
    need_value()
    x <- STATE$value
    path <- need(request, "path")
    made <- 0L
    call <- function() {
      made <<- made + 1L
      file_write(one, x, if (made == 1L) path else paste0(path, ".", made - 1L))
    }
    clear <- function(first) {
      if (made > 1L) unlink(paste0(path, ".", seq_len(made - 1L)))
      if (first) unlink(path)
      made <<- 0L
    }
    return(list(call = call, phase = "encode", clear = clear, size = function(.) file.size(path)))
  }
  if (what == "read") {
    path <- need(request, "path")
    if (identical(request$cache, "cold")) fail("Unsupported",
        "cold not possible in R: it cannot drop a file's pages", "io")
    if (!file.exists(path)) in_phase("encode", if (STATE$loaded) file_write(one, STATE$value,
        path) else writeBin(need_encoded(ready), path))
    return(list(call = function() file_read(one, path), phase = "decode", items = TRUE, ready = ready))
  }
  fail("usage", sprintf("run cannot do '%s'", substr(what, 1L, 40L)))
}

OPS$run <- function(request) {
  what <- need(request, "what")
  if (what %in% c("send", "receive")) return(run_stream(what, request))
  job <- job_of(what, request)
  ready <- if (what == "null") NULL else prepared_of(request)
  in_phase(job$phase, take_samples(job, request, ready))
}

take_samples <- function(job, request, ready) {
  if (!is.null(ready)) ready$last <- NULL
  if (isTRUE(job$items)) ready$last_call <- job$call
  batch <- number_or(request$batch, 0)
  target <- max(TARGET_NS, number_or(request$target_ns, TARGET_NS))
  if (is.null(ready)) target <- number_or(request$target_ns, TARGET_NS)
  if (batch <= 0) {
    key <- paste(request$what, request$path, request$medium)
    batch <- if (is.null(ready)) NULL else ready$batches[[key]]
    if (is.null(batch)) batch <- calibrate(job$call, target)
    if (!is.null(ready)) ready$batches[[key]] <- batch
    if (!is.null(job$clear)) job$clear(FALSE)
  }
  wanted <- max(1, number_or(request$samples, 1))
  until <- wall_ns() + 1e6 * number_or(request$budget_ms, Inf)
  proof <- list()
  rows <- list()
  repeat {
    if (!is.null(job$clear)) job$clear(TRUE)
    row <- sample_calls(job$call, batch, !is.null(ready) && ready$threads, function(result) {
      if (isTRUE(job$items)) proof$items <<- count_items(result)
      if (!is.null(job$size)) proof$bytes <<- job$size(result)
    })
    rows[[length(rows) + 1L]] <- I(row)
    if (!is.null(job$clear)) job$clear(FALSE)
    if (length(rows) >= wanted || wall_ns() > until) break
  }
  c(list(cols = I(columns()), samples = rows, batch = batch), proof)
}

SEND_STAMPS <- c("start_ns", "first_byte_ns", "last_byte_ns", "closed_ns")
RECEIVE_STAMPS <- c("first_byte_ns", "first_value_ns", "last_byte_ns", "last_value_ns")

run_stream <- function(what, request) {
  ready <- prepared_of(request)
  one <- ready$codec
  end <- in_phase("open", end_of(request$handle))
  delivery <- if (is.null(request$delivery)) ready$delivery else request$delivery
  if (!delivery %in% DELIVERIES) fail("usage", sprintf("delivery is one of %s", paste(DELIVERIES,
      collapse = ", ")), "open")
  if (isTRUE(request$ack)) fail("Unsupported",
      "R cannot close one direction of a connection, which an answer needs", "open")
  if (delivery == "streaming" && !one$parts) fail("Unsupported",
      sprintf("%s cannot be written and read in parts", one$id), "open")
  if (by_path(one)) fail("Unsupported", sprintf("%s writes files by their path and takes no connection",
      one$id), "open")
  again <- delivery %in% c("framed", "wrapped")
  batch <- if (again) max(1, number_or(request$batch, 1)) else 1
  samples <- if (again) max(1, number_or(request$samples, 1)) else 1
  ready$last <- NULL
  if (what == "send") need_value()
  rows <- list()
  proof <- list()
  for (n in seq_len(samples)) {
    stamps <- NULL
    count <- 0
    value <- NULL
    if (what == "receive") in_phase("open", accepted(end, request$timeout_s))
    call <- if (what == "send") function() {
      done <- in_phase("encode", send_one(one, STATE$value, end, delivery))
      stamps <<- if (is.null(stamps)) done$stamps else c(stamps[1:2], done$stamps[3:4])
      count <<- count + done$count
      TRUE
    } else function() {
      value <<- NULL
      done <- in_phase("decode", receive_one(one, end, delivery))
      stamps <<- if (is.null(stamps)) done$stamps else c(stamps[1:2], done$stamps[3:4])
      count <<- count + done$count
      value <<- done$value
      TRUE
    }
    row <- sample_calls(call, batch, ready$threads)
    rows[[n]] <- I(c(row, round(stamps)))
    if (!is.na(count)) proof$bytes <- count
    else proof$bytes <- length(need_encoded(ready))
    if (what == "receive") {
      proof$items <- count_items(value)
      ready$last <- value
    }
  }
  c(list(cols = I(c(columns(), if (what == "send") SEND_STAMPS else RECEIVE_STAMPS)), samples = rows,
      batch = batch), proof)
}

# Peak of one call above what was resident: the kernel's high water, set to the present before it.
OPS$mem <- function(request) {
  job <- job_of(need(request, "what"), request)
  for (ready in STATE$prepared) ready$last <- NULL
  field <- function(name) as.double(gsub("[^0-9]", "", grep(name, readLines("/proc/self/status"), value = TRUE))) * 1024
  if (!file.exists("/proc/self/clear_refs")) fail("Unsupported", "the peak of memory is told by Linux only", "io")
  gc(full = TRUE)
  in_phase("io", suppressWarnings(cat("5\n", file = "/proc/self/clear_refs")))
  before <- field("^VmRSS")
  made <- in_phase(job$phase, job$call())
  peak <- field("^VmHWM")
  made <- NULL
  if (!is.null(job$clear)) job$clear(FALSE)
  list(before_bytes = before, peak_bytes = max(0, peak - before), method = "hwm")
}
