# Fifos and TCP connections: one end each, one message or, framed, several.

ENDS <- new.env()
ENDS$last <- 0L

TOKEN_FAILED <- "whoever wrote did not send the token of this run"
FRAME <- as.raw(0xe0) # frame v1, docs/specs/messages.md: tag, length of 32 bits little endian
FRAME_MORE <- as.raw(0xe1)
FRAME_MOST <- 2^31 - 1

end_of <- function(handle) {
  end <- if (is.null(handle)) NULL else ENDS[[as.character(handle)]]
  if (is.null(end)) fail("usage", sprintf("no open end has the handle %s", paste(handle, collapse = "")), "open")
  end
}

open_end <- function(medium) {
  end <- new.env()
  end$kind <- medium$kind
  end$token <- token_frame(if (nzchar(paste0(medium$token, ""))) raw_of_hex(medium$token) else raw(0))
  address <- paste0(medium$address, "")
  if (!nzchar(address)) address <- paste0(medium$path, "")
  if (!identical(medium$kind, "fifo") && !identical(medium$kind, "tcp")) {
    fail("Unsupported", sprintf("R has the media fifo and tcp, not '%s'", substr(paste0(medium$kind, ""), 1L,
        40L)), "open")
  }
  end$address <- address
  if (identical(medium$role, "reader")) {
    if (end$kind == "fifo") listen_fifo(end) else listen_tcp(end)
  } else if (identical(medium$role, "writer")) {
    seconds <- if (is.null(medium$timeout_s)) 60 else medium$timeout_s
    if (end$kind == "fifo") {
      if (!file.exists(address)) fail("open", "there is no fifo there", "open")
      end$con <- fifo(address, "wb", blocking = TRUE)
    } else {
      parts <- split_address(address)
      end$con <- socketConnection(parts$host, parts$port, blocking = TRUE, open = "r+b", timeout = max(1L,
          ceiling(seconds)))
    }
    writeBin(end$token, end$con)
    flush(end$con)
  } else fail("usage", "role is reader or writer", "open")
  ENDS$last <- ENDS$last + 1L
  assign(as.character(ENDS$last), end, envir = ENDS)
  list(handle = ENDS$last, address = end$address)
}

# A writer's first frame, a control frame of kind 3; nothing if there is no token.
token_frame <- function(token) {
  if (length(token)) c(as.raw(0xe8), le32(1L + length(token)), as.raw(3L), token) else raw(0)
}

split_address <- function(address) {
  list(host = sub(":[0-9]+$", "", address), port = as.integer(sub("^.*:", "", address)))
}

# A fifo that is opened without blocking cannot tell "nothing yet" from "the writer has gone", and R
# cannot make it block later. So the reading end is opened twice while we hold a writing end of our own,
# which goes when the token has come.
listen_fifo <- function(end) {
  if (!nzchar(end$address)) {
    end$folder <- tempfile("fifo")
    dir.create(end$folder, mode = "0700")
    end$address <- file.path(end$folder, "fifo")
  }
  if (system2("mkfifo", c("-m", "600", shQuote(end$address))) != 0L) fail("open", "the fifo cannot be made", "open")
  end$glance <- fifo(end$address, "rb", blocking = FALSE)
  end$own <- fifo(end$address, "wb", blocking = TRUE)
  end$waiting <- fifo(end$address, "rb", blocking = TRUE)
}

# R's server socket listens on every address and cannot tell which free port it got: ports are tried.
# Whoever does not know the token is turned away.
listen_tcp <- function(end) {
  given <- if (nzchar(end$address)) split_address(end$address) else list(host = "127.0.0.1", port = 0L)
  wanted <- given$port
  tries <- if (wanted) wanted else 20000L + (Sys.getpid() * 7919L + ENDS$last * 104729L + 0:63 * 613L) %% 40000L
  for (port in tries) {
    end$server <- tryCatch(suppressWarnings(serverSocket(port)), error = function(e) NULL)
    if (!is.null(end$server)) break
  }
  if (is.null(end$server)) fail("open", "no free port", "open")
  end$address <- sprintf("%s:%d", if (nzchar(given$host)) given$host else "127.0.0.1", port)
}

# The reading end; waits for its writer and the token, `seconds` in all.
accepted <- function(end, seconds) {
  if (!is.null(end$con)) return(end$con)
  until <- wall_ns() / 1e9 + if (is.null(seconds)) 3600 else seconds
  if (end$kind == "fifo") {
    got <- raw(0)
    while (length(got) < length(end$token)) {
      piece <- tryCatch(readBin(end$glance, "raw", length(end$token) - length(got)), error = function(e) raw(0))
      got <- c(got, piece)
      if (!length(piece)) {
        if (wall_ns() / 1e9 > until) fail("TimeoutError", "nobody wrote to the fifo in time", "open")
        Sys.sleep(0.0005)
      }
    }
    if (!identical(got, end$token)) fail("ConnectionError", TOKEN_FAILED, "open")
    close(end$glance)
    close(end$own)
    end$glance <- end$own <- NULL
    end$con <- end$waiting
    end$waiting <- NULL
    return(end$con)
  }
  repeat {
    left <- until - wall_ns() / 1e9
    if (left <= 0 || !socketSelect(list(end$server), FALSE, left)) fail("TimeoutError",
        "nobody connected in time", "open")
    con <- socketAccept(end$server, blocking = TRUE, open = "r+b", timeout = max(1L, ceiling(left)))
    got <- tryCatch(if (socketSelect(list(con), FALSE, max(0.05, until - wall_ns() / 1e9))) readBin(con, "raw",
        length(end$token)),
                    error = function(e) NULL)
    if (identical(got, end$token) || !length(end$token)) {
      end$con <- con
      return(con)
    }
    close(con)
  }
}

close_end <- function(handle) {
  end <- end_of(handle)
  for (name in c("con", "glance", "own", "waiting", "server")) {
    if (!is.null(end[[name]])) try(close(end[[name]]), silent = TRUE)
  }
  if (!is.null(end$folder)) unlink(end$folder, recursive = TRUE)
  rm(list = as.character(handle), envir = ENDS)
}

# --- sending ------------------------------------------------------------------------

DELIVERIES <- c("whole", "buffered", "streaming", "framed", "wrapped")

le32 <- function(n) writeBin(as.integer(n), raw(), size = 4L, endian = "little")

# Bytes in frames of at most 2^31 - 1.
frames_of <- function(bytes) {
  if (length(bytes) <= FRAME_MOST) return(list(c(FRAME, le32(length(bytes))), bytes))
  starts <- seq(1, length(bytes), by = FRAME_MOST)
  unlist(lapply(starts, function(from) {
    piece <- bytes[from:min(length(bytes), from + FRAME_MOST - 1)]
    list(c(if (from + FRAME_MOST > length(bytes)) FRAME else FRAME_MORE, le32(length(piece))), piece)
  }), recursive = FALSE)
}

# One msgpack bin: what `serialize over msgConnection` did in the study.
bin_of <- function(bytes) {
  n <- length(bytes)
  head <- if (n < 256L) as.raw(c(0xc4, n))
          else if (n < 65536L) as.raw(c(0xc5, n %/% 256L, n %% 256L))
          else as.raw(c(0xc6, n %/% 16777216, n %/% 65536 %% 256, n %/% 256 %% 256, n %% 256))
  list(head, bytes)
}

# Sends one value; gives the bytes sent and stamps.
send_one <- function(one, x, end, delivery) {
  start <- wall_ns()
  if (delivery == "streaming") {
    before <- wall_ns()
    write_to(one, x, end$con)
    flush(end$con)
    count <- NA
  } else {
    bytes <- encoded_for_wire(one, x)
    parts <- switch(delivery, framed = frames_of(bytes), wrapped = bin_of(bytes), list(bytes))
    before <- wall_ns()
    # Header and message go together where copying costs less than a call.
    if (length(parts) == 2L && length(parts[[2L]]) < 65536L) parts <- list(c(parts[[1L]], parts[[2L]]))
    for (part in parts) writeBin(part, end$con)
    flush(end$con)
    count <- sum(lengths(parts))
  }
  after <- wall_ns()
  if (!delivery %in% c("framed", "wrapped")) {
    close(end$con)
    end$con <- NULL
  }
  list(count = count, stamps = c(start, before, after, wall_ns()))
}

encoded_for_wire <- function(one, x) as_bytes(if (has_memory(one)) one$encode(x, one$o) else conn_write(one, x))

# --- receiving ----------------------------------------------------------------------

read_exactly <- function(con, n) {
  parts <- list()
  got <- 0
  while (got < n) {
    piece <- readBin(con, "raw", min(n - got, 2^30))
    if (!length(piece)) fail("Truncated", sprintf("the writer closed after %.0f of %.0f bytes", got, n), "io")
    got <- got + length(piece)
    parts[[length(parts) + 1L]] <- piece
  }
  if (length(parts) == 1L) parts[[1L]] else unlist(parts)
}

be <- function(bytes) sum(as.integer(bytes) * 256^(rev(seq_along(bytes)) - 1))

receive_frames <- function(con, stamp) {
  parts <- list()
  repeat {
    head <- read_exactly(con, 5)
    stamp()
    tag <- as.integer(head[1L])
    length_ <- be(rev(head[2:5]))
    if (tag %/% 16L != 14L || length_ > FRAME_MOST) fail("Malformed",
        sprintf("no frame begins with the byte %s", head[1L]), "io")
    if (bitwAnd(tag, 2L)) fail("Unsupported", "a compressed frame: this worker reads plain ones", "io")
    payload <- if (length_) read_exactly(con, length_) else raw(0)
    if (bitwAnd(tag, 4L)) read_exactly(con, 4) # a checksum, which R has nothing to check with
    if (bitwAnd(tag, 8L)) next # a control frame is no part of a message
    parts[[length(parts) + 1L]] <- payload
    if (!bitwAnd(tag, 1L)) return(if (length(parts) == 1L) parts[[1L]] else unlist(parts))
  }
}

receive_bin <- function(con, stamp) {
  tag <- read_exactly(con, 1)
  stamp()
  size <- switch(as.character(tag), c4 = 1, c5 = 2, c6 = 4, fail("Malformed",
      sprintf("no bin begins with the byte %s", tag), "io"))
  n <- be(read_exactly(con, size))
  if (n) read_exactly(con, n) else raw(0)
}

receive_one <- function(one, end, delivery) {
  con <- end$con
  first <- 0
  stamp <- function() if (!first) first <<- wall_ns()
  if (delivery == "streaming") {
    # Waiting for the first byte is not reading; a fifo cannot be waited on.
    if (end$kind == "tcp") socketSelect(list(con), FALSE)
    stamp()
    value <- read_from(one, con)
    last <- done <- wall_ns()
    count <- NA
  } else {
    bytes <- if (delivery == "framed") receive_frames(con, stamp)
             else if (delivery == "wrapped") receive_bin(con, stamp)
             else {
               one_byte <- readBin(con, "raw", 1L)
               stamp()
               c(one_byte, read_rest(con))
             }
    last <- wall_ns()
    count <- length(bytes) + switch(delivery, framed = 5 * max(1, ceiling(length(bytes) / FRAME_MOST)),
                                    wrapped = if (length(bytes) < 256) 2 else if (length(bytes) < 65536) 3 else 5, 0)
    value <- if (has_memory(one)) one$decode(data_of(one, bytes), one$o) else conn_read(one, bytes)
    done <- wall_ns()
  }
  list(count = count, value = value, stamps = c(first, done, last, done))
}
