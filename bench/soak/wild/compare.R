# Compare what Tare wrote of files of R with what R reads of them: Rscript compare.R FOLDERS RESULTS
#
# FOLDERS is a file with a folder a line, each with source.rds or source.RData, and results beside it. RESULTS gets a
# line for each result: folder, name, SAME, DIFFERS or CANNOT, and why. The first data frame goes into dump.tsv.

arguments <- commandArgs(TRUE)
options(warn = -1)

opened <- function(path) {
  if (grepl("RData$", path)) {
    found <- new.env(hash = TRUE, parent = emptyenv())
    names <- load(path, envir = found)
    mget(names, envir = found)
  } else {
    readRDS(path)
  }
}

# Environments are the same if their contents are; each pair is looked at once.
same <- function(a, b, seen = new.env()) {
  if (identical(a, b, num.eq = FALSE, single.NA = FALSE, ignore.srcref = TRUE)) return(TRUE)
  if (typeof(a) != typeof(b)) return(FALSE)
  if (is.environment(a)) {
    key <- paste(format.default(a), format.default(b))
    if (exists(key, envir = seen, inherits = FALSE)) return(TRUE)
    assign(key, TRUE, envir = seen)
    names <- ls(a, all.names = TRUE, sorted = TRUE)
    if (!identical(names, ls(b, all.names = TRUE, sorted = TRUE))) return(FALSE)
    if (!same(parent.env(a), parent.env(b), seen)) return(FALSE)
    for (name in names) {
      x <- tryCatch(list(get(name, envir = a, inherits = FALSE)), error = function(e) NULL)
      y <- tryCatch(list(get(name, envir = b, inherits = FALSE)), error = function(e) NULL)
      if (is.null(x) || is.null(y)) next
      if (!same(x[[1L]], y[[1L]], seen)) return(FALSE)
    }
    return(same(attributes(a), attributes(b), seen))
  }
  if (typeof(a) == "closure") {
    return(same(as.list(formals(a)), as.list(formals(b)), seen) && same(body(a), body(b), seen) &&
      same(environment(a), environment(b), seen) &&
      same(bare(attributes(a)), bare(attributes(b)), seen))
  }
  x <- attributes(a)
  y <- attributes(b)
  if (!is.null(x) || !is.null(y)) {
    if (length(x) != length(y) || !setequal(names(x), names(y))) return(FALSE)
    for (name in names(x)) if (!same(x[[name]], y[[name]], seen)) return(FALSE)
    if (isS4(a)) return(TRUE)
    attributes(a) <- NULL
    attributes(b) <- NULL
  }
  if (typeof(a) == "list" || typeof(a) == "expression" || typeof(a) == "language" || typeof(a) == "pairlist") {
    a <- as.list(a)
    b <- as.list(b)
    if (length(a) != length(b) || !identical(names(a), names(b))) return(FALSE)
    for (k in seq_along(a)) {
      if (identical(a[[k]], quote(expr = ))) {
        if (!identical(b[[k]], quote(expr = ))) return(FALSE)
      } else if (!same(a[[k]], b[[k]], seen)) {
        return(FALSE)
      }
    }
    return(TRUE)
  }
  if (typeof(a) == "externalptr" || typeof(a) == "weakref") return(TRUE)
  identical(a, b, num.eq = FALSE, single.NA = FALSE)
}

bare <- function(x) x[setdiff(names(x), "srcref")]

escaped <- function(x) {
  x <- gsub("\\", "\\\\", enc2utf8(x), fixed = TRUE)
  x <- gsub("\n", "\\n", gsub("\t", "\\t", gsub("\r", "\\r", x, fixed = TRUE), fixed = TRUE), fixed = TRUE)
  x
}

# Of a file of 64 MB and more the first rows are written down.
write_dump <- function(frame, path, whole) {
  most <- if (whole) nrow(frame) else min(nrow(frame), 4000L)
  lines <- c(as.character(nrow(frame)))
  for (k in seq_along(frame)) {
    column <- .subset2(frame, k)
    if (is.list(column) || length(dim(column)) || length(column) != nrow(frame)) next
    form <- NULL
    if (is.factor(column)) {
      values <- as.character(column)
      form <- "text"
    } else if (is.character(column)) {
      values <- column
      form <- "text"
    } else if (inherits(column, "Date")) {
      values <- sprintf("%.17g", as.double(unclass(column)))
      values[is.na(column)] <- NA
      form <- "date"
    } else if (is.object(column)) {
      next
    } else if (is.logical(column)) {
      values <- as.character(column)
      form <- "logical"
    } else if (is.integer(column)) {
      values <- sprintf("%d", column)
      values[is.na(column)] <- NA
      form <- "integer"
    } else if (is.double(column)) {
      values <- sprintf("%.17g", column)
      values[is.na(column) & !is.nan(column)] <- NA
      form <- "double"
    } else {
      next
    }
    values <- values[seq_len(most)]
    if (form == "text" && !all(validEnc(values[!is.na(values)]))) next
    text <- if (form == "text") escaped(values) else values
    text[is.na(values)] <- "\\N"
    lines <- c(lines, escaped(names(frame)[k]), form, as.character(most), text)
  }
  connection <- file(path, "wb")
  writeLines(enc2utf8(lines), connection, useBytes = TRUE)
  close(connection)
}

results <- file(arguments[2], "w")
say <- function(folder, name, verdict, why = "") {
  why <- iconv(paste(why, collapse = " "), sub = "byte")
  writeLines(paste(folder, name, verdict, gsub("[\r\n\t]", " ", substr(why, 1, 200)), sep = "\t"), results)
  flush(results)
}

for (folder in readLines(arguments[1])) {
  source <- list.files(folder, "^source\\.", full.names = TRUE)[1]
  several <- grepl("RData$", source)
  # What a value of a class is, or extends, cannot be asked where the package of the class is not installed.
  failed <- NULL
  original <- tryCatch(opened(source), error = function(e) {
    failed <<- conditionMessage(e)
    NULL
  })
  if (!is.null(failed)) {
    say(folder, "source", "CANNOT", failed)
    next
  }
  for (name in list.files(folder, "^(same|other|qs2)\\.")) {
    answer <- tryCatch({
      setTimeLimit(elapsed = 60, transient = TRUE)
      value <- opened(file.path(folder, name))
      expected <- original
      if (several && grepl("rds$", name) && length(original) == 1L) expected <- original[[1L]]
      if (!several && grepl("RData$", name)) value <- value[[1L]]
      if (same(expected, value)) "SAME" else "DIFFERS"
    }, error = function(e) paste("CANNOT", conditionMessage(e)))
    setTimeLimit()
    verdict <- sub(" .*", "", answer)
    say(folder, name, verdict, if (verdict == "CANNOT") answer else paste(class(original), typeof(original)))
  }
  chosen <- file.path(folder, "variable")
  frame <- if (several && file.exists(chosen)) original[[readLines(chosen, encoding = "UTF-8")]] else original
  if (tryCatch(is.data.frame(frame), error = function(e) FALSE)) {
    tryCatch(write_dump(frame, file.path(folder, "dump.tsv"), file.size(source) < 2^26), error = function(e) {
      unlink(file.path(folder, "dump.tsv"))
      say(folder, "dump", "CANNOT", conditionMessage(e))
    })
  }
}
close(results)
