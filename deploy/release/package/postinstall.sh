#!/bin/sh
# Makes the user of the service, and starts the service now and with the machine.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers millrace.conf
elif ! id millrace >/dev/null 2>&1; then
  useradd --system --home-dir /var/lib/millrace --shell /usr/sbin/nologin --user-group millrace
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable millrace.service
  systemctl restart millrace.service
elif command -v systemctl >/dev/null 2>&1; then
  systemctl enable millrace.service
fi
