# A change as two texts: what was given and what came back, so that they show what differs.

SHOWN <- 120L # characters

.cut <- function(text) substr(iconv(text, "UTF-8", "UTF-8", sub = "?"), 1L, SHOWN)

.shown <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.atomic(x) && length(x) == 1L) return(.cut(paste0(.number_shown(x), " (", class(x)[1L], ")")))
  .cut(sprintf("%s%s of %d", if (is.list(x) && !length(x) && !is.null(names(x))) "named " else "", class(x)[1L],
      length(x)))
}

# A negative zero has its sign, and a text that reads as a missing one its quotes.
.number_shown <- function(x) {
  if (is.character(x) && x %in% "NA") return("\"NA\"")
  if (.is64(x)) return(paste(.texts(x)))
  if (inherits(x, "POSIXct") && is.finite(x)) return(.moment_shown(x))
  if (is.double(x) && !is.object(x) && x %in% 0 && 1 / x < 0) return("-0")
  format(x, digits = 17L)
}

# To the microsecond nearest, with the zone: format() cuts, so that .123 is .122.
.moment_shown <- function(x) {
  seconds <- as.double(x)
  micro <- round((seconds - floor(seconds)) * 1e6)
  whole <- .POSIXct(floor(seconds) + micro %/% 1e6, tz = attr(x, "tzone"))
  rest <- sub("0+$", "", sprintf(".%06.0f", micro %% 1e6))
  paste0(format(whole, "%Y-%m-%d %H:%M:%S"), if (rest != ".") rest, format(whole, " %Z"))
}

# Both; where they would read alike, with what they differ by.
.shown_pair <- function(a, b) {
  pair <- c(.shown(a), .shown(b))
  if (pair[1L] != pair[2L] || is.null(a)) return(pair)
  if (length(a) == 1L && is.atomic(a)) .cut(.shown_finer(a, b, pair)) else .cut(.shown_inside(a, b, pair))
}

# Values of one class and length: the first place where they differ.
.shown_inside <- function(a, b, pair) {
  if (is.list(a) && !identical(names(a), names(b)) && length(names(a)) == length(names(b))) {
    return(paste("names", .shown_inside(names(a), names(b), pair)))
  }
  differ <- if (is.list(a)) vapply(seq_along(a), function(at) !.same(a[[at]], b[[at]]), NA)
            else if (is.atomic(a) && is.atomic(b)) .differ(.bare(a), .bare(b)) else FALSE
  at <- which(differ)[1L]
  if (is.na(at)) return(.shown_marks(a, b, pair))
  paste(sprintf("[%d]", at), .shown_pair(.cell(a, at), .cell(b, at)))
}

# Single values: texts from where they differ, others also as the number that they are.
.shown_finer <- function(a, b, pair) {
  if (is.character(a) && is.character(b) && !is.na(a) && !is.na(b) && a != b) {
    # Bytes that are no UTF-8 as <e9>: of a text with such bytes nothing can be cut.
    kind <- class(a)[1L]
    a <- iconv(enc2utf8(paste(a)), "UTF-8", "UTF-8", sub = "byte")
    b <- iconv(enc2utf8(paste(b)), "UTF-8", "UTF-8", sub = "byte")
    one <- utf8ToInt(a)
    other <- utf8ToInt(b)
    most <- max(length(one), length(other))
    from <- max(1L, which(!mapply(identical, one[seq_len(most)], other[seq_len(most)]))[1L] - 20L)
    return(sprintf("...%s (%s)", substr(c(a, b), from, from + 80L), kind))
  }
  if (is.numeric(unclass(a)) && is.numeric(unclass(b)) && !.is64(a)) {
    finer <- vapply(list(a, b), function(x) format(as.double(x), digits = 17L), "")
    if (finer[1L] != finer[2L]) return(sprintf("%s, %s (%s)", .number_shown(a), finer, class(a)[1L]))
  }
  .shown_marks(a, b, pair)
}

# The first attribute that differs, or the type within.
.shown_marks <- function(a, b, pair) {
  names_ <- union(names(attributes(a)), names(attributes(b)))
  for (name in names_) {
    one <- attr(a, name, exact = TRUE)
    other <- attr(b, name, exact = TRUE)
    if (!.same(one, other)) {
      told <- vapply(list(one, other), function(x) substr(paste(deparse(x), collapse = ""), 1L, 80L), "")
      return(sprintf("%s (%s: %s)", pair, name, told))
    }
  }
  if (typeof(a) != typeof(b)) sprintf("%s, %s", pair, c(typeof(a), typeof(b))) else pair
}
