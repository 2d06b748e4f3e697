# The R worker: speaks tare-worker/2 (docs/specs/worker-protocol.md). Base R is enough to run it.
#
# Started as
#   sh -c 'exec R --vanilla --no-echo --file=worker.R 3<&0 4>&1 </dev/null 1>&2'
# so that descriptors 3 and 4 carry the protocol, and nothing that a package prints gets into a reply.

LINE_BYTES <- 16L * 1024L * 1024L
MESSAGE_BYTES <- 2000L

local({
  file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])
  folder <- dirname(file)
  for (part in c("json", "tagged", "clocks", "dput", "codecs", "packages", "compare", "rebuild", "shown", "media",
                 "ends", "ops", "timing", "probe")) {
    sys.source(file.path(folder, paste0(part, ".R")), envir = globalenv())
  }
  assign("FOLDER", folder, envir = globalenv())
})

# Requests, one a line. fifo() reads what is there; file() would wait for a full buffer.
line_reader <- function(con) {
  pending <- raw(0)
  parts <- list()
  held <- 0
  skipping <- FALSE
  ended <- FALSE
  lines <- list()
  function() {
    repeat {
      if (length(lines)) {
        line <- lines[[1L]]
        lines <<- lines[-1L]
        return(line)
      }
      if (ended) return(NULL)
      data <- readBin(con, "raw", 65536L)
      if (!length(data)) {
        ended <<- TRUE # half a line at the end is nothing
        next
      }
      ends <- grepRaw("\n", data, fixed = TRUE, all = TRUE)
      from <- 1L
      for (end in ends) {
        piece <- if (end > from) data[from:(end - 1L)] else raw(0)
        line <- if (held) c(unlist(parts), piece) else piece
        parts <<- list()
        held <<- 0
        from <- end + 1L
        if (skipping || length(line) > LINE_BYTES) {
          skipping <<- FALSE
          lines[[length(lines) + 1L]] <<- list(long = TRUE)
        } else if (any(!line %in% as.raw(c(0x20, 0x09, 0x0d)))) {
          lines[[length(lines) + 1L]] <<- list(long = FALSE, bytes = line)
        }
      }
      if (from <= length(data)) {
        rest <- data[from:length(data)]
        held <<- held + length(rest)
        parts[[length(parts) + 1L]] <<- rest
        if (held > LINE_BYTES) {
          skipping <<- TRUE
          parts <<- list()
          held <<- 0
        }
      }
    }
  }
}

op_error <- function(type, message, phase = "protocol") {
  structure(class = c("op_error", "error", "condition"),
            list(message = message, call = NULL, type = type, phase = phase))
}

fail <- function(type, message, phase = "protocol") stop(op_error(type, message, phase))

cut_text <- function(text) {
  text <- iconv(paste(text, collapse = "\n"), "UTF-8", "UTF-8", sub = "?")
  if (nchar(text, "bytes") <= MESSAGE_BYTES) return(text)
  while (nchar(text, "bytes") > MESSAGE_BYTES) text <- substr(text, 1L, as.integer(nchar(text) * 0.9))
  paste0(text, "...")
}

# Whatever goes wrong inside is an error of that phase.
in_phase <- function(phase, code) {
  tryCatch(code, error = function(e) {
    if (inherits(e, "op_error")) stop(e)
    text <- conditionMessage(e)
    type <- if (grepl("cannot allocate|protect\\(\\): protection stack|memory exhausted", text)) "memory"
            else if (phase == "encode") "refused" else class(e)[1L]
    stop(op_error(type, text, phase))
  })
}

answer <- function(line) {
  id <- NULL
  op <- ""
  reply <- tryCatch({
    if (line$long) fail("protocol", sprintf("a line is longer than %d bytes", LINE_BYTES))
    request <- tryCatch(json_read(line$bytes), error = function(e) fail("protocol", paste("not JSON:",
        conditionMessage(e))))
    if (!is.list(request) || is.null(names(request))) fail("protocol", "a request is an object")
    id <- request$id
    op <- request$op
    known <- is.character(op) && length(op) == 1L && !is.null(OPS[[op]])
    if (!known) {
      fail("unknown_op", sprintf("no operation '%s' (there are %s)", substr(as.character(op)[1L], 1L, 80L),
                                 paste(sort(names(OPS)), collapse = ", ")))
    }
    list(id = id, ok = OPS[[op]](request))
  }, error = function(e) {
    type <- if (inherits(e, "op_error")) e$type else class(e)[1L]
    phase <- if (inherits(e, "op_error")) e$phase else "protocol"
    list(id = id, error = list(type = type, message = cut_text(conditionMessage(e)), phase = phase))
  })
  if (is.null(id)) reply <- c(list(id = NULL), reply[names(reply) != "id"])
  text <- json_write(reply)
  if (nchar(text, "bytes") > LINE_BYTES) {
    text <- json_write(list(id = id, error = list(type = "protocol", message = "the reply would be too long",
        phase = "protocol")))
  }
  list(text = text, quit = identical(op, "quit"))
}

serve <- function() {
  options(warn = 1L, stringsAsFactors = FALSE, digits = 7L, scipen = 0L, OutDec = ".", keep.source = FALSE)
  open_end <- function(path, mode) tryCatch(fifo(path, mode, blocking = TRUE), error = function(e) file(path, mode))
  source <- suppressWarnings(open_end("/dev/fd/3", "rb"))
  sink_ <- suppressWarnings(open_end("/dev/fd/4", "wb"))
  next_line <- line_reader(source)
  repeat {
    line <- next_line()
    if (is.null(line)) break
    said <- answer(line)
    writeBin(c(charToRaw(said$text), as.raw(0x0a)), sink_)
    flush(sink_)
    if (said$quit) break
  }
}

serve()
quit(save = "no", status = 0L)
