# Ask Bridge: `make run` starts the site, `make dev` the one for developers, `make test` runs every check.

.DEFAULT_GOAL := help
.PHONY: help run demo dev env check test coverage versions soak bench lint unit audit format lock messages screenshots icons \
	dist clean

BIN := .venv/bin

# The first Python on this machine that is new enough; name another with PYTHON=/path/to/python3.
PYTHON ?= $(firstword $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate; done))

# Only these services are used by tests; scripts/test-services sets them up where it can.
export TEST_DATABASE_URL ?= postgres://ask_bridge:ask_bridge@127.0.0.1:5432/ask_bridge
export TEST_MARIADB_URL ?= mysql://root@127.0.0.1:3306/ask_bridge
export TEST_REDIS_URL ?= redis://127.0.0.1:6379/15

# Checks must not depend on, nor write to, the site that runs from this folder.
SITE_ENV := HOST PORT DATABASE_URL REDIS_URL STATIC_DIR SECRET_KEY SECRET_KEY_FALLBACKS ALLOWED_HOSTS LANGUAGE_CODE PRODUCTION LOG_FORMAT METRICS_TOKEN \
	PASSWORD_RESET ROOM_CREATORS SESSION_LIST TWO_FACTOR TIME_ZONE OIDC_ISSUER OIDC_CLIENT_ID OIDC_CLIENT_SECRET OIDC_NAME OIDC_SCOPES \
	OIDC_EMAIL_DOMAINS OIDC_TRUST_EMAILS OIDC_NEW_USERS OIDC_SESSION_HOURS ORIGIN EMAIL_URL EMAIL_FROM VAPID_PRIVATE_KEY VAPID_SUBJECT \
	WEBHOOK_ALLOWED_NETWORKS PUSH_ALLOWED_NETWORKS KEEP_DAYS DELETED_PEOPLE
ISOLATED := env $(SITE_ENV:%=-u %) DATA_DIR="$(CURDIR)/.venv/test-data"

# Three at a time, a file each, in the order of tests/conftest.py: much of a test is waiting for something.
# A test that hangs for ten minutes, which none needs, ends its worker and fails.
PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 20 --repeat-failed \
	-o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/.server ## Start the site on http://127.0.0.1:8000 (HOST and PORT change that)
	@exec $(BIN)/python manage.py serve

demo: .venv/.server ## Play for five minutes: the site with a past and three scripted agents (PORT changes 8000)
	@exec $(ISOLATED) PORT="$(PORT)" $(BIN)/python scripts/demo.py

dev: .venv/.dev ## The site with demo data, debug pages and restart on edit (PORT changes 8000)
	@exec $(ISOLATED) PORT="$(PORT)" $(BIN)/python scripts/dev.py

env: .venv/.dev ## Only make .venv, with all that development needs
	@echo "The environment is ready: .venv/bin holds python, pytest, ruff, mypy and the rest."

check: .venv/.dev ## Before each commit: lint and unit tests, about a minute
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint unit

# Without the few that try thousands of cases: `make test` runs those.
unit: .venv/.dev
	@$(ISOLATED) $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --quiet \
		-m "unit and not slow" tests/rooms tests/client

test: .venv/.dev ## Everything: lint, all tests on PostgreSQL, MariaDB and SQLite; in CI also audit and versions
	@scripts/test-services
	@$(MAKE) --no-print-directory lint
	@if [ "$$CI" = true ]; then $(MAKE) --no-print-directory audit && $(ISOLATED) $(BIN)/python scripts/versions.py newest; fi
	@if scripts/test-services postgres; then \
		echo "== tests/rooms on PostgreSQL"; \
		$(ISOLATED) DATABASE_URL="$$TEST_DATABASE_URL" $(PYTEST) tests/rooms; \
	fi
	@if scripts/test-services mariadb; then \
		echo "== tests on MariaDB, those that depend on the database"; \
		$(ISOLATED) DATABASE_URL="$$TEST_MARIADB_URL" $(PYTEST) --numprocesses 2 -m mariadb tests/rooms tests/site; \
	fi
	@echo "== all tests on SQLite"
	@$(ISOLATED) $(PYTEST)

coverage: .venv/.dev ## Which lines the unit tests run: a table here, pages in build/coverage
	@$(ISOLATED) $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --quiet -m unit \
		--cov --cov-report=term:skip-covered --cov-report=html:build/coverage tests/rooms tests/client tests/site

versions: .venv/.dev ## Unit tests on all supported versions of Python and Django (VERSIONS=3.12 for one)
	@$(ISOLATED) $(BIN)/python scripts/versions.py $(VERSIONS)

soak: .venv/.dev ## The tests that need long, about a quarter of an hour (SOAK_SECONDS shortens)
	@scripts/test-services
	@$(ISOLATED) $(BIN)/python -m pytest tests/soak

# Into BENCH_ARGUMENTS goes what `python -m bench --help` knows, such as --quick.
bench: .venv/.bench ## Ratios against what people would use instead, about 25 minutes
	@scripts/test-services bench
	@$(ISOLATED) $(BIN)/python -m bench $(BENCH_ARGUMENTS)

lint: .venv/.dev ## Style, types, import arrows, missing migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(ISOLATED) $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vermin --target=3.9- --no-tips --violations bridge_client
	$(ISOLATED) $(BIN)/python manage.py makemigrations --check --dry-run

audit: .venv/.dev ## Known vulnerabilities in the locked dependencies, where PyPI can be reached
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/audit.py

format: .venv/.dev ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

LOCK := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --custom-compile-command "make lock" pyproject.toml

lock: .venv/.dev ## Remake requirements/*.txt from pyproject.toml
	$(LOCK) --extra server --extra company --output-file requirements/server.txt
	$(LOCK) --extra server --extra company --extra dev --constraints requirements/server.txt \
		--output-file requirements/dev.txt
	$(LOCK) --extra bench --constraints requirements/dev.txt --output-file requirements/bench.txt

# Without line numbers, which move with every edit. Needs gettext: see scripts/test-services.
messages: .venv/.dev ## Collect texts and compile translations
	$(ISOLATED) $(BIN)/python manage.py makemessages --locale de --ignore tests --ignore bench \
		--add-location file --no-wrap --no-obsolete
	$(ISOLATED) $(BIN)/python manage.py compilemessages --locale de --ignore .venv

screenshots: .venv/.dev ## Pictures of every page and state into build/screenshots, those of the documents into docs/images (STATES="inbox room" for some)
	$(ISOLATED) $(BIN)/python scripts/screenshots.py $(STATES)

icons: .venv/.dev ## Make the icons of the installed app anew
	$(BIN)/python scripts/icons.py

dist: .venv/.dev ## Wheel, sdist, SBOM and checksums of a release into dist/: see docs/releasing.md
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/release.py

clean: ## Remove .venv and caches; never the data folder
	rm -rf .venv .venv-versions .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched only after pip succeeded, so an interrupted installation is taken up again. pip's own output
# is of use only when it fails.
INSTALL_LOG := .venv/install.log
define install
	@printf "Installing $(1) into .venv, about a minute … "
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r $(2) >$(INSTALL_LOG) 2>&1 || { \
		echo "failed."; tail -n 20 $(INSTALL_LOG) >&2; \
		echo "The installation failed; $(INSTALL_LOG) has all of pip's output." >&2; exit 1; }
	@echo "done."
endef

.venv/.server: requirements/server.txt | $(BIN)/python
	$(call install,what the site needs,$<)
	@touch $@

# dev.txt holds everything of server.txt in the same versions: both are installed then.
.venv/.dev: requirements/dev.txt | $(BIN)/python
	$(call install,what development needs,$<)
	@touch .venv/.server $@

# Only what the other two do not hold, in versions that agree with theirs.
.venv/.bench: requirements/bench.txt .venv/.dev
	$(call install,what the benchmark compares us with,$<)
	@touch $@

$(BIN)/python:
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Ask Bridge needs Python 3.11 or newer: install it, or name it with make run PYTHON=/path/to/python3." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "Python's venv module is missing: install it (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv
