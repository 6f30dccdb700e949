# The driver of R, told by frames on descriptor 3 what to execute (docs/kernel-protocol.md).

local({
	drivers <- "/opt/sandpit/r"
	dyn.load(file.path(drivers, "wire.so"))
	k <- new.env()
	k$execution <- 0L
	k$mime <- c(text = "text/plain", html = "text/html", png = "image/png",
		svg = "image/svg+xml", latex = "text/latex", markdown = "text/markdown",
		jpeg = "image/jpeg", pdf = "application/pdf", json = "application/json",
		data = "application/vnd.sandpit.data+json")

	k$bytes <- function(value) {
		if (is.raw(value)) value else charToRaw(enc2utf8(paste(as.character(value), collapse = "\n")))
	}
	k$number <- function(n) writeBin(as.integer(n), raw(), endian = "little")

	# fields: a list of lists of a name and a value.
	k$send <- function(type, fields = list(), execution = k$execution) {
		payload <- do.call(c, c(list(raw()), lapply(fields, function(field) {
			name <- k$bytes(field[[1]])
			value <- k$bytes(field[[2]])
			c(k$number(length(name)), k$number(length(value)), name, value)
		})))
		if (length(payload) > 32 * 1024 * 1024) {
			cat("a result over 32 MiB is left out\n", file = stderr())
			return(invisible())
		}
		flush(stdout())
		flush(stderr())
		.C("sandpit_write", as.integer(type), as.integer(execution), payload, length(payload))
		invisible()
	}

	k$fields <- function(payload) {
		found <- list()
		at <- 1L
		size <- function(at) readBin(payload[at:(at + 3L)], "integer", endian = "little")
		part <- function(at, len) if (len) payload[at:(at + len - 1L)] else raw()
		while (at < length(payload)) {
			name <- size(at)
			value <- size(at + 4L)
			at <- at + 8L
			found[[length(found) + 1L]] <- list(rawToChar(part(at, name)), part(at + name, value))
			at <- at + name + value
		}
		found
	}

	k$receive <- function() {
		head <- .C("sandpit_read", type = 0L, execution = 0L, len = 0L)
		if (head$len < 0L) return(NULL)
		payload <- raw()
		if (head$len) payload <- .C("sandpit_payload", payload = raw(head$len), head$len)$payload
		list(type = head$type, execution = head$execution, fields = k$fields(payload))
	}

	k$text <- function(raw) {
		text <- rawToChar(raw[raw != 0])
		Encoding(text) <- "UTF-8"
		text
	}

	# Plots: recorded as they are drawn, and shown when something else is, when the next page begins, or
	# when the execution is over. What is drawn on a page that was shown already updates it.

	k$device <- NULL
	k$shown <- NULL
	k$main <- FALSE # it is the value of the code
	k$page <- NULL # its display's id, once it was shown
	k$pages <- 0L
	k$open <- function() {
		pdf(NULL)
		dev.control("enable")
		k$device <- dev.cur()
	}
	k$replay <- function(plot, open) {
		file <- tempfile()
		on.exit(unlink(file))
		here <- dev.cur()
		open(file)
		replayPlot(plot)
		dev.off()
		if (here > 1L) dev.set(here)
		if (file.exists(file)) readBin(file, "raw", file.size(file))
	}
	k$show_plot <- function(plot) {
		png <- try(k$replay(plot, function(file) png(file, 840, 840, res = 120,
			type = "cairo")), silent = TRUE)
		if (is.null(png)) return(invisible()) # a page with nothing on it
		fields <- list(list("text/plain", "plot"))
		if (is.raw(png)) fields <- c(fields, list(list("image/png", png)))
		svg <- try(k$replay(plot, function(file) svg(file, 7, 7)), silent = TRUE)
		if (is.raw(svg)) fields <- c(fields, list(list("image/svg+xml", svg)))
		again <- !is.null(k$page)
		if (!again) {
			k$pages <- k$pages + 1L
			k$page <- paste0("plot-", Sys.getpid(), "-", k$pages)
			if (k$main) fields <- c(list(list("@main", "1")), fields)
		}
		k$send(if (again) 18L else 17L, c(list(list("@id", k$page)), fields))
	}
	# What can be seen of it: settings for what is drawn later cannot.
	k$unseen <- c("C_clip", "C_layout", "C_par", "C_plot_window", "C_strHeight", "C_strWidth",
		"palette", "palette2")
	k$seen <- function(plot) {
		named <- vapply(plot[[1]], function(call)
			tryCatch(as.character(call[[2]][[1]]$name)[1], error = function(e) NA_character_), "")
		plot[[1]][!(named %in% k$unseen)]
	}
	k$take_plot <- function() {
		if (is.null(k$device) || !(k$device %in% dev.list())) return(invisible())
		here <- dev.cur()
		dev.set(k$device)
		plot <- tryCatch(recordPlot(), error = function(e) NULL)
		if (here > 1L && here %in% dev.list()) dev.set(here)
		seen <- if (!is.null(plot)) k$seen(plot)
		if (length(seen) && !identical(seen, k$shown)) k$last <- plot
		invisible()
	}
	k$flush_plot <- function() {
		k$take_plot()
		if (!is.null(k$last)) {
			plot <- k$last
			k$last <- NULL
			k$shown <- k$seen(plot)
			tryCatch(k$show_plot(plot), error = function(e)
				cat("the plot cannot be shown:", conditionMessage(e), "\n", file = stderr()))
		}
	}
	k$new_page <- function() {
		k$flush_plot()
		k$page <- NULL
	}
	k$before_plot <- function(...) {
		if (identical(dev.cur(), k$device) && par("page") && !par("new")) k$new_page()
	}
	k$before_grid <- function(...) {
		if (identical(dev.cur(), k$device)) k$new_page()
	}

	# Values.

	k$data <- function(frame) {
		frame <- head(as.data.frame(frame), 10000L)
		frame[] <- lapply(frame, function(column) {
			if (inherits(column, "POSIXt")) format(column, "%Y-%m-%dT%H:%M:%S")
			else if (inherits(column, "Date")) format(column)
			else if (is.factor(column)) as.character(column)
			else if (is.complex(column)) as.character(column)
			else column
		})
		as.character(jsonlite::toJSON(as.list(frame), na = "null", digits = NA,
			null = "null", force = TRUE))
	}
	k$has <- function(package) requireNamespace(package, quietly = TRUE)
	k$fields_of <- function(value) {
		text <- paste(utils::capture.output(print(value)), collapse = "\n")
		fields <- list(list("@main", "1"), list("text/plain", text))
		add <- function(mime, make) {
			got <- tryCatch(make(), error = function(e) NULL)
			if (length(got)) fields[[length(fields) + 1L]] <<- list(mime, got)
		}
		if (is.data.frame(value) || is.matrix(value)) {
			if (k$has("repr")) {
				add("text/html", function() repr::repr_html(value))
				add("text/markdown", function() repr::repr_markdown(value))
				add("text/latex", function() repr::repr_latex(value))
			}
			if (is.data.frame(value)) add("application/vnd.sandpit.data+json", function() k$data(value))
		} else if (is.list(value) && !is.object(value)) {
			add("application/json", function() as.character(jsonlite::toJSON(value,
				auto_unbox = TRUE, na = "null", null = "null")))
		}
		fields
	}
	k$show <- function(value) {
		if (inherits(value, c("ggplot", "trellis", "recordedplot"))) {
			k$new_page()
			print(value)
			k$main <- TRUE
			k$flush_plot()
			k$main <- FALSE
			return(invisible())
		}
		if (inherits(value, "htmlwidget") || inherits(value, c("shiny.tag", "shiny.tag.list", "html"))) {
			html <- paste(as.character(value), collapse = "\n")
			return(k$send(17L, list(list("@main", "1"), list("text/html", html))))
		}
		k$send(17L, k$fields_of(value))
	}

	k$keep <- function(value) {
		if (bindingIsLocked(".Last.value", baseenv())) unlockBinding(".Last.value", baseenv())
		assign(".Last.value", value, envir = baseenv())
	}

	# Executing.

	k$error <- function(name, value, calls) {
		k$send(20L, c(list(list("name", name), list("value", value)),
			lapply(calls, function(call) list("traceback", call))))
	}
	k$is_top <- function(call) identical(call, quote(eval(expression, globalenv()))) ||
		identical(call[[1]], quote(parse))
	k$trace <- function(calls) {
		# What lies above the user's own calls is ours.
		own <- which(vapply(calls, function(call) identical(call[[1]], quote(withVisible)), NA))
		if (length(own)) calls <- calls[-seq_len(max(own))]
		top <- which(vapply(calls, k$is_top, NA))
		if (length(top)) calls <- calls[-seq_len(max(top))]
		text <- vapply(calls, function(call) paste(deparse(call, nlines = 1L), collapse = ""), "")
		ours <- grepl("^(\\.handleSimpleError|h\\(simpleError|stop\\(|\\.signalSimple|\\(function \\(e)", text)
		text[!ours]
	}
	k$fail <- function(e) {
		call <- conditionCall(e)
		if (!is.null(call) && k$is_top(call)) call <- NULL
		message <- conditionMessage(e)
		head <- if (is.null(call)) paste0("Error: ", message)
			else paste0("Error in ", paste(deparse(call, nlines = 1L), collapse = ""), ": ", message)
		calls <- k$calls
		if (length(calls)) calls <- c("Traceback:", paste0(seq_along(calls), ". ", calls))
		k$error(class(e)[1], message, c(head, calls))
	}
	# R compiles what it calls twice or finds to be a loop. That is for the code, not for this driver,
	# whose functions are compiled when there is time.
	k$jit <- 3L
	k$eval <- function(expression) {
		.Internal(enableJIT(k$jit))
		on.exit(k$jit <- .Internal(enableJIT(0L)))
		withVisible(eval(expression, globalenv()))
	}
	k$run <- function(code) {
		k$calls <- NULL
		expressions <- parse(text = code, keep.source = FALSE, encoding = "UTF-8")
		for (expression in expressions) {
			k$calls <- NULL
			got <- withCallingHandlers(
				k$eval(expression),
				error = function(e) k$calls <- k$trace(sys.calls()),
				warning = function(w) {
					call <- conditionCall(w)
					if (!is.null(call) && k$is_top(call)) call <- NULL
					cat(if (is.null(call)) "Warning message:\n" else paste0("Warning message in ",
						paste(deparse(call, nlines = 1L), collapse = ""), ":\n"),
						conditionMessage(w), "\n", sep = "", file = stderr())
					tryInvokeRestart("muffleWarning")
				})
			if (got$visible) {
				k$flush_plot()
				k$keep(got$value)
				k$show(got$value)
			} else {
				k$take_plot()
			}
		}
	}
	# In the directory of that name: a restore puts another in its place. One that is only removed is
	# stayed in.
	k$stand <- function() {
		at <- getwd()
		if (!is.null(at)) k$directory <- at
		else if (!is.null(k$directory)) try(setwd(k$directory), silent = TRUE)
	}

	k$execute <- function(code) {
		k$stand()
		k$last <- NULL
		k$page <- NULL
		tryCatch({
			.C("sandpit_idle", 0L)
			k$calls <- NULL
			if (any(code == 0)) stop("the source holds a NUL byte", call. = FALSE) # no string can
			k$run(k$text(code))
		}, interrupt = function(e) {
			.C("sandpit_idle", 1L)
			k$error("KeyboardInterrupt", "interrupted", "KeyboardInterrupt: interrupted")
		}, error = function(e) k$fail(e))
		.C("sandpit_idle", 1L)
		tryCatch(k$flush_plot(), error = function(e) NULL)
		k$stand()
		k$send(22L)
	}

	k$ask <- function(prompt = "", ...) {
		cat(prompt)
		k$send(21L, list(list("prompt", prompt)))
		repeat {
			frame <- k$receive()
			if (is.null(frame)) return("")
			if (frame$type == 4L) break
		}
		if (length(frame$fields)) k$text(frame$fields[[1]][[2]]) else ""
	}
	k$replace <- function(name, value, package) {
		where <- as.environment(paste0("package:", package))
		space <- if (package == "base") baseenv() else asNamespace(package)
		for (at in list(where, space)) {
			locked <- bindingIsLocked(name, at)
			if (locked) unlockBinding(name, at)
			assign(name, value, envir = at)
			if (locked) lockBinding(name, at)
		}
	}

	k$set_up <- function(fields) {
		for (field in fields) {
			value <- k$text(field[[2]])
			if (field[[1]] == "cwd") {
				tryCatch(setwd(value), error = function(e)
					cat(value, ": no such directory\n", sep = "", file = stderr()))
			} else if (field[[1]] == "env") {
				at <- regexpr("=", value, fixed = TRUE)
				do.call(Sys.setenv, setNames(list(substring(value, at + 1L)),
					substring(value, 1L, at - 1L)))
			}
		}
	}

	options(device = k$open, warn = 1, width = 120, crayon.enabled = FALSE, cli.num_colors = 1L,
		jupyter.plot_mimetypes = NULL, menu.graphics = FALSE, browserNLdisabled = TRUE)
	base_quit <- base::quit
	k$quit <- function(save = "no", status = 0, runLast = FALSE) {
		if (status == 0) k$send(22L, list(list("exit", "1")))
		flush(stdout())
		base_quit("no", status, FALSE)
	}
	k$replace("readline", k$ask, "base")
	k$replace("quit", k$quit, "base")
	k$replace("q", k$quit, "base")
	setHook("before.plot.new", k$before_plot)
	setHook("before.grid.newpage", k$before_grid)
	# What the first results of their kind would wait for, in steps between which there may be a frame.
	k$steps <- c(lapply(c("jsonlite", "cli", "rlang", "vctrs", "pillar", "htmltools", "repr"),
		function(package) function() k$has(package)),
		function() for (name in ls(k)) if (is.function(k[[name]])) k[[name]] <- compiler::cmpfun(k[[name]]),
		function() k$fields_of(data.frame(a = 1)))
	k$prepare <- function() {
		while (length(k$steps) && !.C("sandpit_wait", if (k$begun) 0L else 300L)[[1]]) {
			k$begun <- TRUE
			step <- k$steps[[1]]
			k$steps <- k$steps[-1]
			try(step(), silent = TRUE)
		}
	}
	k$begun <- FALSE

	k$jit <- .Internal(enableJIT(0L))
	if (identical(Sys.getenv("R_ENABLE_JIT"), "0")) k$jit <- 3L
	Sys.unsetenv("R_ENABLE_JIT")
	.C("sandpit_idle", 1L)
	k$send(16L, execution = 0L)
	repeat {
		if (length(k$steps)) k$prepare()
		frame <- k$receive()
		if (is.null(frame)) base_quit("no", 0, FALSE)
		if (frame$type == 1L) {
			k$set_up(frame$fields)
		} else if (frame$type == 2L) {
			k$execution <- frame$execution
			code <- raw()
			for (field in frame$fields) if (field[[1]] == "code") code <- field[[2]]
			k$execute(code)
		}
	}
})
