# What the worker can be asked: one function for each operation. All state is in STATE.

STATE <- new.env()
TABLE <- FALSE # whether what is loaded is a table, or several

forget <- function() {
  STATE$loaded <- FALSE
  STATE$value <- NULL
  STATE$kind <- ""
  STATE$items <- 0
  STATE$resident <- 0
  STATE$prepared <- list()
  STATE$current <- ""
  TABLE <<- FALSE
}
forget()

count_items <- function(x) {
  if (is.null(x)) return(as.integer(STATE$loaded && is.null(STATE$value)))
  if (is.data.frame(x)) return(nrow(x))
  if (TABLE && is.list(x) && length(x)) {
    if (is_frames(STATE$value)) return(sum(vapply(x, count_items, 0)))
    return(max(lengths(x)))
  }
  if (is.list(x) && is.null(names(x))) length(x) else 1L
}

resident_kb <- function() {
  line <- if (file.exists("/proc/self/status")) grep("^VmRSS", readLines("/proc/self/status"), value = TRUE)
  if (length(line)) as.double(gsub("[^0-9]", "", line)) else NA
}

need <- function(request, name) {
  value <- request[[name]]
  if (!is.character(value) || length(value) != 1L) fail("usage", sprintf("%s needs '%s', a text", request$op, name))
  value
}

prepared_of <- function(request) {
  name <- if (is.null(request$codec)) STATE$current else request$codec
  ready <- if (nzchar(name)) STATE$prepared[[name]]
  if (is.null(ready)) fail("usage", sprintf("%s is not prepared", if (nzchar(name)) name else "no codec"))
  ready
}

# The encoded bytes; made now, outside every clock, if nobody has made them.
need_encoded <- function(ready) {
  if (is.null(ready$bytes)) {
    need_value()
    ready$bytes <- in_phase("encode", encoded_bytes(ready$codec, STATE$value))
  }
  ready$bytes
}

need_value <- function() {
  if (!STATE$loaded) fail("usage", "nothing to encode: load first, or give 'encoded'", "load")
  STATE$value
}

# Decoding by the memory form, converted outside the clock.
memory_data <- function(ready) {
  if (is.null(ready$data)) ready$data <- data_of(ready$codec, need_encoded(ready))
  ready$data
}

object <- function(x) if (length(x)) x else structure(list(), names = character())

described <- function(one) {
  text <- has_memory(one)
  media <- c(if (text) "memory", if (is.null(one[["by_path"]]) || !is.null(one[["write"]])) "conn", "file",
             if (text || !is.null(one[["write"]])) c("fifo", "tcp"))
  list(id = one$id, library = one$library, version = version_of(one), options = object(lapply(one$options, `[`, 1L)),
       choices = object(lapply(one$options, I)), kinds = I(one$kinds), media = I(media),
       delivery = I(c("whole", if ("fifo" %in% media) c("buffered", if (one$parts) "streaming", "framed", "wrapped"))),
       subset = I(character()), threads = if (one$threaded) list(1, "all") else list(1), executes_code = one$code)
}

OPS <- list()

OPS$hello <- function(request) {
  if (!is.null(request$proto) && request$proto != 2) fail("usage",
      sprintf("this worker speaks protocol 2, not %s", json_write(request$proto)))
  if (is.numeric(request$seed)) set.seed(request$seed %% .Machine$integer.max)
  here <- if (isFALSE(request$list)) list() else Filter(installed, CODECS)
  missing <- if (isFALSE(request$list)) list() else Filter(Negate(installed), CODECS)
  list(proto = 2, worker = "r", runtime = "R", version = as.character(getRversion()), pid = Sys.getpid(),
       codecs = unname(lapply(here, described)),
       missing = unname(lapply(missing, function(one) list(id = one$id, kinds = I(one$kinds),
           install = install_line(one)))),
       clocks = I(columns()), cpu_source = CPU_SOURCE, gc = I("on"), stamps = "realtime")
}

# Codecs write whole numbers of 64 bits as such where bit64's methods are there, and else the doubles that have their bits.
know_int64 <- function(value) {
  is64 <- function(x) inherits(x, "integer64") || (is.list(x) && any(vapply(x, is64, NA)))
  if (is.list(value) && is64(value)) requireNamespace("bit64", quietly = TRUE)
  invisible()
}

OPS$load <- function(request) {
  path <- need(request, "path")
  as_ <- need(request, "as")
  forget()
  gc(full = TRUE)
  before <- resident_kb()
  in_phase("load", {
    if (!file.exists(path)) stop("there is no such file")
    value <- switch(as_,
      rds = readRDS(path),
      json = json_read(file_bytes(path)),
      values = tagged_read(file_bytes(path)),
      bytes = file_bytes(path),
      arrow = {
        if (!nzchar(system.file(package = "arrow"))) fail("Unsupported",
            "reading Arrow files needs the R package arrow; give the data as rds", "load")
        as.data.frame(arrow::read_ipc_file(path, mmap = FALSE))
      },
      fail("Unsupported", sprintf("this worker loads rds, json, values, bytes and arrow, not '%s'", substr(as_,
          1L, 40L)), "load"))
    STATE$value <- value
  })
  STATE$loaded <- TRUE
  TABLE <<- is.data.frame(STATE$value) || is_frames(STATE$value)
  STATE$kind <- if (TABLE) "table" else "document"
  STATE$items <- count_items(STATE$value)
  gc(full = TRUE)
  after <- resident_kb()
  # Of JSON and tagged values none comes; what bit64 itself takes is no part of the data.
  if (as_ %in% c("rds", "arrow")) know_int64(STATE$value)
  STATE$resident <- if (is.na(after)) as.double(utils::object.size(STATE$value)) else max(0, (after - before) * 1024)
  list(kind = STATE$kind, items = STATE$items, rows = if (TABLE) STATE$items, resident_bytes = STATE$resident)
}

OPS$prepare <- function(request) {
  one <- parse_codec(request$codec)
  wanted <- request$kind
  if (!is.null(wanted) && !wanted %in% c("", "own", "table", "document")) fail("Unsupported",
      sprintf("in R the data have R's own kind, not %s", wanted), "load")
  if (identical(request$grain, "each")) fail("Unsupported", "this worker makes one call for all documents", "load")
  if (identical(request$order, "lexical")) fail("Unsupported",
      "this worker writes names in the order they come", "load")
  if (STATE$loaded && !STATE$kind %in% one$kinds) fail("Unsupported", sprintf("%s holds %ss, not %ss", one$id,
      paste(one$kinds, collapse = "s and "), STATE$kind), "encode")
  if (is_frames(STATE$value) && !one$several) fail("Unsupported", sprintf("%s holds one table, not several",
      one$id), "encode")
  if (STATE$loaded && !is_frames(STATE$value) && identical(one$o$tables, "several")) fail("Unsupported",
      "the data are one table: leave out tables=several", "encode")
  began <- wall_ns()
  in_phase("encode", if (one$package != "base") loadNamespace(one$package))
  import_ns <- round(wall_ns() - began)
  threads <- if (identical(request$threads, "all")) max(1L, parallel::detectCores(), na.rm = TRUE) else 1L
  in_phase("encode", one$setup(threads))
  if (is_frames(STATE$value) && "tables" %in% names(one$o)) one$o$tables <- "several"
  ready <- new.env()
  ready$codec <- one
  ready$threads <- one$threaded
  ready$delivery <- if (is.null(request$delivery)) "whole" else request$delivery
  ready$batches <- list()
  reply <- list(import_ns = import_ns)
  if (!is.null(request$encoded)) {
    ready$bytes <- in_phase("io",
        { if (!file.exists(request$encoded)) stop("there is no such file"); file_bytes(request$encoded) })
  } else need_value()
  if (!isFALSE(request$cold)) {
    if (is.null(ready$bytes)) {
      began <- wall_ns()
      ready$bytes <- in_phase("encode", encoded_bytes(one, STATE$value))
      reply$cold_encode_ns <- max(1, round(wall_ns() - began))
    }
    data <- if (has_memory(one) && !by_path(one)) memory_data(ready) else NULL
    began <- wall_ns()
    ready$last <- in_phase("decode", if (is.null(data)) decoded(one, ready$bytes) else one$decode(data, one$o))
    reply$cold_decode_ns <- max(1, round(wall_ns() - began))
    reply$items <- count_items(ready$last)
  }
  ready$last_call <- function() decoded(one, need_encoded(ready))
  if (!is.null(ready$bytes)) {
    reply$bytes <- length(ready$bytes)
    reply$sha256 <- sha256(ready$bytes)
  }
  STATE$prepared[[request$codec]] <- ready
  STATE$current <- request$codec
  reply
}

OPS$verify <- function(request) {
  ready <- prepared_of(request)
  if (!STATE$loaded) fail("usage", "nothing to compare with: load first", "load")
  if (is.null(ready$last)) ready$last <- in_phase("decode", ready$last_call())
  limit <- if (isFALSE(request$full)) 1L else if (is.null(request$limit)) 20L else request$limit
  found <- in_phase("verify", compare(STATE$value, ready$last, limit))
  out <- list(verdict = found$verdict, items_in = STATE$items, items_out = count_items(ready$last),
      changes = found$changes)
  ready$last <- NULL
  out
}

OPS$encode_to <- function(request) {
  ready <- prepared_of(request)
  bytes <- need_encoded(ready)
  in_phase("io", writeBin(bytes, need(request, "path")))
  list(bytes = length(bytes))
}

OPS$decode_from <- function(request) {
  ready <- prepared_of(request)
  path <- need(request, "path")
  bytes <- in_phase("io", { if (!file.exists(path)) stop("there is no such file"); file_bytes(path) })
  ready$last <- in_phase("decode", decoded(ready$codec, bytes))
  told <- if (isTRUE(request$parts)) tagged_parts else to_tagged
  if (!is.null(request$out)) in_phase("io", writeLines(told(ready$last), request$out, useBytes = TRUE))
  list(items = count_items(ready$last))
}

OPS$open <- function(request) {
  if (!is.list(request$medium)) fail("usage", "open needs medium: {kind, role, address, token}")
  in_phase("open", open_end(request$medium))
}

OPS$close <- function(request) {
  in_phase("io", close_end(request$handle))
  object(list())
}

OPS$quit <- function(request) object(list())
