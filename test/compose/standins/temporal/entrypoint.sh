#!/bin/bash
# Entry point of the stand-in for temporalio/auto-setup: the Temporal server of local mode, set up by the variables of the
# image of that name. A start that fails, as on a machine that is busy, is tried again, as the setup of that image does.
set -euo pipefail
[ "$1" = autosetup ]
[ "$DB" = postgres12 ]
[ -s "$DYNAMIC_CONFIG_FILE_PATH" ] # mounted; the server of local mode has these values built in

serve() {
  PGPASSWORD=$POSTGRES_PWD millrace-temporal -postgres-host "$POSTGRES_SEEDS" -postgres-port "$DB_PORT" -postgres-user "$POSTGRES_USER" \
    -frontend-addr "$(hostname -i):7233" -namespace "$DEFAULT_NAMESPACE" -retention "$DEFAULT_NAMESPACE_RETENTION" |
    while read -r line; do
      echo "$line"
      case $line in "ready "*) touch /run/temporal-ready ;; esac
    done
}

rm -f /run/temporal-ready
for _ in 1 2 3 4 5; do
  if serve || [ -e /run/temporal-ready ]; then exit; fi
done
exit 1
