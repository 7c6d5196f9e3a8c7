#!/bin/sh
# The services run as a user of their own, who owns what they keep.
set -e
if [ "$1" = configure ]; then
  getent group merlon >/dev/null || addgroup --system --quiet merlon
  getent passwd merlon >/dev/null ||
    adduser --system --quiet --ingroup merlon --home /var/lib/merlon --no-create-home merlon
  [ ! -d /run/systemd/system ] || systemctl daemon-reload
fi
