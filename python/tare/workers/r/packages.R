# Codecs of packages; each is announced only if its package is installed.

# --- JSON -----------------------------------------------------------------------------

.jsonlite_write <- function(x, o) {
  digits <- switch(o$digits, "max" = NA, as.integer(o$digits))
  if (is.data.frame(x) || is_frames(x)) jsonlite::toJSON(x, dataframe = o$orient, digits = digits, na = "null",
      POSIXt = "ISO8601")
  else jsonlite::toJSON(x, auto_unbox = TRUE, null = "null", digits = NA)
}

codec("json:r-jsonlite", "jsonlite", parts = TRUE,
      options = list(orient = c("rows", "columns"), digits = c("4", "15", "max")),
      encode = function(x, o) .jsonlite_write(x, o),
      decode = function(data, o) jsonlite::fromJSON(data, simplifyVector = TABLE),
      # Rows stream; columns and documents are one value.
      write = function(x, con, o) {
        if (!(is.data.frame(x) || is_frames(x)) || o$orient == "columns") return(writeLines(.jsonlite_write(x,
            o), con, useBytes = TRUE))
        digits <- if (o$digits == "max") NA else as.integer(o$digits)
        if (is.data.frame(x)) return(jsonlite::stream_out(x, con, verbose = FALSE, digits = digits))
        for (name in names(x)) {
          writeLines(sprintf("%s,%d", name, nrow(x[[name]])), con)
          jsonlite::stream_out(x[[name]], con, verbose = FALSE, digits = digits)
        }
      },
      read = function(con, o) {
        if (!TABLE || o$orient == "columns") return(jsonlite::fromJSON(text_of(read_rest(con)), simplifyVector = TABLE))
        if (!is_frames(STATE$value)) return(jsonlite::stream_in(con, verbose = FALSE))
        found <- list()
        while (length(head <- readLines(con, 1L))) {
          lines <- textConnection(readLines(con, as.integer(sub("^.*,", "", head)), encoding = "UTF-8"),
              encoding = "UTF-8")
          found[[sub(",[0-9]+$", "", head)]] <- jsonlite::stream_in(lines, verbose = FALSE)
          close(lines)
        }
        found
      })

codec("json:r-rjson", "rjson",
      encode = function(x, o) rjson::toJSON(x),
      decode = function(data, o) rjson::fromJSON(data, simplify = TABLE))

codec("json:r-rjsonio", "RJSONIO", install = "RJSONIO", parts = TRUE,
      encode = function(x, o) RJSONIO::toJSON(x),
      decode = function(data, o) RJSONIO::fromJSON(data, asText = TRUE),
      write = function(x, con, o) writeLines(RJSONIO::toJSON(x), con, useBytes = TRUE),
      read = function(con, o) RJSONIO::fromJSON(text_of(read_rest(con)), asText = TRUE))

codec("json:r-yyjsonr", "yyjsonr",
      encode = function(x, o) yyjsonr::write_json_str(x),
      decode = function(data, o) yyjsonr::read_json_str(data))

# --- YAML and MessagePack -----------------------------------------------------------------

codec("yaml:r-yaml", "yaml",
      encode = function(x, o) yaml::as.yaml(x, precision = 15L),
      decode = function(data, o) yaml::yaml.load(data, eval.expr = FALSE))

codec("msgpack:r-msgpack", "msgpack", parts = TRUE,
      encode = function(x, o) msgpack::packMsg(x),
      decode = function(data, o) msgpack::unpackMsg(data),
      write = function(x, con, o) msgpack::writeMsg(x, msgpack::msgConnection(con)),
      read = function(con, o) msgpack::readMsg(msgpack::msgConnection(con)))

# msgpackR has no NA: 9999 goes in its place, as in the study, and comes back so.
.no_missing <- function(x) {
  if (is.list(x)) return(lapply(x, .no_missing))
  if (anyNA(x)) x[is.na(x)] <- if (is.character(x)) "9999" else 9999
  x
}

codec("msgpack:r-msgpackr", "msgpackR",
      encode = function(x, o) msgpackR::pack(.no_missing(x)),
      decode = function(data, o) msgpackR::unpack(data))

# --- tables ---------------------------------------------------------------------------------

.skips_blank <- function(path) !one_column(readLines(path, 1L, warn = FALSE))

.first_line <- function(data) rawToChar(data[seq_len(match(as.raw(10L), data, length(data) + 1L) - 1L)])

codec("csv:r-readr", "readr", kinds = "table", threaded = TRUE,
      setup = function(threads) options(readr.num_threads = threads, readr.show_progress = FALSE),
      encode = function(x, o) readr::format_csv(x),
      decode = function(data, o) readr::read_csv(I(data), show_col_types = FALSE, progress = FALSE, lazy = FALSE,
          skip_empty_rows = !one_column(.first_line(data))),
      by_path = function(o) TRUE,
      write_file = function(x, path, o) readr::write_csv(x, path, progress = FALSE),
      read_file = function(path, o) readr::read_csv(path, show_col_types = FALSE, progress = FALSE, lazy = FALSE,
          skip_empty_rows = .skips_blank(path)))

codec("csv:r-vroom", "vroom", kinds = "table", threaded = TRUE,
      setup = function(threads) options(vroom.threads = threads),
      encode = no_memory("vroom"), decode = no_memory("vroom"), by_path = function(o) TRUE,
      write_file = function(x, path, o) vroom::vroom_write(x, path, delim = ",", progress = FALSE),
      read_file = function(path, o) vroom::vroom(path, delim = ",", show_col_types = FALSE, progress = FALSE,
          altrep = FALSE, skip_empty_rows = .skips_blank(path)))

codec("csv:r-data.table", "data.table", kinds = "table", threaded = TRUE,
      setup = function(threads) data.table::setDTthreads(threads),
      encode = no_memory("fwrite"), decode = no_memory("fread"), by_path = function(o) TRUE,
      write_file = function(x, path, o) data.table::fwrite(x, path, showProgress = FALSE),
      read_file = function(path, o) data.table::fread(path, showProgress = FALSE, data.table = FALSE))

.arrow_ready <- function(threads) {
  arrow::set_cpu_count(threads)
  arrow::set_io_thread_count(max(2L, threads))
}

codec("csv:r-arrow", "arrow", kinds = "table", threaded = TRUE, setup = .arrow_ready,
      encode = no_memory("write_csv_arrow"), decode = no_memory("read_csv_arrow"), by_path = function(o) TRUE,
      write_file = function(x, path, o) arrow::write_csv_arrow(x, path),
      read_file = function(path, o) as.data.frame(arrow::read_csv_arrow(path, skip_empty_rows = .skips_blank(path))))

codec("parquet:r-arrow", "arrow", kinds = "table", threaded = TRUE, setup = .arrow_ready,
      options = list(compression = c("snappy", "zstd", "gzip", "uncompressed")),
      encode = no_memory("write_parquet"), decode = no_memory("read_parquet"), by_path = function(o) TRUE,
      write_file = function(x, path, o) arrow::write_parquet(x, path, compression = o$compression),
      read_file = function(path, o) as.data.frame(arrow::read_parquet(path)))

codec("arrow:r-arrow", "arrow", kinds = "table", threaded = TRUE, setup = .arrow_ready,
      options = list(compression = c("lz4", "zstd", "uncompressed")),
      encode = no_memory("write_feather"), decode = no_memory("read_feather"), by_path = function(o) TRUE,
      write_file = function(x, path, o) arrow::write_feather(x, path, compression = o$compression),
      read_file = function(path, o) as.data.frame(arrow::read_feather(path, mmap = FALSE)))

codec("fst:r-fst", "fst", kinds = "table", threaded = TRUE, options = list(compress = as.character(c(50L, 0:49,
    51:100))),
      setup = function(threads) fst::threads_fst(threads),
      encode = no_memory("write_fst"), decode = no_memory("read_fst"), by_path = function(o) TRUE,
      write_file = function(x, path, o) fst::write_fst(x, path, compress = as.integer(o$compress)),
      read_file = function(path, o) fst::read_fst(path))

codec("qs:r-qs", "qs", code = TRUE, options = list(preset = c("high", "balanced", "fast", "archive", "uncompressed")),
      encode = function(x, o) qs::qserialize(x, preset = o$preset),
      decode = function(data, o) qs::qdeserialize(data), by_path = function(o) TRUE,
      write_file = function(x, path, o) qs::qsave(x, path, preset = o$preset),
      read_file = function(path, o) qs::qread(path))

codec("qs2:r-qs2", "qs2", code = TRUE, threaded = TRUE,
      encode = function(x, o) qs2::qs_serialize(x), decode = function(data, o) qs2::qs_deserialize(data),
      by_path = function(o) TRUE,
      write_file = function(x, path, o) qs2::qs_save(x, path), read_file = function(path, o) qs2::qs_read(path))

codec("qdata:r-qs2", "qs2", threaded = TRUE,
      encode = function(x, o) qs2::qd_serialize(x), decode = function(data, o) qs2::qd_deserialize(data),
      by_path = function(o) TRUE,
      write_file = function(x, path, o) qs2::qd_save(x, path), read_file = function(path, o) qs2::qd_read(path))
