"""Every row of the tables of docs/portal.md is a test: a row and its tests are added and removed together."""

import os
import re
import subprocess
import sys
from functools import cache

from tests.docs.test_every_document import without_blocks
from tests.harness.shared_folder import FOLDER_VARIABLE
from tests.harness.sites import ROOT
from tests.portal.test_own_htmx import VERSIONS as HTMX_VERSIONS
from tests.portal.test_servers import ROWS as SERVERS
from tests.site.test_tooling import VERSIONS

DOCUMENT = (ROOT / "docs" / "portal.md").read_text()

# A question is asked, seen, answered and received in the portal of this name, out of tests/portal/hosts.
HOST = "portal/test_hosts.py::test_a_question_is_asked_seen_answered_and_received"
ADMISSION = "portal/test_admission.py"
CHECKS = "rooms/test_checks.py"
DATABASE_CHECKS = "rooms/test_database_checks.py"
SERVER = "portal/test_servers.py::test_a_viewer_that_does_not_read_delays_a_stop_as_the_table_says"
THIS = "docs/test_portal_tables.py"

# By the first cell of the row: the tests that fail if the row is not true.
PROOFS: dict[str, list[str]] = {
    # Production: servers
    "Daphne": [f"{SERVER}[daphne]"],
    "uvicorn": [f"{SERVER}[uvicorn]"],
    "granian": [f"{SERVER}[granian]"],
    "gunicorn": [f"{SERVER}[gunicorn]"],
    "hypercorn": [f"{SERVER}[hypercorn]"],
    # Production: databases
    "PostgreSQL": [
        "faults/test_simultaneous_answers.py::test_fifty_clicks_at_once_have_one_winner_each_time[scaled]"
    ],
    "MariaDB 10.6 or newer, with Django 6.1 from 10.11 on (tests use 10.11)": [
        f"{HOST}[mariadb]",
        "faults/test_mariadb.py::test_fifty_clicks_and_votes_at_once_have_one_winner_each_time",
    ],
    "SQLite": [f"{HOST}[plain]"],
    "MySQL, Oracle, schemas of django-tenants": [
        f"{DATABASE_CHECKS}::test_mysql_is_refused_before_its_tables_are_made",
        f"{DATABASE_CHECKS}::test_other_databases_are_refused",
        f"{DATABASE_CHECKS}::test_schemas_of_tenants_are_refused",
    ],
    # Supported
    "Python": [f"{THIS}::test_supported_versions_are_those_that_are_tested"],
    "Django": [f"{THIS}::test_supported_versions_are_those_that_are_tested"],
    "ASGI server": [
        f"{THIS}::test_supported_versions_are_those_that_are_tested",
        "portal/test_servers.py::test_every_open_request_gets_what_it_waits_for",
    ],
    "WSGI server": ["portal/test_wsgi.py::test_a_stream_tells_what_is_new_and_ends[gunicorn]"],
    "database": [f"{HOST}[plain]", f"{HOST}[mariadb]"],
    "channel layer": [
        "live/test_redis_prefix.py::test_sites_with_secrets_of_their_own_do_not_hear_each_other",
        f"{HOST}[plain]",
    ],
    "htmx of the portal": [
        f"{THIS}::test_supported_versions_are_those_that_are_tested",
        "portal/test_own_htmx.py::test_each_library_keeps_to_its_own",
    ],
    # What your portal has, or lacks
    "has no `asgi.py`": [
        f"{HOST}[spartan]",
        "portal/test_portal_document.py::test_without_an_application_of_its_own_the_project_takes_ours",
        "portal/test_portal_document.py::test_the_application_of_a_project_without_one_is_that_of_django",
    ],
    'has a pattern that takes every URL, such as `path("<path:path>", …)`': [
        f"{HOST}[spartan]",
        f"{CHECKS}::test_addresses_that_a_pattern_for_everything_takes",
    ],
    "has `i18n_patterns`": [
        f"{CHECKS}::test_addresses_with_a_language",
        "rooms/test_translated_addresses.py::test_pages_beside_them_follow_the_person",
    ],
    "has no Django admin": [
        "portal/test_hosts.py::test_without_the_admin_commands_and_pages_manage_rooms[spartan]"
    ],
    "signs people in at Django's `/accounts/login/`, or reads `LOGIN_URL` as a path, as django-oscar does": [
        f"{CHECKS}::test_a_login_below_a_prefix_for_the_language",
        "rooms/test_sign_out.py::test_the_login_may_be_below_a_prefix_for_the_language",
    ],
    "has no block in `<head>`": ["portal/test_hosts.py::test_styles_and_scripts_work_in_the_body[spartan]"],
    "has htmx of its own": ["portal/test_own_htmx.py::test_each_library_keeps_to_its_own"],
    "boosts its links (`hx-boost`)": [
        "portal/test_own_htmx.py::test_boosted_links_of_the_portal_lead_in_and_out_and_back"
    ],
    "replaces every `<select>` by a widget (Select2, TomSelect)": [
        "portal/test_own_selects.py::test_our_selects_look_and_work_as_without_the_script"
    ],
    "has its own top-level package `rooms`": [
        "portal/test_portal_extra.py::test_another_package_rooms_is_refused_in_a_sentence"
    ],
    "has groups of its own model, as NetBox does": [
        "portal/test_own_groups.py::test_people_of_the_group_see_its_room"
    ],
    "runs under WSGI": [
        f"{CHECKS}::test_no_asgi_application",
        "portal/test_wsgi.py::test_an_open_page_follows_by_asking",
    ],
    # Compatibility
    "its own user model, also with a UUID as primary key": [f"{HOST}[uuid_users]"],
    "Channels with routing and channel layers": [
        f"{HOST}[channels_routing]",
        "portal/test_hosts.py::test_its_websockets_are_open_as_before[channels_routing]",
    ],
    "`LoginRequiredMiddleware`, `ATOMIC_REQUESTS`": [f"{HOST}[login_required]", f"{HOST}[atomic_requests]"],
    "a second factor, rules for addresses, a maintenance page": [
        f"{ADMISSION}::test_streams_need_the_second_factor_as_pages_do[second_factor]",
        f"{ADMISSION}::test_a_refused_address_opens_nothing[ip_rule]",
        f"{ADMISSION}::test_the_maintenance_page_is_the_reply_to_streams_and_waits[maintenance]",
    ],
    "single sign-on of its own, for example by django-allauth": [
        "portal/test_sample_portal.py::test_people_of_single_sign_on_have_their_name_and_the_rooms_of_their_groups"
    ],
    "people without a session, named by a header of the proxy": [
        f"{ADMISSION}::test_the_person_of_a_stream_is_the_one_of_its_request[remote_user]"
    ],
    "a cache for whole responses (`UpdateCacheMiddleware`)": [
        f"{HOST}[caching]",
        f"{ADMISSION}::test_replies_to_agents_never_come_from_a_cache[caching]",
    ],
    "a URL prefix on a shared host (`FORCE_SCRIPT_NAME`)": [f"{HOST}[script_name]"],
    "several databases": [f"{HOST}[several_databases]", f"{CHECKS}::test_users_in_another_database"],
    "`USE_TZ = False`": [
        f"{HOST}[naive_times]",
        "rooms/test_naive_times.py::test_both_hours_are_stored_and_read_as_they_were",
        "rooms/test_time_zones.py::test_times_are_converted_without_use_tz_as_well",
    ],
    "static files on another origin (`STATIC_URL` of a CDN)": [
        "portal/test_static_origin.py::test_one_worker_from_the_origin_of_the_page_has_the_stream",
        "portal/test_static_origin.py::test_icons_are_drawn",
    ],
    # On Django 6.1 by `make versions`.
    "e-mail settings in `MAILERS` (Django 6.1)": [
        "rooms/test_notification_outbox.py::test_a_mail_has_the_question_a_link_and_a_way_out"
    ],
    "a Content Security Policy": [
        f"{HOST}[own_policy]",
        "portal/test_sample_portal.py::test_a_question_is_answered_in_the_portal_in_german",
        f"{THIS}::test_policy_is_the_one_of_the_sample_portal",
    ],
    "a page where people change their password": [
        "site/test_password_change.py::test_the_settings_lead_to_it",
        "site/test_password_change.py::test_a_portal_without_such_an_address_has_no_link",
    ],
    "a page to sign out": [
        "rooms/test_sign_out.py::test_button_is_shown_only_if_it_signs_out",
        "rooms/test_sign_out.py::test_the_page_beside_the_login_goes_before_the_usual_names",
    ],
    "several languages": [
        "portal/test_hosts.py::test_texts_without_a_translation_are_marked_as_english[french]",
        "rooms/test_time_zones.py::test_the_language_of_the_texts_is_one_that_has_a_catalogue",
    ],
    # System checks
    "`ask_bridge.E001`": [f"{CHECKS}::test_names_that_are_unknown"],
    "`ask_bridge.E002`": [f"{CHECKS}::test_values_of_the_wrong_kind"],
    "`ask_bridge.E003`": [
        f"{CHECKS}::test_permissions_that_are_none",
        "rooms/test_profiles.py::test_check_refuses_a_class_that_is_none",
    ],
    "`ask_bridge.E004`": [f"{CHECKS}::test_a_missing_app"],
    "`ask_bridge.E005`": [f"{CHECKS}::test_a_missing_middleware"],
    "`ask_bridge.E006`": [f"{CHECKS}::test_templates_without_the_request"],
    "`ask_bridge.E007`": [f"{CHECKS}::test_addresses_that_are_not_included"],
    "`ask_bridge.E008`": [f"{CHECKS}::test_users_in_another_database"],
    "`ask_bridge.E009`": [f"{CHECKS}::test_addresses_that_a_pattern_for_everything_takes"],
    "`ask_bridge.E020`": [f"{DATABASE_CHECKS}::test_other_databases_are_refused"],
    "`ask_bridge.E021`": [f"{DATABASE_CHECKS}::test_schemas_of_tenants_are_refused"],
    "`ask_bridge.E022`": [f"{DATABASE_CHECKS}::test_mariadb_needs_read_committed"],
    "`ask_bridge.E023`": [f"{DATABASE_CHECKS}::test_mariadb_needs_a_connection_for_all_characters"],
    "`ask_bridge.W001`": [
        f"{CHECKS}::test_a_login_that_leads_nowhere",
        f"{CHECKS}::test_a_login_that_no_url_is_called",
    ],
    "`ask_bridge.W002`": [f"{CHECKS}::test_an_application_without_our_waits"],
    "`ask_bridge.W003`": [f"{CHECKS}::test_one_process_only_is_said_before_deployment"],
    "`ask_bridge.W004`": [f"{CHECKS}::test_one_process_only_is_said_before_deployment"],
    "`ask_bridge.W005`": [f"{CHECKS}::test_sites_that_could_hear_each_other_are_said_before_deployment"],
    "`ask_bridge.W006`": [f"{CHECKS}::test_a_middleware_that_is_there_twice"],
    "`ask_bridge.W007`": [f"{CHECKS}::test_addresses_with_a_language"],
    "`ask_bridge.W008`": [f"{CHECKS}::test_sqlite_that_refuses_writers"],
    "`ask_bridge.W009`": [f"{CHECKS}::test_no_asgi_application"],
    "`ask_bridge.W020`": ["rooms/test_groups.py::test_groups_of_another_model_are_warned_of"],
}


@cache
def rows() -> dict[str, str]:
    """First cell and the others of each row, without the headings of the tables."""
    found: list[tuple[str, str]] = []
    for table in re.findall(r"(?:^\|.*\n)+", without_blocks(DOCUMENT), re.MULTILINE):
        _heading, _line, *lines = table.splitlines()
        found += [(first.strip(), rest) for first, _, rest in (line[1:].partition(" | ") for line in lines)]
    assert len(found) == len(dict(found)), "two rows with the same first cell"
    return dict(found)


def test_each_row_has_its_tests() -> None:
    assert list(rows()) == list(PROOFS)
    assert all(PROOFS.values())


def test_each_of_these_tests_exists() -> None:
    named = {f"tests/{proof}" for proofs in PROOFS.values() for proof in proofs}
    files = sorted({test.partition("::")[0] for test in named})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        # A folder of its own: at its end a run drops the databases of its folder.
        env={name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    there = {part for line in done.stdout.splitlines() for part in (line, line.partition("[")[0])}
    assert sorted(named - there) == []


def test_supported_versions_are_those_that_are_tested() -> None:
    server: dict[str, list[str]] = VERSIONS["SERVER"]
    djangos = sorted({django for versions in server.values() for django in versions})
    assert re.findall(r"\d+\.\d+", rows()["Python"]) == list(server)
    assert re.findall(r"\d+\.\d+", rows()["Django"]) == djangos
    introduction = " ".join(DOCUMENT.partition("\n## ")[0].split())
    assert (
        f"Python {min(server)} or newer and Django {', '.join(djangos[:-1])} or {djangos[-1]} "
        in introduction
    )
    assert all(server in rows()["ASGI server"].lower() for server in SERVERS)
    assert [f"htmx{number}" for number in re.findall(r"\d", rows()["htmx of the portal"])] == list(
        HTMX_VERSIONS
    )


def test_policy_is_the_one_of_the_sample_portal() -> None:
    settings = (ROOT / "examples" / "portal" / "portal" / "settings.py").read_text()
    sample = set(re.findall(r'"([a-z]+-(?:src|action))": \["\'self\'"\]', settings))
    assert set(re.findall(r"`([a-z]+-(?:src|action))`", rows()["a Content Security Policy"])) == sample
