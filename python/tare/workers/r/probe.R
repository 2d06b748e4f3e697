# Probes: single values, each put through a codec; the parent judges what came back.

OPS$probe <- function(request) {
  one <- parse_codec(if (is.null(request$codec)) STATE$current else request$codec)
  set <- if (is.null(request$set)) "values/1" else request$set
  if (set != "values/1") fail("Unsupported", sprintf("this worker has the probes values/1, not %s", substr(set,
      1L, 40L)), "load")
  if (!"document" %in% one$kinds) fail("Unsupported", sprintf("%s holds tables, not documents", one$id), "load")
  # One a line, so that a text that R cannot hold costs its own probe only.
  lines <- sub(",$", "", grep("^\\{", readLines(file.path(FOLDER, "..", "probes-values-1.json")), value = TRUE))
  names_ <- sub("^\\{\"probe\": \"([^\"]*)\".*$", "\\1", lines)
  if (!is.null(request$only)) lines <- lines[names_ %in% unlist(request$only)]
  was <- TABLE
  TABLE <<- FALSE
  on.exit(TABLE <<- was)
  cells <- lapply(lines, function(line) .probe_one(one, line))
  list(cells = cells)
}

.probe_one <- function(one, line) {
  cell <- list(probe = sub("^\\{\"probe\": \"([^\"]*)\".*$", "\\1", line))
  value <- tryCatch(from_tagged(list(v = json_read(charToRaw(line))$tagged)), error = function(e) e)
  if (inherits(value, "error")) return(c(cell, list(status = "n/a", error = cut_text(conditionMessage(value)))))
  bytes <- tryCatch(suppressWarnings(encoded_bytes(one, value)), error = function(e) e)
  if (inherits(bytes, "error")) return(c(cell, list(status = "refused", error = cut_text(conditionMessage(bytes)))))
  cell$bytes_hex <- hex_of(utils::head(bytes, 256L))
  out <- tryCatch(to_tagged(suppressWarnings(decoded(one, bytes))), error = function(e) e)
  if (inherits(out, "error")) return(c(cell, list(status = "error", error = cut_text(conditionMessage(out)))))
  c(cell, list(status = "decoded", out = structure(out, class = "json_ready")))
}
