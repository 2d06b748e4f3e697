# Whether what came back is what was loaded: everything counts, attributes and their order too.
#
# Verdicts: same; type, when the value can be rebuilt knowing only its type; lossy.

# Bit by bit, but that a NaN is one whatever its other bits: not those of whole numbers of 64 bits, which R keeps in
# doubles. Of these, all negative ones above -2^52 are NaN.
.same <- function(a, b) {
  identical(a, b, num.eq = FALSE, single.NA = FALSE) ||
    (identical(a, b, num.eq = FALSE, single.NA = TRUE) && .same64(a, b))
}

# Whether whole numbers of 64 bits are the same in two values that are identical but for NaN.
.same64 <- function(a, b) {
  if (.is64(a)) return(identical(as.double(unclass(a)), as.double(unclass(b)), num.eq = FALSE, single.NA = FALSE))
  inside <- if (is.list(a)) unclass(a)
  other <- if (is.list(a)) unclass(b)
  marks <- setdiff(names(attributes(a)), c("names", "class", "row.names"))
  all(vapply(seq_along(inside), function(at) .same64(inside[[at]], other[[at]]), NA)) &&
    all(vapply(marks, function(name) .same64(attr(a, name, exact = TRUE), attr(b, name, exact = TRUE)), NA))
}

compare <- function(a, b, limit) {
  found <- new.env()
  found$changes <- list()
  # By verdict too: what changed its type first may be lost later, at another place of the same path.
  add <- function(path, verdict, count, one, other) {
    key <- paste(verdict, path)
    known <- found$changes[[key]]
    if (!is.null(known)) {
      found$changes[[key]]$count <- known$count + count
      return(invisible())
    }
    shown <- .shown_pair(one, other)
    found$changes[[key]] <- list(path = path, verdict = verdict, count = count, `in` = shown[1L], out = shown[2L])
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
  if (.is64(x)) x <- .halves(x)
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
  if (!length(a) && !length(b) && !is.factor(a)) return(add(path, "type", 1, a, b))
  if (is.data.frame(a) && is.list(b)) return(.compare_frame(a, b, paste0(path, "$"), add))
  if (is.list(a) && is.list(b) && length(unclass(a)) == length(unclass(b)) &&
      identical(names(unclass(a)), names(unclass(b)))) {
    return(.compare_cells(a, b, path, add))
  }
  again <- tryCatch(suppressWarnings(.rebuild(a, b)), error = function(e) NULL)
  # Cells that are lists or bytes cannot be held against values one by one.
  if (is.list(a) || !typeof(a) %in% c("integer", "double", "logical", "character") || is.null(again) ||
      !is.atomic(again$cells) || length(again$cells) != length(a)) {
    kept <- !is.null(again) && .same(.bare(a), .bare(again$cells))
    return(add(path, if (kept) "type" else "lossy", if (kept) 1 else length(a), a, b))
  }
  differ <- which(.differ(.bare(a), .bare(again$cells)) | again$lost)
  if (length(differ)) return(add(path, "lossy", length(differ), .cell(a, differ[1L]), .cell(b, differ[1L])))
  if (is.factor(a) && .compare_levels(a, b, again$cells, path, add)) return(invisible())
  add(path, "type", 1, a, b)
}

# Whether levels were lost: those that no cell has where only cells came back, and the order of an ordered factor. That
# of others is in their type.
.compare_levels <- function(a, b, cells, path, add) {
  own <- levels(a)
  back <- if (is.factor(b)) levels(b) else unique(cells[!is.na(cells)])
  gone <- sum(!own %in% back)
  lost <- gone > 0L || (is.ordered(a) && !(is.ordered(b) && identical(own, back)))
  said <- function(levels, ordered) paste(levels, collapse = if (ordered) " < " else ", ")
  if (lost) add(paste(path, "(levels)"), "lossy", max(1L, gone), said(own, is.ordered(a)), said(back, is.ordered(b)))
  lost
}

# Cells that are vectors, lists or tables: each as the column that it would be; shown is the first loss in them.
.compare_cells <- function(a, b, path, add) {
  one <- unclass(a)
  other <- unclass(b)
  lost <- .lost_cells(one, other)
  if (!lost$count) return(add(path, "type", 1, a, b))
  add(path, "lossy", lost$count, lost$first[[1L]], lost$first[[2L]])
}

# How many cells lost something, and the first loss of the first of them, as a pair. No cell that has others in it is
# looked at twice: in lists of lists each depth would double the time.
#
# Plain vectors of one type all at once: each on its own took most of a tenth of a millisecond.
.lost_cells <- function(one, other) {
  kinds <- paste(.plain_kinds(one), .plain_kinds(other))
  long <- lengths(one)
  kinds[long != lengths(other) | long == 0L | !kinds %in% .plain_pairs] <- ""
  lost <- logical(length(one))
  for (kind in setdiff(unique(kinds), "")) {
    at <- which(kinds == kind)
    cells <- unlist(one[at], use.names = FALSE)
    again <- .rebuild(cells, unlist(other[at], use.names = FALSE))
    lost[rep(at, long[at])[which(.differ(cells, again$cells) | again$lost)]] <- TRUE
  }
  first <- NULL
  for (at in which(kinds == "")) {
    pair <- .lost_of_cell(one[[at]], other[[at]])
    lost[at] <- !is.null(pair)
    if (is.null(first)) first <- pair
  }
  at <- which(lost)
  if (length(at) && kinds[at[1L]] != "") first <- .lost_of_cell(one[[at[1L]]], other[[at[1L]]])
  list(count = length(at), first = first)
}

.plain_pairs <- local({
  numbers <- c("logical", "integer", "double")
  c("character character", outer(numbers, numbers, paste))
})

# Of each cell; "" where attributes say more.
.plain_kinds <- function(cells) {
  kinds <- vapply(cells, typeof, "")
  kinds[!vapply(cells, function(cell) is.null(attributes(cell)), NA)] <- ""
  kinds
}

# The first loss in two cells, as a pair; NULL if there is none. A missing list is no empty one, and an object no
# array; but of which type an empty list would be need not be known.
.lost_of_cell <- function(a, b) {
  if (.same(a, b) || (.no_items(a) && .no_items(b))) return(NULL)
  if (is.null(a) || is.null(b) || !(is.atomic(a) || is.list(a)) || !identical(names(a), names(b))) return(list(a, b))
  lost <- NULL
  .compare_column(a, b, "", function(path, verdict, count, one, other) {
    if (verdict == "lossy" && is.null(lost)) lost <<- list(one, other)
  })
  lost
}

.no_items <- function(x) NROW(x) == 0L && !is.null(x) && (is.data.frame(x) || is.null(names(x)))

# Numbers of a document that are of another type only.
.alike <- function(a, b) {
  if (!is.numeric(a) || !is.numeric(b) || length(a) != length(b)) return(FALSE)
  if (!.is64(a) && !.is64(b)) return(.same(as.double(a), as.double(b)))
  again <- .rebuild(a, b)
  !any(.differ(.bare(a), again$cells) | again$lost)
}

.compare_value <- function(a, b, path, note) {
  if (.same(a, b)) return(invisible())
  where <- if (nzchar(path)) path else "(whole)"
  if (is.list(a) && is.atomic(b) && !is.null(b) && length(a) == length(b) && length(a)) {
    # A vector of several came of a list; one value might as well have been no list.
    note(where, if (length(a) == 1L) "lossy" else "type", a, b)
    keys <- names(b)
    b <- if (.is64(b)) lapply(seq_along(b), function(at) .cell(b, at)) else as.list(b)
    names(b) <- keys
  }
  if (!is.list(a) || !is.list(b)) {
    return(note(where, if (.alike(a, b)) "type" else "lossy", a, b))
  }
  keys <- names(a)
  if (is.null(keys) != is.null(names(b))) return(note(where, "lossy", a, b))
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
