# The steps of R's storr, in base R and digest, for `bench/store/goals.py`: storr itself is not in Debian.
#
# They are what its folders show: serialize (version 2, XDR), md5 of the bytes behind byte 14, the object
# gzipped (level 6) or plain to scratch/ and renamed, then the key file likewise; reading is the key file,
# gzfile and unserialize. What storr does around them is left out, so it takes longer than they do.

steps_open <- function(root) {
  for (name in c("data", "keys/objects", "scratch")) {
    dir.create(file.path(root, name), recursive = TRUE, showWarnings = FALSE)
  }
  root
}

steps_data <- function(root, hash) file.path(root, "data", paste0(hash, ".rds"))

steps_hash <- function(bytes) digest::digest(bytes, "md5", serialize = FALSE, skip = 14L)

steps_set <- function(root, key, value, gzip = TRUE) {
  bytes <- serialize(value, NULL, xdr = TRUE, version = 2L)
  hash <- steps_hash(bytes)
  data <- steps_data(root, hash)
  scratch <- file.path(root, "scratch")
  if (!file.exists(data)) {
    temporary <- tempfile(tmpdir = scratch)
    out <- if (gzip) gzfile(temporary, "wb", compression = 6) else file(temporary, "wb")
    writeBin(bytes, out)
    close(out)
    file.rename(temporary, data)
  }
  temporary <- tempfile(tmpdir = scratch)
  writeLines(hash, temporary)
  file.rename(temporary, file.path(root, "keys/objects", key))
  invisible(hash)
}

steps_get_hash <- function(root, key) readLines(file.path(root, "keys/objects", key), n = 1L)

steps_get <- function(root, key) {
  input <- gzfile(steps_data(root, steps_get_hash(root, key)), "rb")
  on.exit(close(input))
  unserialize(input)
}

steps_get_verified <- function(root, key) {
  hash <- steps_get_hash(root, key)
  path <- steps_data(root, hash)
  input <- gzfile(path, "rb")
  on.exit(close(input))
  parts <- list()
  while (length(part <- readBin(input, "raw", 2^24)) > 0) parts[[length(parts) + 1]] <- part
  bytes <- do.call(c, parts)
  stopifnot(steps_hash(bytes) == hash)
  unserialize(bytes)
}

steps_list <- function(root) sort(list.files(file.path(root, "keys/objects")))

steps_gc <- function(root) {
  named <- vapply(steps_list(root), function(key) steps_get_hash(root, key), "")
  there <- sub("\\.rds$", "", list.files(file.path(root, "data")))
  dead <- setdiff(there, named)
  file.remove(steps_data(root, dead))
  length(dead)
}

# Reads lines of code; answers each with user + system and elapsed seconds.
input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) == 1) {
  code <- parse(text = line)
  invisible(gc())
  took <- system.time(eval(code, globalenv()), gcFirst = FALSE)
  cat(took[[1]] + took[[2]], took[[3]], "\n")
  flush(stdout())
}
