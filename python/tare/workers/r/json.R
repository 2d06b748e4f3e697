# JSON as RFC 8259 has it, for lines of the protocol and for documents; jsonlite may be absent.
#
# Arrays become lists without names, objects lists with them, null NULL. Whole numbers of 32 bits
# become integers, other numbers doubles.

.json_token <- paste0(
  "\"[^\"\\\\\\x00-\\x1f]*+(?:\\\\(?:[\"\\\\/bfnrt]|u[0-9A-Fa-f]{4})[^\"\\\\\\x00-\\x1f]*+)*+\"",
  "|-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.eE+-])",
  "|true|false|null|[\\[\\]{}:,]")
.json_spaced <- paste0("[ \t\r\n]*+(", .json_token, ")[ \t\r\n]*+")
.json_kinds <- c("[" = 1L, "]" = 2L, "{" = 3L, "}" = 4L, ":" = 5L, "," = 6L)

# With tagged, doubles that are given by their bits ({"$f64":"..."}) are doubles already.
json_read <- function(bytes, tagged = FALSE) {
  if (any(bytes == as.raw(0L))) stop("a byte 0")
  text <- rawToChar(bytes)
  if (!validUTF8(text)) stop("not UTF-8")
  left <- gsub(.json_spaced, "", text, perl = TRUE, useBytes = TRUE)
  if (nzchar(left)) stop(sprintf("at '%s'", substr(iconv(left, "UTF-8", "UTF-8", sub = "?"), 1L, 30L)))
  apart <- gsub(.json_spaced, "\\1\001", text, perl = TRUE, useBytes = TRUE)
  tokens <- strsplit(apart, "\001", fixed = TRUE, useBytes = TRUE)[[1L]]
  if (!length(tokens)) stop("nothing")
  Encoding(tokens) <- "UTF-8"
  bits <- if (tagged) .bits_of(tokens)
  if (length(bits$at)) tokens <- tokens[-bits$behind]
  first <- substr(tokens, 1L, 1L)
  kind <- .json_kinds[first]
  kind[is.na(kind)] <- 8L
  kind <- unname(kind)
  values <- vector("list", length(tokens))
  texts <- first == "\""
  kind[texts] <- 7L
  if (any(texts)) values[texts] <- as.list(json_unescape(substr(tokens[texts], 2L, nchar(tokens[texts]) - 1L)))
  values[first == "t"] <- list(TRUE)
  values[first == "f"] <- list(FALSE)
  numbers <- which(kind == 8L & !first %in% c("t", "f", "n"))
  if (length(numbers)) {
    doubles <- as.double(tokens[numbers])
    # Beyond 1.797e308 there is no double: what is written is not what would be read.
    if (any(is.infinite(doubles))) stop("a number that no double holds")
    whole <- !grepl("[.eE]", tokens[numbers]) & abs(doubles) <= .Machine$integer.max & tokens[numbers] != "-0"
    values[numbers] <- as.list(doubles)
    values[numbers[whole]] <- as.list(as.integer(doubles[whole]))
  }
  if (length(bits$at)) {
    at <- bits$at - 4L * (seq_along(bits$at) - 1L)
    kind[at] <- 8L
    values[at] <- as.list(bits$doubles)
  }
  .json_build(kind, values)
}

# Where doubles stand by their bits, five tokens each, all at once: one by one took a tenth of a millisecond.
.bits_of <- function(tokens) {
  at <- which(tokens == "\"$f64\"") - 1L
  at <- at[at > 0L & at + 4L <= length(tokens)]
  at <- at[tokens[at] == "{" & tokens[at + 2L] == ":" & tokens[at + 4L] == "}" &
      grepl("^\"[0-9a-f]{16}\"$", tokens[at + 3L])]
  if (!length(at)) return(list(at = at))
  bytes <- raw_of_hex(paste(substr(tokens[at + 3L], 2L, 17L), collapse = ""))
  list(at = at, behind = rep(at, each = 4L) + 1:4, doubles = readBin(bytes, "double", length(at), endian = "big"))
}

# What may come next: 1 a value, 2 a value or the end of an array, 3 a key or the end of an object,
# 4 a key, 5 a colon, 6 a comma or an end, 7 nothing.
.json_build <- function(kind, values) {
  n <- length(kind)
  stack <- vector("list", n)
  marks <- integer(64L)
  object <- logical(64L)
  top <- 0L
  depth <- 0L
  want <- 1L
  for (at in seq_len(n)) {
    what <- kind[at]
    if (what >= 7L) {
      if (what == 7L && (want == 3L || want == 4L)) {
        want <- 5L
      } else if (want <= 2L) {
        want <- if (depth) 6L else 7L
      } else stop("a value where none may be")
      top <- top + 1L
      stack[top] <- values[at]
    } else if (what == 6L) {
      if (want != 6L) stop("a comma where none may be")
      want <- if (object[depth]) 4L else 1L
    } else if (what == 5L) {
      if (want != 5L) stop("a colon where none may be")
      want <- 1L
    } else if (what == 1L || what == 3L) {
      if (want > 2L) stop("a value where none may be")
      depth <- depth + 1L
      if (depth > 5000L) stop("nested deeper than 5000")
      marks[depth] <- top
      object[depth] <- what == 3L
      want <- if (what == 3L) 3L else 2L
    } else {
      if (!depth || object[depth] != (what == 4L) || !(want == 6L || want == (if (what == 4L) 3L else 2L)))
        stop("an end where none may be")
      from <- marks[depth]
      made <- if (top > from) stack[(from + 1L):top] else list()
      if (what == 4L) {
        odd <- seq.int(1L, by = 2L, length.out = length(made) / 2L)
        keys <- as.character(unlist(made[odd], use.names = FALSE))
        made <- made[odd + 1L]
        names(made) <- keys
      }
      top <- from + 1L
      stack[[top]] <- made
      depth <- depth - 1L
      want <- if (depth) 6L else 7L
    }
  }
  if (depth || want != 7L) stop("it ends in the middle")
  stack[[1L]]
}

.json_short <- c("\"" = "\"", "\\" = "\\", "/" = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t")

# Short escapes of all texts at once: one text after the other took a third of a millisecond each.
json_unescape <- function(texts) {
  escaped <- grep("\\", texts, fixed = TRUE)
  coded <- grepl("\\u", texts[escaped], fixed = TRUE)
  for (at in escaped[coded]) texts[at] <- .json_unescape_one(texts[at])
  short <- gsub("\\\\", "\001", texts[escaped[!coded]], fixed = TRUE) # JSON holds no bare \001
  for (letter in setdiff(names(.json_short), "\\")) {
    short <- gsub(paste0("\\", letter), .json_short[[letter]], short, fixed = TRUE)
  }
  texts[escaped[!coded]] <- gsub("\001", "\\", short, fixed = TRUE)
  texts
}

.json_unescape_one <- function(text) {
  found <- gregexpr("\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\u[0-9a-fA-F]{4}|\\\\.",
      text, perl = TRUE)
  regmatches(text, found)[[1L]] <- vapply(regmatches(text, found)[[1L]], function(one) {
    letter <- substr(one, 2L, 2L)
    if (letter != "u") return(unname(.json_short[letter]))
    code <- strtoi(substr(one, 3L, 6L), 16L)
    if (nchar(one) == 12L) code <- 0x10000L + (code - 0xD800L) * 1024L + strtoi(substr(one, 9L, 12L), 16L) - 0xDC00L
    else if (code >= 0xD800L && code <= 0xDFFFL) stop("half a surrogate pair, which R cannot hold")
    else if (code == 0L) stop("a text with NUL inside, which R cannot hold")
    intToUtf8(code)
  }, "")
  text
}

# --- writing ------------------------------------------------------------------------

json_text <- function(x) {
  x <- enc2utf8(x)
  x <- gsub("\\", "\\\\", x, fixed = TRUE)
  x <- gsub("\"", "\\\"", x, fixed = TRUE)
  if (any(grepl("[\001-\037]", x))) {
    for (code in 1:31) x <- gsub(intToUtf8(code), sprintf("\\u%04x", code), x, fixed = TRUE)
  }
  paste0("\"", x, "\"")
}

json_number <- function(x) {
  out <- ifelse(x == round(x) & abs(x) < 1e15, sprintf("%.0f", x), sprintf("%.17g", x))
  out[!is.finite(x)] <- "null"
  out
}

# A list with names is an object, one without an array; I(vector) an array, a vector of one its value.
# Text of class json_ready is JSON already.
json_write <- function(x) {
  if (is.null(x)) return("null")
  if (inherits(x, "json_ready")) return(unclass(x))
  if (is.list(x)) {
    if (!length(x)) return(if (is.null(names(x))) "[]" else "{}")
    items <- vapply(x, json_write, "")
    if (is.null(names(x))) return(paste0("[", paste(items, collapse = ","), "]"))
    return(paste0("{", paste(json_text(names(x)), items, sep = ":", collapse = ","), "}"))
  }
  out <- if (is.character(x)) ifelse(is.na(x), "null", json_text(x))
         else if (is.logical(x)) ifelse(is.na(x), "null", ifelse(x, "true", "false"))
         else json_number(as.double(x))
  if (inherits(x, "AsIs") || length(out) != 1L) paste0("[", paste(out, collapse = ","), "]") else out
}
