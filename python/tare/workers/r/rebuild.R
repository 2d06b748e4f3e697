# What came back as the type that was sent: cell by cell, and which cells no such value comes of.
#
# `.rebuild` gives list(cells, lost): plain values to hold against `.bare` of what was sent, and where a value stands
# that is none of its type. NULL where nothing can be said cell by cell.

.is64 <- function(x) inherits(x, "integer64")

# Whole numbers of 64 bits as complex ones of their halves: as doubles, most negative ones are NaN. By their bits, not
# by bit64, which may be absent.
.halves <- function(x) {
  bytes <- writeBin(as.double(unclass(x)), raw(), endian = "little")
  words <- matrix(readBin(bytes, "integer", 4L * length(x), size = 2L, signed = FALSE, endian = "little"), nrow = 4L)
  made <- complex(real = words[3L, ] + 65536 * words[4L, ], imaginary = words[1L, ] + 65536 * words[2L, ])
  made[Re(made) == 2^31 & Im(made) == 0] <- NA
  made
}

# Those of doubles; beyond 2^53 a double stands for several whole numbers.
.halves_of <- function(numbers) {
  lost <- !is.na(numbers) & (numbers != trunc(numbers) | abs(numbers) > 2^53)
  numbers[lost] <- NA
  high <- numbers %/% 2^32
  list(cells = complex(real = ifelse(high < 0, high + 2^32, high), imaginary = numbers - high * 2^32), lost = lost)
}

# As doubles; those beyond 2^53 need not be the very number.
.doubles64 <- function(x) {
  halves <- .halves(x)
  high <- Re(halves)
  ifelse(high >= 2^31, high - 2^32, high) * 2^32 + Im(halves)
}

# Whether a text stands for no value where no text was sent.
.no_text <- function(text) is.na(text) | text %in% c("", "NA")

.bare <- function(x) {
  if (is.factor(x)) x <- as.character(x)
  if (.is64(x)) x <- .halves(x)
  keys <- if (is.list(x)) names(x) # columns of a table within the column
  attributes(x) <- NULL
  names(x) <- keys
  x
}

# Where cells are not the same: the sign of a zero counts, and NaN is not missing, where both are doubles.
.differ <- function(one, other) {
  unlike <- is.na(one) != is.na(other) | (!is.na(one) & !is.na(other) & one != other)
  if (!is.double(one) || !is.double(other)) return(unlike)
  unlike | is.nan(one) != is.nan(other) | (one %in% 0 & other %in% 0 & 1 / one != 1 / other)
}

.cell <- function(x, at) {
  if (is.list(x)) return(x[[at]])
  if (.is64(x)) structure(unclass(x)[[at]], class = "integer64") else x[at]
}

.rebuild <- function(a, b) {
  if (is.list(a)) return(list(cells = b, lost = FALSE))
  if (is.list(b)) return(.rebuild_cells(a, b))
  if (is.factor(b)) b <- as.character(b)
  if (is.factor(a)) return(.as_levels(levels(a), .texts(b)))
  if (.is64(a)) return(.as_halves(b))
  if (inherits(a, "Date")) return(.as_days(b))
  if (inherits(a, "POSIXct")) return(.as_moments(b, attr(a, "tzone")))
  if (inherits(a, "difftime") && inherits(b, "difftime")) {
    return(list(cells = as.double(b, units = attr(a, "units")), lost = FALSE))
  }
  switch(typeof(a),
    integer = , double = .numbers(b), logical = .as_logical(b), character = list(cells = .texts(b), lost = FALSE),
    list(cells = b, lost = FALSE))
}

# The attributes that say what a cell's number means; unlist drops them.
.meaning <- function(cell) {
  if (!inherits(cell, c("integer64", "Date", "POSIXct", "difftime"))) return(NULL)
  marks <- attributes(cell)
  marks[names(marks) %in% c("class", "units", "tzone")]
}

# What cells have in common that can be rebuilt at once: minutes and seconds cannot.
.kind <- function(cell) paste(c(class(cell)[1L], attr(cell, "units"), attr(cell, "tzone")), collapse = " ")

# A column that came back as a list. Cells of one type at once: together, a number beside a text would become a text,
# without the sign of its zero.
.rebuild_cells <- function(a, b) {
  b[lengths(b) == 0L] <- NA
  if (any(lengths(b) != 1L)) return(NULL)
  classed <- which(vapply(b, is.object, NA))
  flat <- unlist(b, use.names = FALSE)
  plain <- is.logical(flat) || (is.numeric(flat) && !is.character(a) && !is.factor(a))
  if (!length(classed) && plain && length(flat) == length(b)) return(.rebuild(a, flat))
  kinds <- vapply(b, typeof, "")
  kinds[classed] <- vapply(b[classed], .kind, "")
  cells <- NULL
  lost <- logical(length(b))
  for (kind in unique(kinds)) {
    at <- which(kinds == kind)
    flat <- if (kind == "factor") vapply(b[at], as.character, "") else unlist(b[at], use.names = FALSE)
    if (length(flat) != length(at)) return(NULL)
    attributes(flat) <- .meaning(b[[at[1L]]])
    part <- .rebuild(a, flat)
    if (is.null(part)) return(NULL)
    if (is.null(cells)) cells <- rep(part$cells[NA_integer_], length(b))
    cells[at] <- part$cells
    lost[at] <- part$lost
  }
  list(cells = cells, lost = lost)
}

.texts <- function(b) {
  if (!.is64(b)) return(as.character(b))
  if (requireNamespace("bit64", quietly = TRUE)) return(bit64::as.character.integer64(b))
  bits <- matrix(writeBin(as.double(unclass(b)), raw(), endian = "big"), nrow = 8L)
  text <- vapply(seq_len(ncol(bits)), function(at) .int64_text(bits[, at]), "")
  text[is.na(.halves(b))] <- NA
  text
}

.as_levels <- function(levels, text) {
  known <- text %in% levels
  lost <- !known & !.no_text(text)
  text[!known] <- NA
  list(cells = text, lost = lost)
}

# How a number is written in base ten, as Node's worker has it, and as R writes what is infinite; as.double takes
# spaces and other bases too.
DECIMAL <- "^(?:-?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?|-?Inf(?:inity)?|NaN)\\z"

.numbers <- function(b) {
  if (is.complex(b)) return(NULL)
  if (.is64(b)) {
    cells <- .doubles64(b)
    return(list(cells = cells, lost = !is.na(cells) & abs(cells) > 2^53))
  }
  if (!is.character(b)) return(list(cells = as.double(b), lost = FALSE))
  written <- grepl(DECIMAL, b, perl = TRUE)
  cells <- rep(NA_real_, length(b))
  cells[written] <- as.double(b[written])
  list(cells = cells, lost = !written & !.no_text(b))
}

.as_halves <- function(b) {
  if (.is64(b)) return(list(cells = .halves(b), lost = FALSE))
  numbers <- .numbers(b)
  if (is.null(numbers)) return(NULL)
  made <- .halves_of(numbers$cells)
  made$lost <- made$lost | numbers$lost
  # Digits are read as what they are: the doubles beside would be others.
  digits <- if (is.character(b)) grep("^-?[0-9]+([.]0*)?\\z", b, perl = TRUE)
  if (length(digits) && requireNamespace("bit64", quietly = TRUE)) {
    text <- sub("[.]0*$", "", b[digits], perl = TRUE)
    read <- bit64::as.integer64(text)
    made$cells[digits] <- .halves(read)
    # What is beyond the largest is read as the largest.
    largest <- "9223372036854775807"
    made$lost[digits] <- is.na(read) | (.texts(read) %in% largest & !endsWith(text, largest))
  }
  made
}

.as_logical <- function(b) {
  if (is.character(b)) {
    cells <- as.logical(b)
    return(list(cells = cells, lost = is.na(cells) & !.no_text(b)))
  }
  numbers <- .numbers(b)
  if (is.null(numbers)) return(NULL)
  list(cells = as.logical(numbers$cells), lost = numbers$lost | !(is.na(numbers$cells) | numbers$cells %in% 0:1))
}

# Days as texts, alone or with a midnight behind; strptime would pass over whatever else stands there.
.as_days <- function(b) {
  if (inherits(b, "POSIXct")) return(list(cells = as.double(b) / 86400, lost = FALSE))
  made <- .numbers(b)
  if (!is.character(b)) return(made)
  at <- grep("^[0-9]{1,4}([-/])[0-9]{2}\\1[0-9]{2}([T ]00:00(:00([.]0*)?)?)?(Z| UTC)?\\z", b, perl = TRUE)
  day <- as.Date(chartr("/", "-", sub("[T Z].*$", "", b[at], perl = TRUE)), format = "%Y-%m-%d")
  made$cells[at] <- as.double(day)
  made$lost[at] <- is.na(day)
  made
}

# A moment's text: day, time, seconds, their fraction, offset, UTC. A day has no offset.
MOMENT <- paste0("^([0-9]{1,4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(?:(:[0-9]{2})([.][0-9]*)?)?",
                 "(?: ?([+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])\\z)?)?(Z| UTC)?\\z")

# Moments as texts of their own zone or, with an offset or a sign of UTC, of that; a day alone is its midnight.
.as_moments <- function(b, zone) {
  if (inherits(b, "Date")) b <- format(b)
  made <- .numbers(b)
  if (!is.character(b)) return(made)
  at <- grep(MOMENT, b, perl = TRUE)
  part <- function(n, absent = "") {
    found <- sub(MOMENT, paste0("\\", n), b[at], perl = TRUE)
    ifelse(nzchar(found), found, absent)
  }
  text <- paste0(part(1L), " ", part(2L, "00:00"), part(3L, ":00"))
  offset <- part(5L)
  universal <- nzchar(offset) | nzchar(part(6L))
  seconds <- rep(NA_real_, length(at))
  for (these in list(which(universal), which(!universal))) {
    tz <- if (all(universal[these]) || is.null(zone)) "UTC" else zone[1L]
    seconds[these] <- as.double(as.POSIXct(text[these], tz = tz, format = "%Y-%m-%d %H:%M:%S"))
  }
  # The fraction last: what is subtracted from it takes its last digits along.
  made$cells[at] <- seconds - .offset(offset) + as.double(paste0("0", part(4L)))
  made$lost[at] <- is.na(seconds)
  made
}

# Seconds of an offset such as +01:00; none are 0.
.offset <- function(text) {
  text[!nzchar(text)] <- "+0000"
  minutes <- as.double(substr(text, 2L, 3L)) * 60 + as.double(substr(text, nchar(text) - 1L, nchar(text)))
  ifelse(startsWith(text, "-"), -60, 60) * minutes
}
