# What a codec is, and those of base R.
#
# A codec has some of these; the rest is made of them (media.R):
#   encode(x, o) -> raw or text      decode(data, o) -> x         in memory
#   write(x, con, o)                 read(con, o) -> x            to and from any binary connection
#   write_file(x, path, o)           read_file(path, o) -> x      by path: libraries that take no connection

CODECS <- list()

codec <- function(id, package = "base", kinds = c("table", "document"), options = list(), code = FALSE, parts = FALSE,
                  setup = function(threads) NULL, threaded = FALSE, install = package,
                  several = "document" %in% kinds, ...) {
  halves <- strsplit(id, ":", fixed = TRUE)[[1L]]
  CODECS[[id]] <<- list(id = id, format = halves[1L], library = halves[2L], package = package, kinds = kinds,
                        options = options, code = code, parts = parts, setup = setup, threaded = threaded,
                        install = install, several = several, ...)
}

installed <- function(one) one$package == "base" || nzchar(system.file(package = one$package))

# Read as the package manager left it: packageVersion() would load utils first.
version_of <- function(one) {
  if (one$package == "base") return(as.character(getRversion()))
  found <- readRDS(system.file("Meta", "package.rds", package = one$package))
  unname(found$DESCRIPTION["Version"])
}

# An id with its options: rds:r,version=2. Values not among the choices are refused.
parse_codec <- function(text) {
  if (!is.character(text) || length(text) != 1L) fail("usage", "a codec is named by a text", "encode")
  parts <- strsplit(text, ",", fixed = TRUE)[[1L]]
  one <- CODECS[[parts[1L]]]
  if (is.null(one)) {
    fail("usage", sprintf("this worker has no codec '%s'; it has %s", substr(text, 1L, 80L),
        paste(names(CODECS), collapse = " ")), "encode")
  }
  o <- lapply(one$options, function(choices) choices[1L])
  for (given in parts[-1L]) {
    name <- sub("=.*", "", given)
    value <- sub("^[^=]*=?", "", given)
    choices <- one$options[[name]]
    if (is.null(choices)) fail("usage", sprintf("%s has no option '%s'; it has %s", one$id, substr(name, 1L,
        40L), paste(names(one$options), collapse = " ")), "encode")
    if (!value %in% choices) fail("usage", sprintf("%s: %s is one of %s", one$id, name, paste(choices,
        collapse = ", ")), "encode")
    o[[name]] <- value
  }
  if (!installed(one)) fail("MissingLibrary", sprintf("R has no package %s: %s", one$package,
      install_line(one)), "encode")
  one$o <- o
  one$name <- text
  one
}

install_line <- function(one) {
  debian <- c("jsonlite", "rjson", "yaml", "readr", "data.table", "vroom")
  if (one$package %in% debian) sprintf("apt-get install r-cran-%s, or in R install.packages(\"%s\")",
      tolower(one$package), one$install)
  else sprintf("in R: install.packages(\"%s\")", one$install)
}

no_memory <- function(what) function(...) fail("Unsupported", paste(what,
    "has no form in memory: it is measured on connections and files"), "encode")

read_rest <- function(con) {
  parts <- list()
  while (length(data <- readBin(con, "raw", 262144L))) parts[[length(parts) + 1L]] <- data
  if (length(parts)) unlist(parts) else raw(0)
}

text_of <- function(data) {
  if (is.raw(data)) data <- rawToChar(data)
  if (length(data) == 1L && Encoding(data) == "unknown") Encoding(data) <- "UTF-8"
  data
}

is_frames <- function(x) is.list(x) && !is.data.frame(x) && length(x) && !is.null(names(x)) && all(vapply(x,
    is.data.frame, TRUE))

# --- serialize ------------------------------------------------------------------------

.xdr <- function(o) o$form == "xdr"
.ascii <- function(o) if (o$form == "asciihex") NA else o$form == "ascii" # 16 digits lose some doubles
.version <- function(o) as.integer(o$version)
.packs <- function(o) o$compress != "none"

codec("rds:r", options = list(version = c("3", "2"), form = c("xdr", "native", "ascii", "asciihex"),
    compress = c("none", "gzip", "bzip2", "xz")),
      code = TRUE,
      encode = function(x, o) {
        if (.packs(o)) no_memory("saveRDS with a compressor")()
        serialize(x, NULL, ascii = .ascii(o), xdr = .xdr(o), version = .version(o))
      },
      decode = function(data, o) unserialize(data),
      write = function(x, con, o) {
        if (.packs(o)) no_memory("saveRDS with a compressor")()
        serialize(x, con, ascii = .ascii(o), xdr = .xdr(o), version = .version(o))
      },
      read = function(con, o) unserialize(con),
      by_path = .packs,
      write_file = function(x, path, o) saveRDS(x, path, ascii = .ascii(o), version = .version(o),
          compress = o$compress),
      read_file = function(path, o) readRDS(path))

codec("rdata:r", options = list(version = c("3", "2"), form = c("xdr", "ascii", "asciihex"),
    compress = c("gzip", "none", "bzip2", "xz")), code = TRUE,
      encode = no_memory("save"), decode = no_memory("load"),
      by_path = function(o) TRUE,
      write_file = function(x, path, o) {
        save(x, file = path, ascii = .ascii(o), version = .version(o),
            compress = if (o$compress == "none") FALSE else o$compress)
      },
      read_file = function(path, o) {
        held <- new.env(parent = emptyenv())
        load(path, envir = held)
        held$x
      })

# --- dput -----------------------------------------------------------------------------

codec("dput:r", options = list(digits = c("15", "17", "hex")),
      encode = function(x, o) paste(deparse(x, control = DPUT_CONTROL[[o$digits]]), collapse = "\n"),
      decode = function(data, o) dput_decode(parse(text = data, keep.source = FALSE, encoding = "UTF-8")),
      write = function(x, con, o) writeLines(deparse(x, control = DPUT_CONTROL[[o$digits]]), con, useBytes = TRUE),
      read = function(con, o) dput_decode(parse(text = readLines(con, encoding = "UTF-8"), keep.source = FALSE,
          encoding = "UTF-8")))

# --- csv ------------------------------------------------------------------------------

# Several tables follow each other, each after a line with its name and its rows: a reader of
# lines cannot know otherwise where one ends.
csv_write <- function(x, con, o) {
  if (!is_frames(x)) return(utils::write.csv(x, con, row.names = FALSE))
  for (name in names(x)) {
    writeLines(sprintf("%s,%d", name, nrow(x[[name]])), con)
    utils::write.csv(x[[name]], con, row.names = FALSE)
  }
}

# Whether a header names one column: then a blank line is a row whose value is missing. A blank line is no header.
one_column <- function(header) {
  if (!length(header) || !nzchar(sub("\r$", "", header[[1L]]))) return(FALSE)
  !grepl("[\",]", gsub("\"[^\"]*\"", "", header[[1L]], useBytes = TRUE), useBytes = TRUE)
}

csv_table <- function(lines) {
  utils::read.csv(text = lines, check.names = FALSE, encoding = "UTF-8", blank.lines.skip = !one_column(lines))
}

csv_read <- function(con, o) {
  if (o$tables == "one") {
    # read.csv pushes lines back, which a binary connection does not take.
    if (summary(con)$text != "text") return(csv_table(readLines(con)))
    header <- readLines(con, 1L)
    pushBack(header, con)
    return(utils::read.csv(con, check.names = FALSE, encoding = "UTF-8", blank.lines.skip = !one_column(header)))
  }
  found <- list()
  while (length(head <- readLines(con, 1L))) {
    name <- sub(",[0-9]+$", "", head)
    found[[name]] <- csv_table(readLines(con, as.integer(sub("^.*,", "", head)) + 1L))
  }
  found
}

codec("csv:r", kinds = "table", several = TRUE, parts = TRUE, text_mode = TRUE, options = list(tables = c("one",
    "several")),
      encode = no_memory("write.csv"), decode = no_memory("read.csv"), write = csv_write, read = csv_read)

# --- nothing --------------------------------------------------------------------------

# What its calls cost is what the worker adds to every other codec. Nothing comes back.
.one <- as.raw(0L)

codec("none:r", encode = function(x, o) .one, decode = function(data, o) NULL)
