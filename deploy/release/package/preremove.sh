#!/bin/sh
# Stops the service when the package is removed, not when a newer one replaces it.
set -e
case "$1" in
  remove | 0)
    if command -v systemctl >/dev/null 2>&1; then
      [ ! -d /run/systemd/system ] || systemctl stop millrace.service
      systemctl disable millrace.service
    fi
    ;;
esac
