# Whether what came back is what was loaded: everything counts, attributes and their order too.
#
# Verdicts: same; type, when the value can be rebuilt knowing only its type; lossy.

.same <- function(a, b) identical(a, b, num.eq = FALSE, single.NA = TRUE)

.shown <- function(x) {
  text <- if (is.null(x)) "NULL" else if (is.atomic(x) && length(x) == 1L) paste0(.number_shown(x), " (",
      class(x)[1L], ")")
          else sprintf("%s of %d", class(x)[1L], length(x))
  substr(iconv(text, "UTF-8", "UTF-8", sub = "?"), 1L, 120L)
}

# A negative zero has its sign, and a text that reads as a missing one its quotes.
.number_shown <- function(x) {
  if (is.character(x) && x %in% "NA") return("\"NA\"")
  if (inherits(x, "integer64") && requireNamespace("bit64", quietly = TRUE)) return(bit64::as.character.integer64(x))
  if (is.double(x) && !is.object(x) && x %in% 0 && 1 / x < 0) return("-0")
  format(x, digits = 17L)
}

compare <- function(a, b, limit) {
  found <- new.env()
  found$changes <- list()
  # By verdict too: what changed its type first may be lost later, at another place of the same path.
  add <- function(path, verdict, count, one, other) {
    key <- paste(verdict, path)
    known <- found$changes[[key]]
    if (is.null(known)) found$changes[[key]] <- list(path = path, verdict = verdict, count = count,
        `in` = .shown(one), out = .shown(other))
    else found$changes[[key]]$count <- known$count + count
  }
  note <- function(path, verdict, one, other) add(path, verdict, 1, one, other)
  if (!.same(a, b)) {
    if (is.data.frame(a)) .compare_frame(a, b, "", add)
    else if (is_frames(a)) .compare_frames(a, b, add)
    else .compare_value(a, b, "", note)
    if (!length(found$changes)) {
      plain <- .same(.plain(a), .plain(b))
      add(if (plain) "(attributes)" else "(whole)", if (plain) "type" else "lossy", 1, a, b)
    }
  }
  changes <- unname(found$changes)
  verdicts <- vapply(changes, `[[`, "", "verdict")
  list(verdict = if ("lossy" %in% verdicts) "lossy" else if ("type" %in% verdicts) "type" else "same",
       changes = utils::head(changes[order(match(verdicts, c("lossy", "type")))], limit))
}

# Values and names alone, at every depth.
.plain <- function(x) {
  if (!is.atomic(x) && !is.list(x)) return(x)
  keys <- names(x)
  if (is.list(x)) x <- lapply(unclass(x), .plain)
  attributes(x) <- NULL
  names(x) <- keys
  x
}

# Where each name is among the others, NA if nowhere: by place if they are the same, the second of a name is the second.
.places <- function(keys, others) {
  if (identical(keys, others)) return(seq_along(keys))
  if (!anyDuplicated(keys) && !anyDuplicated(others)) return(match(keys, others))
  match(paste(.turns(keys), keys), paste(.turns(others), others))
}

# For each name, which of its kind it is: 1 for the first.
.turns <- function(keys) {
  kinds <- match(keys, keys)
  turns <- integer(length(keys))
  turns[order(kinds)] <- sequence(tabulate(kinds)[unique(sort(kinds))])
  turns
}

# Names that only stand in another order.
.moved <- function(places, others) length(places) == length(others) && !anyNA(places)

# A path for each column, those of equal names and of none told apart.
.paths <- function(keys) {
  turns <- .turns(keys)
  path <- ifelse(nzchar(keys), keys, sprintf("(column %d)", seq_along(keys)))
  ifelse(turns > 1L, sprintf("%s #%d", path, turns), path)
}

.compare_frames <- function(a, b, add) {
  if (!is.list(b)) return(add("(whole)", "lossy", 1, a, b))
  places <- .places(names(a), names(b))
  paths <- .paths(names(a))
  for (n in seq_along(a)) {
    if (is.na(places[n])) add(paths[n], "lossy", nrow(a[[n]]), a[[n]], NULL)
    else .compare_frame(a[[n]], b[[places[n]]], paste0(paths[n], "$"), add)
  }
  if (!identical(names(a), names(b))) add("(names)", if (.moved(places, names(b))) "type" else "lossy", 1, names(a),
      names(b))
}

.compare_frame <- function(a, b, at, add) {
  if (!is.list(b) || is.null(names(b))) return(add(paste0(at, "(whole)"), "lossy", nrow(a), a, b))
  if (!is.data.frame(b)) {
    add(paste0(at, "(class)"), "type", 1, a, b)
  } else if (!identical(class(a), class(b))) {
    add(paste0(at, "(class)"), "type", 1, class(a), class(b))
  }
  places <- .places(names(a), names(b))
  if (!identical(names(a), names(b))) add(paste0(at, "(names)"), if (.moved(places,
      names(b))) "type" else "lossy", 1, names(a), names(b))
  if (is.data.frame(b) && !.same(attr(a, "row.names"), attr(b, "row.names"))) {
    automatic <- .row_names_info(a) < 0L
    add(paste0(at, "(row names)"), if (automatic) "type" else "lossy", 1, attr(a, "row.names"), attr(b, "row.names"))
  }
  paths <- paste0(rep(at, length(a)), .paths(names(a)))
  for (n in which(!is.na(places))) .compare_column(a[[n]], b[[places[n]]], paths[n], add)
}

.compare_column <- function(a, b, path, add) {
  if (.same(a, b)) return(invisible())
  again <- tryCatch(suppressWarnings(.rebuild(a, b)), error = function(e) NULL)
  if (!is.null(again) && .same(.bare(a), .bare(again))) return(add(path, "type", 1, a, b))
  if (!length(a) && !length(b)) return(add(path, "type", 1, a, b))
  # Cells that are lists or bytes cannot be held against values one by one.
  if (is.null(again) || length(again) != length(a) || is.list(a) || !is.atomic(again)) return(add(path, "lossy", length(a), a, b))
  one <- .bare(a)
  other <- .bare(again)
  differ <- which(is.na(one) != is.na(other) | (!is.na(one) & !is.na(other) & one != other))
  if (!length(differ) && is.double(one) && is.double(other)) {
    differ <- which(is.nan(one) != is.nan(other) | (one == 0 & other == 0 & 1 / one != 1 / other))
  }
  if (!length(differ)) differ <- 1L # what only the whole shows
  add(path, "lossy", length(differ), a[differ[1L]], b[[differ[1L]]])
}

.bare <- function(x) {
  if (is.factor(x)) x <- as.character(x)
  keys <- if (is.list(x)) names(x) # columns of a table within the column
  attributes(x) <- NULL
  names(x) <- keys
  x
}

# Whole numbers of 64 bits of plain ones, or of texts; not of the doubles that have their bits, which is how they are kept.
.rebuilt64 <- function(b) {
  if (is.list(b) || !requireNamespace("bit64", quietly = TRUE)) return(NULL)
  if (is.double(b) && any(b != trunc(b) | abs(b) > 2^53, na.rm = TRUE)) return(NULL)
  unclass(bit64::as.integer64(b))
}

# What came back as the type that was sent.
.rebuild <- function(a, b) {
  if (is.list(b) && !is.list(a)) {
    b[lengths(b) == 0L] <- NA
    if (any(lengths(b) != 1L)) return(NULL)
    b <- unlist(b, use.names = FALSE)
  }
  if (is.factor(a)) return(factor(as.character(b), levels = levels(a)))
  if (is.factor(b)) b <- as.character(b)
  if (inherits(a, "integer64") && !inherits(b, "integer64")) return(.rebuilt64(b))
  if (inherits(a, c("POSIXct", "Date")) && is.character(b)) {
    numbers <- as.double(b)
    if (all(is.na(numbers) == (is.na(b) | b == "NA"))) b <- numbers
  }
  if (inherits(a, "POSIXct")) {
    if (!is.character(b)) return(as.double(b))
    zone <- attr(a, "tzone")
    universal <- grepl("Z$", b[!is.na(b)][1L])
    form <- if (grepl("T", b[!is.na(b)][1L], fixed = TRUE)) "%Y-%m-%dT%H:%M:%OS" else "%Y-%m-%d %H:%M:%OS"
    return(as.double(as.POSIXct(b, tz = if (universal || is.null(zone)) "UTC" else zone[1L], format = form)))
  }
  if (inherits(a, "Date") && is.character(b)) return(as.double(as.Date(b)))
  switch(typeof(a),
    integer = { made <- as.integer(b); if (is.character(b) || all(is.na(b) | made == b)) made else as.double(b) },
    double = as.double(b), logical = as.logical(b), character = as.character(b), b)
}

.compare_value <- function(a, b, path, note) {
  if (.same(a, b)) return(invisible())
  where <- if (nzchar(path)) path else "(whole)"
  if (is.list(a) && is.atomic(b) && !is.null(b) && length(a) == length(b) && length(a)) {
    # A vector of several came of a list; one value might as well have been no list.
    note(where, if (length(a) == 1L) "lossy" else "type", a, b)
    b <- as.list(b)
  }
  if (!is.list(a) || !is.list(b)) {
    alike <- is.numeric(a) && is.numeric(b) && length(a) == length(b) && .same(as.double(a), as.double(b))
    return(note(where, if (alike) "type" else "lossy", a, b))
  }
  keys <- names(a)
  if (is.null(keys) != is.null(names(b)) && length(a)) return(note(where, "lossy", a, b))
  if (is.null(keys)) {
    if (length(a) != length(b)) note(where, "lossy", a, b)
    for (at in seq_len(min(length(a), length(b)))) .compare_value(a[[at]], b[[at]], paste0(path, "[*]"), note)
    return(invisible())
  }
  # By place: a look-up by name for each of many names would walk all of them each time.
  theirs <- .places(keys, names(b))
  if (!identical(keys, names(b))) {
    moved <- length(keys) > 0L && .moved(theirs, names(b))
    note(if (moved) paste(where, "(key order)") else where, "lossy", if (moved) keys else a, if (moved) names(b) else b)
  }
  for (n in which(!is.na(theirs))) .compare_value(a[[n]], b[[theirs[n]]], paste0(path, if (nzchar(path)) ".", keys[n]), note)
  invisible()
}
