# Text that deparse wrote, evaluated where nothing but constructors is known: it can call nothing else.

.constructors <- function() {
  base <- baseenv()
  closed <- new.env(parent = emptyenv())
  for (name in c("c", "list", "structure", "-", "+", ":", "(", "as.raw", "character", "integer", "double", "numeric",
                 "logical", "complex", "as.integer", "pairlist", "raw", "vector")) {
    assign(name, get(name, envir = base), envir = closed)
  }
  lockEnvironment(closed, bindings = TRUE)
  closed
}
CONSTRUCTORS <- .constructors()

# `structure` may be given a class, and printing or subsetting such a value would call its methods;
# nothing here does. Calls are looked through before any is made.
.allowed <- function(expression) {
  todo <- list(expression)
  while (length(todo)) {
    one <- todo[[length(todo)]]
    todo[[length(todo)]] <- NULL
    if (is.call(one)) {
      head <- one[[1L]]
      if (!is.symbol(head) || !exists(as.character(head), envir = CONSTRUCTORS, inherits = FALSE)) {
        stop(sprintf("dput text calls %s, which is no constructor", substr(paste(deparse(head), collapse = " "),
            1L, 60L)))
      }
      if (length(one) > 1L) for (part in as.list(one)[-1L]) if (is.call(part) || is.symbol(part)) todo[[length(todo) + 1L]] <- part
    } else if (is.symbol(one) && nzchar(as.character(one))) {
      stop(sprintf("dput text names %s, which is no constant", substr(as.character(one), 1L, 60L)))
    }
  }
}

dput_decode <- function(parsed) {
  if (length(parsed) != 1L) stop("dput text is one expression")
  .allowed(parsed[[1L]])
  eval(parsed[[1L]], CONSTRUCTORS)
}

DPUT_CONTROL <- list(
  "15" = c("keepNA", "keepInteger", "niceNames", "showAttributes"),
  "17" = c("keepNA", "keepInteger", "niceNames", "showAttributes", "digits17"),
  "hex" = c("keepNA", "keepInteger", "niceNames", "showAttributes", "hexNumeric"))
