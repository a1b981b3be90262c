#!/bin/sh
# Writes the secrets of docker-compose.yml into files, each only if it is not there: random ones, or what POSTGRES_PASSWORD,
# MILLRACE_SECRET_KEY and MILLRACE_TOKEN say. usage: deploy/secrets.sh [DIRECTORY]
set -eu
dir=${1:-${MILLRACE_SECRETS:-secrets}}

random() { od -An -v -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# keep NAME VALUE writes a file that the containers' users can read. The directory keeps everybody else out.
keep() { [ -s "$dir/$1" ] || (umask 022 && printf '%s\n' "$2" >"$dir/$1"); }

mkdir -p "$dir"
chmod 700 "$dir"
keep postgres-password "${POSTGRES_PASSWORD:-$(random 16)}"
keep database-url "postgres://millrace:$(cat "$dir/postgres-password")@postgres:5432/millrace?sslmode=disable"
keep secret-key "${MILLRACE_SECRET_KEY:-$(random 32)}"
keep token "${MILLRACE_TOKEN:-$(random 24)}"
echo "secrets are in $dir: callers send the content of $dir/token as Authorization: Bearer"
