# Tagged values, dialect values/1, of what R has; what it has not is told by na_here().

na_here <- function(what) stop(structure(class = c("not_here", "error", "condition"),
    list(message = paste("R has no", what), call = NULL)))

hex_of <- function(x) paste(sprintf("%02x", as.integer(x)), collapse = "")

# All digits at once: those of a document's doubles are millions.
raw_of_hex <- function(text) {
  digits <- as.integer(charToRaw(tolower(text))) - 48L
  digits <- digits - ifelse(digits > 9L, 39L, 0L)
  odd <- seq.int(1L, by = 2L, length.out = length(digits) / 2L)
  as.raw(digits[odd] * 16L + digits[odd + 1L])
}

.base64 <- c(LETTERS, letters, 0:9, "+", "/")

base64_of <- function(bytes) {
  n <- length(bytes)
  if (!n) return("")
  pad <- (3L - n %% 3L) %% 3L
  m <- matrix(as.integer(c(bytes, raw(pad))), nrow = 3L)
  sextets <- rbind(m[1L, ] %/% 4L, m[1L, ] %% 4L * 16L + m[2L, ] %/% 16L, m[2L, ] %% 16L * 4L + m[3L, ] %/% 64L,
      m[3L, ] %% 64L)
  text <- .base64[sextets + 1L]
  if (pad) text[length(text) + 1L - seq_len(pad)] <- "="
  paste(text, collapse = "")
}

raw_of_base64 <- function(text) {
  letters_ <- strsplit(sub("=*$", "", text), "")[[1L]]
  if (!length(letters_)) return(raw(0))
  sextets <- match(letters_, .base64) - 1L
  bytes <- (length(sextets) * 6L) %/% 8L
  m <- matrix(c(sextets, integer((4L - length(sextets) %% 4L) %% 4L)), nrow = 4L)
  out <- rbind(m[1L, ] * 4L + m[2L, ] %/% 16L, m[2L, ] %% 16L * 16L + m[3L, ] %/% 4L, m[3L, ] %% 4L * 64L + m[4L, ])
  as.raw(out)[seq_len(bytes)]
}

# --- reading --------------------------------------------------------------------------

# A document of tagged values; where no tag but that of doubles is there, nothing is left to be looked at.
tagged_read <- function(bytes) {
  value <- json_read(bytes, tagged = TRUE)
  other <- "\"\\$(?!f64\"\\s*:\\s*\"[0-9a-f]{16}\"\\s*[}])" # also that of a double with more to say
  if (grepl(other, rawToChar(bytes), perl = TRUE, useBytes = TRUE)) from_tagged(value) else value
}

from_tagged <- function(node) {
  if (!is.list(node)) return(node)
  tags <- names(node)
  tag <- tags[substr(tags, 1L, 1L) == "$"][1L]
  if (is.null(tags) || is.na(tag)) {
    for (at in which(vapply(node, is.list, TRUE))) node[at] <- list(from_tagged(node[[at]]))
    return(node)
  }
  value <- node[[tag]]
  switch(tag,
    "$int" = {
      if (abs(as.double(value)) > 2^53 || sprintf("%.0f",
          as.double(value)) != value) na_here("integers of more than 53 bits")
      as.double(value)
    },
    "$f64" = readBin(raw_of_hex(value), "double", endian = "big"),
    "$bytes" = raw_of_base64(value),
    "$date" = as.Date(value),
    "$ts" = .from_ts(value, node$tz),
    "$dur" = as.difftime(value / c(s = 1, ms = 1e3, us = 1e6, ns = 1e9)[[node$unit]], units = "secs"),
    "$na" = switch(value, int = NA_integer_, real = NA_real_, char = NA_character_, NA),
    "$map" = {
      keys <- lapply(value, `[[`, 1L)
      if (!all(vapply(keys, is.character, TRUE))) na_here("maps with keys that are no text")
      structure(lapply(value, function(pair) from_tagged(pair[[2L]])), names = unlist(keys))
    },
    "$nest" = {
      made <- from_tagged(node$of)
      for (n in seq_len(value)) made <- list(made)
      made
    },
    "$factor" = factor(unlist(value$levels)[unlist(value$codes)], levels = unlist(value$levels),
        ordered = isTRUE(value$ordered)),
    na_here(switch(tag, "$f32" = "single precision", "$dec" = "decimals", "$text16" = "text with surrogates",
                   "$time" = "times of day", "$uuid" = "UUIDs", "$tuple" = "tuples", "$set" = "sets",
                   "$def" = , "$ref" = "shared values", paste("type for", tag))))
}

.from_ts <- function(text, tz) {
  if (is.null(tz)) na_here("times without a zone")
  if (grepl(":60", text, fixed = TRUE)) na_here("leap seconds")
  if (grepl("^[+-]", tz) && tz != "+00:00") na_here("times with an offset")
  zone <- if (tz == "+00:00") "UTC" else tz
  shape <- "[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?$" # with seconds before there were zones
  offset <- regmatches(text, regexpr(shape, text))
  plain <- sub(shape, "", text)
  seconds <- as.double(as.POSIXct(plain, tz = "UTC", format = "%Y-%m-%dT%H:%M:%OS"))
  if (length(offset)) {
    parts <- c(as.integer(strsplit(substring(offset, 2L), ":", fixed = TRUE)[[1L]]), 0L)
    away <- sum(parts[1:3] * c(3600L, 60L, 1L))
    seconds <- if (startsWith(offset, "-")) seconds + away else seconds - away
  }
  .POSIXct(seconds, tz = zone)
}

# --- writing --------------------------------------------------------------------------

# A value of R as the text of a tagged value: scalars plain, longer vectors as lists of them, columns of a table always.
to_tagged <- function(x) {
  if (is.null(x)) return("null")
  if (is.factor(x)) {
    return(sprintf("{\"$factor\":{\"codes\":%s,\"levels\":%s,\"ordered\":%s}}", json_write(I(as.integer(x))),
                   json_write(I(levels(x))), json_write(is.ordered(x))))
  }
  if (is.raw(x)) return(sprintf("{\"$bytes\":\"%s\"}", base64_of(x)))
  if (is.list(x)) {
    keys <- names(x)
    if (!length(x)) return(if (is.null(keys)) "[]" else "{}")
    one <- if (is.data.frame(x)) .tagged_column else to_tagged
    items <- vapply(seq_along(x), function(at) one(x[[at]]), "")
    if (is.null(keys)) return(paste0("[", paste(items, collapse = ","), "]"))
    return(.tagged_names(keys, items))
  }
  if (!is.atomic(x)) na_here(paste("tag for", class(x)[1L]))
  cells <- .tagged_cells(x)
  if (!is.null(names(x))) return(if (length(x)) .tagged_names(names(x), cells) else "{}")
  if (length(cells) == 1L) return(cells)
  paste0("[", paste(cells, collapse = ","), "]")
}

# An object; pairs, where a name would be read as a tag or stands twice.
.tagged_names <- function(keys, items) {
  keys <- json_text(keys)
  if (anyDuplicated(keys) || any(startsWith(keys, "\"$"))) {
    return(paste0("{\"$map\":[", paste0("[", keys, ",", items, "]", collapse = ","), "]}"))
  }
  paste0("{", paste(keys, items, sep = ":", collapse = ","), "}")
}

# A table of which each column that has no tag stands as the reason, {"$untold": text}: the others can be told.
tagged_parts <- function(x) {
  if (!is.data.frame(x) || !length(x) || is.null(names(x))) return(to_tagged(x))
  .tagged_names(names(x), vapply(seq_along(x), function(at) {
    tryCatch(.tagged_column(x[[at]]),
             not_here = function(e) sprintf("{\"$untold\":%s}", json_text(conditionMessage(e))))
  }, ""))
}

# A column as the list of its cells: of a table with one row it is no scalar, and what names its cells is no column.
.tagged_column <- function(x) {
  if (is.factor(x) || is.raw(x) || is.data.frame(x)) return(to_tagged(x))
  if (is.list(x)) return(to_tagged(unname(x)))
  if (!is.atomic(x)) na_here(paste("tag for", class(x)[1L]))
  paste0("[", paste(.tagged_cells(unname(x)), collapse = ","), "]")
}

# The whole number that the 8 bytes of a double are, the first the highest: bit64 keeps numbers so.
.int64_text <- function(bytes) {
  bytes <- as.integer(bytes)
  negative <- bytes[1L] >= 128L
  if (negative) {
    bytes <- 255L - bytes
    at <- 8L
    while (at > 0L && bytes[at] == 255L) { bytes[at] <- 0L; at <- at - 1L }
    if (at > 0L) bytes[at] <- bytes[at] + 1L
  }
  digits <- c(0, 0, 0) # seven decimal digits each, the lowest first
  for (byte in bytes) {
    carry <- byte
    for (k in 1:3) {
      now <- digits[k] * 256 + carry
      digits[k] <- now %% 1e7
      carry <- now %/% 1e7
    }
  }
  text <- sub("^0+(?=.)", "", sprintf("%.0f%07.0f%07.0f", digits[3L], digits[2L], digits[1L]), perl = TRUE)
  paste0(if (negative) "-", text)
}

# The text of a day or a moment, of which the year has four digits; R writes 987.
.four_digits <- function(text, missing, what) {
  short <- grep("^[0-9]{1,3}-", text)
  text[short] <- paste0(strrep("0", 5L - regexpr("-", text[short], fixed = TRUE)), text[short])
  if (!all(missing | grepl("^(?!0000)[0-9]{4}-", text, perl = TRUE))) {
    na_here(sprintf("tag for %s outside the years 1 to 9999", what))
  }
  text
}

# Seconds east of Greenwich of a zone that is an offset: +05:30, -0800, +09; NA of one with a name.
.fixed_offset <- function(zone) {
  if (!grepl("^[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?$", zone)) return(NA_real_)
  digits <- paste0(gsub("[^0-9]", "", zone), "00")
  away <- as.double(substr(digits, 1L, 2L)) * 3600 + as.double(substr(digits, 3L, 4L)) * 60
  if (startsWith(zone, "-")) -away else away
}

.offset_text <- function(away) {
  far <- abs(away)
  text <- sprintf("%s%02.0f:%02.0f", ifelse(away < 0, "-", "+"), far %/% 3600, far %/% 60 %% 60)
  odd <- which(far %% 60 != 0)
  text[odd] <- sprintf("%s:%02.0f", text[odd], far[odd] %% 60)
  text
}

.tagged_moments <- function(x, missing) {
  zone <- attr(x, "tzone")
  zone <- if (is.null(zone) || !nzchar(zone[1L]) || zone[1L] == "UTC") "+00:00" else zone[1L]
  seconds <- as.double(x)
  micro <- round((seconds - floor(seconds)) * 1e6)
  seconds <- floor(seconds) + micro %/% 1e6
  shift <- .fixed_offset(zone)
  zone <- if (is.na(shift)) zone else .offset_text(shift)
  # R knows no zone "+05:30" and shows UTC for it: the clock there is told of the moment and the offset.
  shown <- if (is.na(shift)) .POSIXct(seconds, tz = zone) else .POSIXct(seconds + shift, tz = "UTC")
  text <- format(shown, "%Y-%m-%dT%H:%M:%S")
  text <- .four_digits(text, missing, "moments")
  # By what the clock there says: %z leaves out the seconds, which places had before there were zones.
  away <- as.double(as.POSIXct(text, tz = "UTC", format = "%Y-%m-%dT%H:%M:%S")) - seconds
  offset <- .offset_text(away)
  sprintf("{\"$ts\":\"%s.%06.0f%s\",\"unit\":\"us\",\"tz\":\"%s\"}", text, micro %% 1e6, offset, zone)
}

.tagged_cells <- function(x) {
  if (!length(x)) return(character(0)) # quotes around no text would be one that is empty
  missing <- is.na(x)
  if (inherits(x, "Date")) {
    cells <- sprintf("{\"$date\":\"%s\"}", .four_digits(format(x, "%Y-%m-%d"), missing, "days"))
  } else if (inherits(x, "POSIXct")) {
    cells <- .tagged_moments(x, missing)
  } else if (inherits(x, "difftime")) {
    if (any(is.infinite(x))) na_here("tag for infinite durations")
    cells <- sprintf("{\"$dur\":%.0f,\"unit\":\"us\"}", round(as.double(x, units = "secs") * 1e6))
  } else if (inherits(x, "integer64")) {
    bits <- matrix(writeBin(as.double(unclass(x)), raw(), endian = "big"), nrow = 8L)
    cells <- apply(bits, 2L, .int64_text)
    large <- abs(as.double(cells)) >= 2^53
    cells[large] <- sprintf("{\"$int\":\"%s\"}", cells[large])
    missing <- apply(bits, 2L, function(bytes) identical(as.integer(bytes), c(128L, integer(7L))))
    cells[missing] <- "{\"$na\":\"int\"}"
    missing <- FALSE
  } else if (is.double(x)) {
    bits <- writeBin(as.double(x), raw(), endian = "big")
    cells <- apply(matrix(sprintf("%02x", as.integer(bits)), nrow = 8L), 2L, paste, collapse = "")
    cells <- sprintf("{\"$f64\":\"%s\"}", cells)
    missing <- missing & !is.nan(x) & FALSE # NaN and NA keep their bits
  } else if (is.character(x)) {
    cells <- json_text(x)
  } else if (is.logical(x)) {
    cells <- ifelse(missing, "", ifelse(x, "true", "false"))
  } else {
    cells <- sprintf("%d", x)
  }
  kind <- switch(typeof(x), integer = "int", double = "real", character = "char", "lgl")
  cells[missing] <- sprintf("{\"$na\":\"%s\"}", kind)
  cells
}
